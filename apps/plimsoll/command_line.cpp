#include "command_line.hpp"

#include <algorithm>
#include <charconv>
#include <concepts>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include "base/printable.hpp"
#include "base/suggest.hpp"
#include "base/terminal.hpp"
#include "help_text.hpp"

namespace plimsoll {
namespace {

template <class T>
struct Element {
  using type = T;
};
template <class T>
struct Element<std::optional<T>> {
  using type = T;
};
template <class T>
struct Element<std::vector<T>> {
  using type = T;
};

/// What a value of T is, for messages; nothing for text, which is always right.
template <class T>
std::string kind_of() {
  using E = typename Element<T>::type;
  if constexpr (std::integral<E>)
    return "a whole number";
  else if constexpr (std::floating_point<E>)
    return "a number";
  else
    return {};
}

template <class T>
std::optional<T> number(std::string_view text) {
  T value{};
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc{} || end != text.data() + text.size()) return {};
  return value;
}

/// "a, b or c"
std::string alternatives(const std::vector<std::string>& words) {
  std::string out;
  for (std::size_t i = 0; i < words.size(); ++i)
    out += fmt::format("{}{}", i == 0 ? "" : i + 1 == words.size() ? " or " : ", ", words[i]);
  return out;
}

/// A problem with a value, and on a second line what to do: CLI11 carries one text.
std::function<std::string(const std::string&)> membership(const std::vector<std::string>& words) {
  return [words](const std::string& value) -> std::string {
    if (std::ranges::find(words, value) != words.end()) return {};
    const std::vector<std::string_view> known(words.begin(), words.end());
    const std::string near = did_you_mean(value, known);
    return fmt::format("{} is not a value that it takes\n{}{}It takes {}.", quote(value), near,
                       near.empty() ? "" : " ", alternatives(words));
  };
}

std::vector<std::string> names_of(const CLI::Option& option) {
  std::vector<std::string> out;
  for (const std::string& name : option.get_snames()) out.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) out.push_back("--" + name);
  return out;
}

/// What the usage line and the list of arguments call an argument: "MODEL", "[RUN]", "RUN…".
std::string argument_text(const CLI::Option& option, const std::string& text) {
  if (text.find('[') != text.npos) return text;
  const bool many = option.get_items_expected_max() > 1 && !text.ends_with("…");
  const std::string all = text + (many ? "…" : "");
  return option.get_required() ? all : fmt::format("[{}]", all);
}

constexpr std::size_t kNarrowestHelp = 40, kUsualHelp = 80, kWidestHelp = 100;

std::size_t help_width() {
  const auto width = describe_terminal(STDOUT_FILENO, ColorChoice::automatic).width;
  return std::clamp(width ? static_cast<std::size_t>(*width) : kUsualHelp, kNarrowestHelp, kWidestHelp);
}

/// "runs show": errors begin with the program's name already.
std::string label_of(const CommandLine& command) {
  const std::string name = command.full_name();
  const auto space = name.find(' ');
  return space == name.npos ? name : name.substr(space + 1);
}

template <class Kind>
bool is(const CLI::ParseError& error) {
  return dynamic_cast<const Kind*>(&error) != nullptr;
}

/// Of "--json excludes --csv": both.
std::optional<std::pair<std::string, std::string>> around(std::string_view text, std::string_view middle) {
  const auto at = text.find(middle);
  if (at == text.npos) return {};
  return std::pair(std::string(text.substr(0, at)), std::string(text.substr(at + middle.size())));
}

}  // namespace

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
  option_->check([least, most](const std::string& text) -> std::string {
    if (const std::optional<T> value = number<T>(text); value && *value >= least && *value <= most) return {};
    return fmt::format("{} is not {} from {} to {}", quote(text), kind_of<T>(), least, most);
  });
  return this;
}
template CommandLineOption* CommandLineOption::in_range(int, int);
template CommandLineOption* CommandLineOption::in_range(std::int64_t, std::int64_t);
template CommandLineOption* CommandLineOption::in_range(std::size_t, std::size_t);
template CommandLineOption* CommandLineOption::in_range(double, double);

CommandLineOption* CommandLineOption::positive() {
  option_->check([](const std::string& text) -> std::string {
    if (const std::optional<double> value = number<double>(text); value && *value > 0) return {};
    return fmt::format("{} is not a number above zero", quote(text));
  });
  return this;
}

CommandLineOption* CommandLineOption::one_of(const std::vector<std::string>& words) {
  words_ = words;
  option_->check(membership(words));
  return this;
}

