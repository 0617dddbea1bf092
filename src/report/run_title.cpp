#include "report/run_title.hpp"

#include <algorithm>
#include <array>

#include <nlohmann/json.hpp>

#include "base/printable.hpp"

namespace plimsoll::report {
namespace {

constexpr std::size_t kLongestTitle = 120;
constexpr std::size_t kTitleDigits = 8;

/// Programs that run another: what they run is what a person calls it by. Those of Python may have a version
/// at their end.
constexpr std::array<std::string_view, 26> kLaunchers = {
    "python", "pypy",   "torchrun", "accelerate", "deepspeed", "horovodrun", "mpirun", "mpiexec", "srun",
    "uv",     "poetry", "conda",    "pipenv",     "env",       "nohup",      "nice",   "numactl", "taskset",
    "sh",     "bash",   "zsh",      "dash",       "Rscript",   "julia",      "node",   "perl"};
constexpr std::array<std::string_view, 9> kScripts = {".py", ".sh", ".R",   ".r", ".jl",
                                                      ".js", ".pl", ".lua", ".rb"};

std::string_view file_name(std::string_view path) {
  return path.substr(path.find_last_of('/') + 1);
}

bool is_launcher(std::string_view program) {
  std::string_view name = file_name(program);
  while (!name.empty() && (name.back() == '.' || (name.back() >= '0' && name.back() <= '9')))
    name.remove_suffix(1);
  return std::ranges::find(kLaunchers, name) != kLaunchers.end();
}

bool is_script(std::string_view word) {
  return !word.starts_with('-') && word.find_first_of(" \t\n") == std::string_view::npos &&
         std::ranges::any_of(kScripts, [&](std::string_view end) { return word.ends_with(end); });
}

/// The place of the script, or of the module that follows -m; 0 where there is none.
std::size_t script_place(const std::vector<std::string>& words) {
  if (!is_launcher(words.front())) return 0;
  for (std::size_t i = 1; i < words.size(); ++i) {
    if (is_script(words[i])) return i;
    if (words[i] == "-m" && i + 1 < words.size()) return i + 1;
    if (words[i] == "-c") return 0;  // a program within the command: no file has its name
  }
  return 0;
}

}  // namespace

std::vector<std::string> command_words(const store::Run& run) {
  const auto tag = run.tags.find("plimsoll.command");
  if (tag == run.tags.end()) return {};
  const nlohmann::json words = nlohmann::json::parse(tag->second, nullptr, false);
  if (!words.is_array()) return {};
  std::vector<std::string> out;
  for (const nlohmann::json& word : words) {
    if (!word.is_string()) return {};
    out.push_back(word.get<std::string>());
  }
  return out;
}

std::string command_line(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) {
    const bool plain = !word.empty() && word.find_first_of(" \t\n'\"\\$`*?;&|<>()") == std::string::npos;
    if (!out.empty()) out += ' ';
    out += plain ? word : "'" + word + "'";
  }
  return out;
}

std::string script_line(const std::vector<std::string>& words) {
  if (words.empty()) return {};
  std::vector<std::string> out(words.begin() + static_cast<std::ptrdiff_t>(script_place(words)), words.end());
  out.front() = file_name(out.front());
  return command_line(out);
}

std::string run_title(const store::Run& run) {
  const std::vector<std::string> words = command_words(run);
  const bool named = !run.name.empty() && (words.empty() || run.name != file_name(words.front()));
  if (named) return printable(run.name, kLongestTitle);
  if (!words.empty()) return printable(script_line(words), kLongestTitle);
  return run.name.empty() ? short_id(run) : printable(run.name, kLongestTitle);
}

std::string short_id(const store::Run& run) {
  return printable(std::string_view(run.id).substr(0, kTitleDigits));
}

}  // namespace plimsoll::report
