#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"

namespace CLI {  // NOLINT(readability-identifier-naming): not ours to name
class App;
class Option;
class ParseError;
}  // namespace CLI

namespace plimsoll {

// What the commands use of CLI11, which every file that includes it compiles anew for seconds:
// command_line.cpp alone does. Names and meanings are CLI11's, which does the work and owns what is added.

/// An option or argument of a command. What sets something gives the option itself.
class CommandLineOption {
 public:
  explicit CommandLineOption(CLI::Option* option) : option_(option) {}

  CommandLineOption* option_text(const std::string& text);  ///< of its value in the help: "FILE"
  CommandLineOption* group(const std::string& heading);
  CommandLineOption* required();
  CommandLineOption* delimiter(char between);
  CommandLineOption* expected(int count);
  CommandLineOption* expected(int least, int most);
  CommandLineOption* allow_extra_args(bool allow);
  CommandLineOption* needs(const CommandLineOption* other);
  CommandLineOption* excludes(const CommandLineOption* other);

  /// Numbers, both ends included; int, std::int64_t, std::size_t or double.
  template <class T>
  CommandLineOption* in_range(T least, T most);
  CommandLineOption* positive();
  CommandLineOption* one_of(const std::vector<std::string>& words);
  /// Words that a shell may offer, where others are right as well.
  CommandLineOption* offers(const std::vector<std::string>& words);
  /// `problem` says what is wrong with a value; nothing: it is right.
  CommandLineOption* check(const std::function<std::string(const std::string& value)>& problem);

  [[nodiscard]] bool given() const;
  [[nodiscard]] std::string name() const;
  [[nodiscard]] std::vector<std::string> names()
      const;                               ///< "-b", "--batch"; none of an argument without dashes
  [[nodiscard]] std::string text() const;  ///< what the help calls its value: "FILE"
  [[nodiscard]] const std::vector<std::string>& words() const { return words_; }  ///< of one_of
  [[nodiscard]] bool takes_value() const;
  [[nodiscard]] bool takes_list() const;  ///< values with commas between them
  [[nodiscard]] bool takes_many() const;  ///< more values than one

 private:
  friend class CommandLine;
  CLI::Option* option_;
  std::vector<std::string> words_;
  std::string kind_;  ///< of a value, in words: "a whole number"; empty for text
};

/// A command, with its options and the commands under it, or the program as a whole.
class CommandLine {
 public:
  explicit CommandLine(const std::string& description = {}, const std::string& name = {});
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;
  ~CommandLine();

  CommandLine* add_subcommand(const std::string& name, const std::string& description);

  /// `target` is set when the command line is parsed. T is text, a path, a number, an optional one of these
  /// or a list: those that the end of command_line.cpp names.
  template <class T>
  CommandLineOption* add_option(const std::string& names, T& target, const std::string& help);
  CommandLineOption* add_option_function(const std::string& names,
                                         const std::function<void(const std::int64_t&)>& take,
                                         const std::string& help);
  /// One of `words`, each of which stands for a value.
  template <class T>
  CommandLineOption* add_choice(const std::string& names, T& target, const std::map<std::string, T>& words,
                                const std::string& help) {
    std::vector<std::string> known;
    for (const auto& [word, value] : words) known.push_back(word);
    return add_word(
        names, known, [&target, words](const std::string& word) { target = words.at(word); }, help);
  }
  CommandLineOption* add_flag(const std::string& names, bool& target, const std::string& help);
  CommandLineOption* add_flag_function(const std::string& names, const std::function<void()>& given,
                                       const std::string& help);
  void set_version_flag(const std::string& name, const std::string& version);

  CommandLine* group(const std::string& heading);  ///< "": hidden
  /// One line of the help's usage, without the command's own name; made from its arguments where none is
  /// given.
  CommandLine* usage(const std::string& arguments);
  CommandLine* footer(const std::string& text);
  CommandLine* callback(std::function<void()> then);  ///< called where this command was named
  CommandLine* require_subcommand(int count);
  CommandLine* require_subcommand(int least, int most);
  CommandLine* fallthrough(bool value = true);
  CommandLine* prefix_command();

  /// One that was added before.
  [[nodiscard]] CommandLineOption* get_option(const std::string& name) const;
  [[nodiscard]] std::string name() const;
  [[nodiscard]] std::string full_name() const;  ///< "plimsoll runs show"
  [[nodiscard]] std::string description() const;
  [[nodiscard]] bool hidden() const;
  [[nodiscard]] const CommandLine* parent() const { return parent_; }
  [[nodiscard]] std::vector<CommandLineOption*> options() const;  ///< that were added here: not --help
  [[nodiscard]] std::vector<std::string> long_names() const;      ///< of all its options: "help", …
  [[nodiscard]] std::vector<CommandLine*> subcommands() const;
  /// Once parsed: whether a command under this one was named, and the words that nothing took.
  [[nodiscard]] bool has_subcommand() const;
  [[nodiscard]] std::vector<std::string> remaining() const;

  /// False where help or version was asked for, and printed.
  [[nodiscard]] Result<bool> parse(int argc, const char* const* argv);
  [[nodiscard]] Status parse(const std::vector<std::string>& words);

 private:
  CommandLine(CLI::App* app, const CommandLine* parent);
  CommandLineOption* keep(CLI::Option* option, std::string kind = {});
  /// A parser's complaint, in words for the person at the terminal.
  [[nodiscard]] Error explain(const CLI::ParseError& error) const;
  /// A word that looks like an option, and that no command took.
  [[nodiscard]] std::optional<Error> unknown_option() const;
  [[nodiscard]] const CommandLine& named() const;  ///< once parsed: the innermost command
  [[nodiscard]] const CommandLineOption* find(std::string_view name) const;
  [[nodiscard]] std::string help() const;
  void set_up();
  CommandLineOption* add_word(const std::string& names, const std::vector<std::string>& known,
                              const std::function<void(const std::string&)>& take, const std::string& help);

  std::unique_ptr<CLI::App> program_;  ///< null for a subcommand, which its parent's owns
  CLI::App* app_;
  const CommandLine* parent_ = nullptr;
  std::vector<std::string> usage_;
  std::vector<std::unique_ptr<CommandLineOption>> options_;
  std::vector<std::unique_ptr<CommandLine>> subcommands_;
};

/// From a callback: `option` is of no use where `needed` is not given.
[[noreturn]] void refuse_without(const CommandLineOption& option, const std::string& needed);

}  // namespace plimsoll
