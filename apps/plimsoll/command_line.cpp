#include "command_line.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <utility>

#include <CLI/CLI.hpp>

namespace plimsoll {

CommandLineOption* CommandLineOption::option_text(const std::string& text) {
  option_->option_text(text);
  return this;
}

CommandLineOption* CommandLineOption::group(const std::string& heading) {
  option_->group(heading);
  return this;
}

CommandLineOption* CommandLineOption::required() {
  option_->required();
  return this;
}

CommandLineOption* CommandLineOption::delimiter(char between) {
  option_->delimiter(between);
  return this;
}

CommandLineOption* CommandLineOption::expected(int count) {
  option_->expected(count);
  return this;
}

CommandLineOption* CommandLineOption::expected(int least, int most) {
  option_->expected(least, most);
  return this;
}

CommandLineOption* CommandLineOption::allow_extra_args(bool allow) {
  option_->allow_extra_args(allow);
  return this;
}

CommandLineOption* CommandLineOption::needs(const CommandLineOption* other) {
  option_->needs(other->option_);
  return this;
}

CommandLineOption* CommandLineOption::excludes(const CommandLineOption* other) {
  option_->excludes(other->option_);
  return this;
}

template <class T>
CommandLineOption* CommandLineOption::in_range(T least, T most) {
  option_->check(CLI::Range(least, most));
  return this;
}
template CommandLineOption* CommandLineOption::in_range(int, int);
template CommandLineOption* CommandLineOption::in_range(std::int64_t, std::int64_t);
template CommandLineOption* CommandLineOption::in_range(std::size_t, std::size_t);
template CommandLineOption* CommandLineOption::in_range(double, double);

CommandLineOption* CommandLineOption::positive() {
  option_->check(CLI::PositiveNumber);
  return this;
}

CommandLineOption* CommandLineOption::one_of(const std::vector<std::string>& words) {
  option_->check(CLI::IsMember(words));
  return this;
}

CommandLineOption* CommandLineOption::check(
    const std::function<std::string(const std::string& value)>& problem) {
  option_->check(problem);
  return this;
}

bool CommandLineOption::given() const {
  return option_->count() > 0;
}

std::string CommandLineOption::name() const {
  return option_->get_name();
}

CommandLine::CommandLine(const std::string& description, const std::string& name)
    : program_(std::make_unique<CLI::App>(description, name)), app_(program_.get()) {}

CommandLine::CommandLine(CLI::App* app) : app_(app) {}

CommandLine::~CommandLine() = default;

CommandLine* CommandLine::add_subcommand(const std::string& name, const std::string& description) {
  subcommands_.emplace_back(new CommandLine(app_->add_subcommand(name, description)));
  return subcommands_.back().get();
}

CommandLineOption* CommandLine::keep(CLI::Option* option) {
  options_.push_back(std::make_unique<CommandLineOption>(option));
  return options_.back().get();
}

template <class T>
CommandLineOption* CommandLine::add_option(const std::string& names, T& target, const std::string& help) {
  return keep(app_->add_option(names, target, help));
}

CommandLineOption* CommandLine::add_option_function(const std::string& names,
                                                    const std::function<void(const std::int64_t&)>& take,
                                                    const std::string& help) {
  return keep(app_->add_option_function<std::int64_t>(names, take, help));
}

CommandLineOption* CommandLine::add_word(const std::string& names, const std::vector<std::string>& known,
                                         const std::function<void(const std::string&)>& take,
                                         const std::string& help) {
  return keep(app_->add_option_function<std::string>(names, take, help)
                  ->type_name("ENUM")
                  ->check(CLI::IsMember(known)));
}

CommandLineOption* CommandLine::add_flag(const std::string& names, bool& target, const std::string& help) {
  return keep(app_->add_flag(names, target, help));
}

void CommandLine::set_version_flag(const std::string& name, const std::string& version) {
  app_->set_version_flag(name, version);
}

CommandLine* CommandLine::group(const std::string& heading) {
  app_->group(heading);
  return this;
}

CommandLine* CommandLine::footer(const std::string& text) {
  app_->footer(text);
  return this;
}

CommandLine* CommandLine::callback(std::function<void()> then) {
  app_->callback(std::move(then));
  return this;
}

CommandLine* CommandLine::require_subcommand(int count) {
  app_->require_subcommand(count);
  return this;
}

CommandLine* CommandLine::require_subcommand(int least, int most) {
  app_->require_subcommand(static_cast<std::size_t>(least), static_cast<std::size_t>(most));
  return this;
}

CommandLine* CommandLine::fallthrough(bool value) {
  app_->fallthrough(value);
  return this;
}

CommandLine* CommandLine::prefix_command() {
  app_->prefix_command();
  return this;
}

CommandLineOption* CommandLine::get_option(const std::string& name) const {
  const CLI::Option* wanted = app_->get_option(name);
  for (const auto& option : options_)
    if (option->option_ == wanted) return option.get();
  throw CLI::OptionNotFound(name);
}

std::string CommandLine::name() const {
  return app_->get_name();
}

std::string CommandLine::description() const {
  return app_->get_description();
}

std::vector<CommandLineOption*> CommandLine::options() const {
  std::vector<CommandLineOption*> out;
  for (const auto& option : options_) out.push_back(option.get());
  return out;
}

std::vector<std::string> CommandLine::long_names() const {
  std::vector<std::string> out;
  for (const CLI::Option* option : std::as_const(*app_).get_options())
    for (const std::string& name : option->get_lnames()) out.push_back(name);
  return out;
}

std::vector<CommandLine*> CommandLine::subcommands() const {
  std::vector<CommandLine*> out;
  for (const auto& subcommand : subcommands_) out.push_back(subcommand.get());
  return out;
}

bool CommandLine::has_subcommand() const {
  return !app_->get_subcommands().empty();
}

std::vector<std::string> CommandLine::remaining() const {
  return app_->remaining();
}

Result<bool> CommandLine::parse(int argc, const char* const* argv) {
  try {
    app_->parse(argc, argv);
  } catch (const CLI::Success& success) {
    app_->exit(success);  // prints
    return false;
  } catch (const CLI::ParseError& error) {
    return fail("{}", error.what());
  }
  return true;
}

Status CommandLine::parse(const std::vector<std::string>& words) {
  try {
    app_->parse(std::vector<std::string>(words.rbegin(), words.rend()));  // CLI11 wants the last one first
  } catch (const CLI::ParseError& error) {
    return fail("{}", error.what());
  }
  return {};
}

void refuse_without(const CommandLineOption& option, const std::string& needed) {
  throw CLI::RequiresError(option.name(), needed);
}

template CommandLineOption* CommandLine::add_option(const std::string&, std::string&, const std::string&);
template CommandLineOption* CommandLine::add_option(const std::string&, std::filesystem::path&,
                                                    const std::string&);
template CommandLineOption* CommandLine::add_option(const std::string&, int&, const std::string&);
template CommandLineOption* CommandLine::add_option(const std::string&, std::int64_t&, const std::string&);
template CommandLineOption* CommandLine::add_option(const std::string&, std::size_t&, const std::string&);
template CommandLineOption* CommandLine::add_option(const std::string&, double&, const std::string&);
template CommandLineOption* CommandLine::add_option(const std::string&, std::optional<double>&,
                                                    const std::string&);
template CommandLineOption* CommandLine::add_option(const std::string&, std::optional<std::string>&,
                                                    const std::string&);
template CommandLineOption* CommandLine::add_option(const std::string&, std::vector<std::string>&,
                                                    const std::string&);
template CommandLineOption* CommandLine::add_option(const std::string&, std::vector<std::int64_t>&,
                                                    const std::string&);
template CommandLineOption* CommandLine::add_option(const std::string&, std::vector<double>&,
                                                    const std::string&);

}  // namespace plimsoll
