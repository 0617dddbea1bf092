#include <map>
#include <memory>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "command.hpp"
#include "completion_words.hpp"

namespace plimsoll {
namespace {

enum class Shell { bash, zsh, fish };

// Each asks the program what may stand where the cursor is, so that one place knows it. Where it says nothing
// the shell completes files.

// Bash breaks words at ':' and '=' too; what stands before the last of these is not to be repeated.
constexpr std::string_view kBash = R"bash(# source <(plimsoll completion bash)
_plimsoll() {
  local line=${COMP_LINE:0:COMP_POINT} current="" kept reply
  local -a words
  read -ra words <<< "$line"
  case $line in
    *[[:space:]]) words+=("") ;;
    *) current=${words[${#words[@]}-1]} ;;
  esac
  kept=${current%"${current##*[:=]}"}
  COMPREPLY=()
  while IFS= read -r reply; do
    COMPREPLY+=("${reply#"$kept"}")
  done < <("${words[0]}" complete-words -- "${words[@]:1}" 2> /dev/null)
  case ${COMPREPLY[0]-} in
    */) if [ "${#COMPREPLY[@]}" -eq 1 ]; then compopt -o nospace 2> /dev/null; fi ;;
  esac
}
complete -o bashdefault -o default -F _plimsoll plimsoll
)bash";

constexpr std::string_view kZsh = R"zsh(#compdef plimsoll
# source <(plimsoll completion zsh)
_plimsoll() {
  local -a replies
  replies=(${(f)"$("${words[1]}" complete-words -- "${(@)words[2,CURRENT]}" 2> /dev/null)"})
  if (( $#replies )); then
    compadd -- $replies
  else
    _files
  fi
}
compdef _plimsoll plimsoll
)zsh";

constexpr std::string_view kFish = R"fish(# plimsoll completion fish | source
function __plimsoll_words
  set -l words (commandline -opc)
  set -l current (commandline -ct)
  set -l replies ($words[1] complete-words -- $words[2..-1] "$current" 2> /dev/null)
  if test (count $replies) -gt 0
    printf '%s\n' $replies
  else
    __fish_complete_path "$current"
  end
end
complete -c plimsoll -f -a '(__plimsoll_words)'
)fish";

}  // namespace

void add_completion(CommandLine& app, Invocation& invocation) {
  auto shell = std::make_shared<Shell>(Shell::bash);
  static const std::map<std::string, Shell> kShells = {
      {"bash", Shell::bash}, {"zsh", Shell::zsh}, {"fish", Shell::fish}};
  CommandLine* command = app.add_subcommand("completion", "Print a completion script for bash, zsh or fish");
  command->add_choice("shell", *shell, kShells, "bash, zsh or fish")->required()->option_text("SHELL");
  command->footer(
      "Examples:\n"
      "  source <(plimsoll completion bash)                      now, in this shell\n"
      "  echo 'source <(plimsoll completion bash)' >> ~/.bashrc  from now on\n"
      "  plimsoll completion fish | source\n"
      "Commands, options, models, devices, precisions, runs and countries are completed.");
  command->callback([shell, &invocation] {
    invocation.run = [shell]() -> Result<int> {
      fmt::print("{}", *shell == Shell::bash ? kBash : *shell == Shell::zsh ? kZsh : kFish);
      return 0;
    };
  });
}

/// What the scripts ask: the words after "--" are those of the command line that is being written.
void add_complete_words(CommandLine& app, Invocation& invocation) {
  CommandLine* command =
      app.add_subcommand("complete-words", "What the last word of a command line may become")->group("");
  command->callback([&app, &invocation] {
    invocation.run = [&app, &invocation]() -> Result<int> {
      for (const std::string& word : complete(app, invocation.command.value_or(std::vector<std::string>())))
        fmt::print("{}\n", word);
      return 0;
    };
  });
}

}  // namespace plimsoll