CommandLineOption* CommandLineOption::offers(const std::vector<std::string>& words) {
  words_ = words;
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

std::vector<std::string> CommandLineOption::names() const {
  return names_of(*option_);
}

std::string CommandLineOption::text() const {
  return option_->get_option_text();
}

bool CommandLineOption::takes_value() const {
  return option_->get_items_expected_max() > 0;
}

bool CommandLineOption::takes_many() const {
  return option_->get_items_expected_max() > 1;
}

bool CommandLineOption::takes_list() const {
  return option_->get_delimiter() != '\0';
}

CommandLine::CommandLine(const std::string& description, const std::string& name)
    : program_(std::make_unique<CLI::App>(description, name)), app_(program_.get()) {
  set_up();
}

CommandLine::CommandLine(CLI::App* app, const CommandLine* parent) : app_(app), parent_(parent) {
  set_up();
}

void CommandLine::set_up() {
  app_->footer("");  // CLI11 gives a command its parent's
  app_->set_help_flag("-h,--help", "Print this help and exit");
  app_->formatter_fn([this](const CLI::App*, const std::string&, CLI::AppFormatMode) { return help(); });
}

CommandLine::~CommandLine() = default;

CommandLine* CommandLine::add_subcommand(const std::string& name, const std::string& description) {
  subcommands_.emplace_back(new CommandLine(app_->add_subcommand(name, description), this));
  return subcommands_.back().get();
}

CommandLineOption* CommandLine::keep(CLI::Option* option, std::string kind) {
  options_.push_back(std::make_unique<CommandLineOption>(option));
  options_.back()->kind_ = std::move(kind);
  return options_.back().get();
}

template <class T>
CommandLineOption* CommandLine::add_option(const std::string& names, T& target, const std::string& help) {
  return keep(app_->add_option(names, target, help), kind_of<T>());
}

CommandLineOption* CommandLine::add_option_function(const std::string& names,
                                                    const std::function<void(const std::int64_t&)>& take,
                                                    const std::string& help) {
  return keep(app_->add_option_function<std::int64_t>(names, take, help), kind_of<std::int64_t>());
}

CommandLineOption* CommandLine::add_word(const std::string& names, const std::vector<std::string>& known,
                                         const std::function<void(const std::string&)>& take,
                                         const std::string& help) {
  return keep(app_->add_option_function<std::string>(names, take, help))->one_of(known);
}

CommandLineOption* CommandLine::add_flag(const std::string& names, bool& target, const std::string& help) {
  return keep(app_->add_flag(names, target, help));
}

CommandLineOption* CommandLine::add_flag_function(const std::string& names,
                                                  const std::function<void()>& given,
                                                  const std::string& help) {
  return keep(app_->add_flag_function(names, [given](std::int64_t) { given(); }, help));
}

void CommandLine::set_version_flag(const std::string& name, const std::string& version) {
  app_->set_version_flag(name, version, "Print the version and exit");
}

CommandLine* CommandLine::group(const std::string& heading) {
  app_->group(heading);
  return this;
}

CommandLine* CommandLine::usage(const std::string& arguments) {
  usage_.push_back(arguments);
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

std::string CommandLine::full_name() const {
  return parent_ == nullptr ? name() : fmt::format("{} {}", parent_->full_name(), name());
}

bool CommandLine::hidden() const {
  return app_->get_group().empty();
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

std::string CommandLine::help() const {
  HelpPage page;
  page.description = description();
  HelpSection arguments{"Arguments", {}}, verbs{"Commands", {}};
  std::vector<HelpSection> groups;
  std::string given;  // what must stand on the line
  const auto in_group = [&groups](std::string title) -> HelpSection& {
    if (title == "OPTIONS") title = "Options";  // later versions of CLI11
    const auto known = std::ranges::find(groups, title, &HelpSection::title);
    return known != groups.end() ? *known : groups.emplace_back(HelpSection{std::move(title), {}});
  };
  for (const CLI::Option* option : std::as_const(*app_).get_options()) {
    if (option->get_group().empty()) continue;
    const std::string text = option->get_option_text();
    if (option->get_positional()) {
      const std::string argument = argument_text(*option, text);
      given += ' ' + argument;
      arguments.rows.push_back({argument, option->get_description()});
      continue;
    }
    const std::string names = fmt::format("{}", fmt::join(names_of(*option), ", "));
    const std::string value = text.empty() ? "" : ' ' + text;
    if (option->get_required()) given += fmt::format(" {}{}", option->get_name(), value);
    in_group(option->get_group()).rows.push_back({names + value, option->get_description()});
  }
  for (const auto& verb : subcommands_)
    if (!verb->hidden()) verbs.rows.push_back({verb->name(), verb->description()});
  const bool needs_verb = app_->get_require_subcommand_min() > 0;
  if (!usage_.empty())
    for (const std::string& way : usage_) page.usage.push_back(fmt::format("{} {}", full_name(), way));
  else if (!needs_verb)
    page.usage.push_back(fmt::format("{}{} [OPTIONS]", full_name(), given));
  if (!verbs.rows.empty()) page.usage.push_back(full_name() + " COMMAND [OPTIONS]");
  page.sections.push_back(std::move(arguments));
  // A command that does nothing by itself is about those under it.
  if (needs_verb) page.sections.push_back(verbs);
  for (HelpSection& group : groups) page.sections.push_back(std::move(group));
  if (!needs_verb) page.sections.push_back(std::move(verbs));
  page.footer = app_->get_footer();
  return to_text(page, help_width());
}

const CommandLine& CommandLine::named() const {
  for (const auto& subcommand : subcommands_)
    if (subcommand->app_->parsed()) return subcommand->named();
  return *this;
}

const CommandLineOption* CommandLine::find(std::string_view name) const {
  for (const CommandLine* at = this; at != nullptr; at = at->parent_)
    for (const auto& option : at->options_)
      if (option->name() == name) return option.get();
  return nullptr;
}

std::optional<Error> CommandLine::unknown_option() const {
  const CommandLine& at = named();
  std::vector<std::string> words = app_->remaining(true);
  // After the first word that is none of ours, all belongs to the command that is to be run.
  if (at.app_->get_prefix_command() && words.size() > 1) words.resize(1);
  const auto word =
      std::ranges::find_if(words, [](const std::string& w) { return w.size() > 1 && w[0] == '-'; });
  if (word == words.end()) return {};
  const std::string name = word->substr(0, word->find('='));
  std::vector<std::string> known;
  for (const CommandLine* of = &at; of != nullptr; of = of->parent_)
    for (const std::string& option : of->long_names()) known.push_back("--" + option);
  Error error{fmt::format("{} has no option {}", label_of(at), printable(name))};
  error.hint = did_you_mean(name, std::vector<std::string_view>(known.begin(), known.end()));
  if (!error.hint.empty()) error.hint += ' ';
  error.hint += fmt::format("`{} --help` lists its options.", at.full_name());
  return error;
}

Error CommandLine::explain(const CLI::ParseError& error) const {
  const CommandLine& at = named();
  if (std::optional<Error> unknown = unknown_option()) return *std::move(unknown);
  const std::string what = error.what();
  Error out{what, {}, fmt::format("`{} --help` says what can be given.", at.full_name())};
  const std::vector<std::string> left = app_->remaining(true);
  if (is<CLI::ExtrasError>(error) && !left.empty()) {
    out.message = fmt::format("{} does not take {}", label_of(at), quote(left.front()));
  } else if (is<CLI::RequiredError>(error)) {
    const CommandLineOption* option = at.find(what.substr(0, what.find(' ')));
    std::vector<std::string> verbs;
    for (const auto& verb : at.subcommands_)
      if (!verb->hidden()) verbs.push_back(verb->name());
    if (option != nullptr) {
      out.message = fmt::format("{} needs {}{}", label_of(at),
                                option->names().empty() ? "" : option->name() + ' ', option->text());
      out.hint = fmt::format("{}: {}. {}", option->text(), option->option_->get_description(), out.hint);
    } else if (!verbs.empty()) {
      out.message = left.empty() ? fmt::format("{} needs a command", label_of(at))
                                 : fmt::format("{} has no command {}", label_of(at), quote(left.front()));
      const std::string near =
          left.empty()
              ? std::string()
              : did_you_mean(left.front(), std::vector<std::string_view>(verbs.begin(), verbs.end()));
      out.hint = fmt::format("{}{}", near.empty() ? "" : near + ' ', out.hint);
    }
  } else if (const auto excluded = around(what, " excludes "); is<CLI::ExcludesError>(error) && excluded) {
    out.message = fmt::format("{} and {} cannot be given together", excluded->first, excluded->second);
  } else if (const auto needed = around(what, " requires "); is<CLI::RequiresError>(error) && needed) {
    out.message = fmt::format("{} is of use only with {}", needed->first, needed->second);
  } else if (const auto converted = around(what, "Could not convert: ");
             is<CLI::ConversionError>(error) && converted) {
    const auto parts = around(converted->second, " = ");
    const CommandLineOption* option = parts ? at.find(parts->first) : nullptr;
    if (option != nullptr && !option->kind_.empty())
      out.message = fmt::format("{}: {} is not {}", parts->first, quote(parts->second), option->kind_);
  } else if (const auto valued = around(what, ": "); valued) {
    const CommandLineOption* option = at.find(valued->first);
    if (is<CLI::ArgumentMismatch>(error) && option != nullptr)
      out.message = option->given() ? fmt::format("{} is given too often", valued->first)
                                    : fmt::format("{} needs a value: {}", valued->first, option->text());
    if (const auto lines = around(out.message, "\n")) std::tie(out.message, out.hint) = *lines;
    // An argument without dashes is known to people by what the help calls it.
    if (option != nullptr && option->names().empty() && out.message.starts_with(valued->first + ": "))
      out.message.replace(0, valued->first.size(), option->text());
  }
  return out;
}

Result<bool> CommandLine::parse(int argc, const char* const* argv) {
  try {
    app_->parse(argc, argv);
  } catch (const CLI::Success& success) {
    app_->exit(success);  // prints
    return false;
  } catch (const CLI::ParseError& error) {
    return std::unexpected(explain(error));
  }
  // What is not an option of a command that runs another is taken for the beginning of that one.
  if (std::optional<Error> unknown = unknown_option()) return std::unexpected(*std::move(unknown));
  return true;
}

Status CommandLine::parse(const std::vector<std::string>& words) {
  try {
    app_->parse(std::vector<std::string>(words.rbegin(), words.rend()));  // CLI11 wants the last one first
  } catch (const CLI::ParseError& error) {
    return std::unexpected(explain(error));
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
template CommandLineOption* CommandLine::add_option(const std::string&, std::optional<std::int64_t>&,
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
