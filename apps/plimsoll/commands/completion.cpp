#include <algorithm>
#include <map>
#include <memory>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "command.hpp"

namespace plimsoll {
namespace {

enum class Shell { bash, zsh, fish };

struct Words {
  std::string command;
  std::string description;
  std::vector<std::string> options;  ///< its verbs' too
  std::vector<std::string> verbs;    ///< of `runs`: show, compare…
};

/// Those that are not there yet.
void add_options(const CommandLine& command, std::vector<std::string>& out) {
  for (const std::string& name : command.long_names())
    if (std::ranges::find(out, "--" + name) == out.end()) out.push_back("--" + name);
}

std::vector<Words> collect(const CommandLine& app) {
  std::vector<Words> out;
  for (const CommandLine* command : app.subcommands()) {
    Words w{command->name(), command->description(), {}, {}};
    add_options(*command, w.options);
    for (const CommandLine* verb : command->subcommands()) {
      w.verbs.push_back(verb->name());
      add_options(*verb, w.options);
    }
    out.push_back(std::move(w));
  }
  return out;
}

std::string bash(const std::vector<Words>& words) {
  std::vector<std::string> names;
  std::string cases;
  for (const Words& w : words) {
    names.push_back(w.command);
    cases += fmt::format("    {}) words=\"{}\" verbs=\"{}\" ;;\n", w.command, fmt::join(w.options, " "),
                         fmt::join(w.verbs, " "));
  }
  return fmt::format(
      "# source <(plimsoll completion bash)\n"
      "_plimsoll() {{\n"
      "  local current=${{COMP_WORDS[COMP_CWORD]}} words=\"\" verbs=\"\"\n"
      "  if [ \"$COMP_CWORD\" -eq 1 ]; then COMPREPLY=($(compgen -W \"{}\" -- \"$current\")); return; fi\n"
      "  case ${{COMP_WORDS[1]}} in\n{}"
      "  esac\n"
      "  case $current in\n"
      "    -*) COMPREPLY=($(compgen -W \"$words\" -- \"$current\")) ;;\n"
      "    *) COMPREPLY=($(compgen -f -- \"$current\"))\n"
      "      if [ \"$COMP_CWORD\" -eq 2 ] && [ -n \"$verbs\" ]; then COMPREPLY=($(compgen -W \"$verbs\" -- "
      "\"$current\")); fi ;;\n"
      "  esac\n"
      "}}\n"
      "complete -o filenames -F _plimsoll plimsoll\n",
      fmt::join(names, " "), cases);
}

std::string zsh(const std::vector<Words>& words) {
  return "#compdef plimsoll\n# source <(plimsoll completion zsh)\nautoload -U +X bashcompinit && "
         "bashcompinit\n" +
         bash(words);
}

std::string fish(const std::vector<Words>& words) {
  std::string out = "# plimsoll completion fish | source\n";
  for (const Words& w : words) {
    out += fmt::format("complete -c plimsoll -n __fish_use_subcommand -a {} -d '{}'\n", w.command,
                       w.description);
    for (const std::string& verb : w.verbs)
      out += fmt::format("complete -c plimsoll -n '__fish_seen_subcommand_from {}' -a {}\n", w.command, verb);
    for (const std::string& option : w.options)
      out += fmt::format("complete -c plimsoll -n '__fish_seen_subcommand_from {}' -l {}\n", w.command,
                         option.substr(2));
  }
  return out;
}

}  // namespace

void add_completion(CommandLine& app, Invocation& invocation) {
  auto shell = std::make_shared<Shell>(Shell::bash);
  static const std::map<std::string, Shell> kShells = {
      {"bash", Shell::bash}, {"zsh", Shell::zsh}, {"fish", Shell::fish}};
  CommandLine* command = app.add_subcommand("completion", "A completion script for bash, zsh or fish");
  command->add_choice("shell", *shell, kShells, "bash, zsh or fish")->required()->option_text("SHELL");
  command->footer("Example:\n  source <(plimsoll completion bash)");
  command->callback([shell, &app, &invocation] {
    invocation.run = [shell, &app]() -> Result<int> {
      const std::vector<Words> words = collect(app);
      fmt::print("{}", *shell == Shell::bash ? bash(words) : *shell == Shell::zsh ? zsh(words) : fish(words));
      return 0;
    };
  });
}

}  // namespace plimsoll
