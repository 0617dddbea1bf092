#include "run/provenance.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>

#include <fmt/ranges.h>
#include <nlohmann/json.hpp>
#include <pwd.h>
#include <re2/re2.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/process.hpp"
#include "base/text.hpp"
#include "run/secrets.hpp"

extern char** environ;  // unistd.h has it only with _GNU_SOURCE

namespace plimsoll::running {
namespace {

namespace fs = std::filesystem;

// Variables that change how deep learning programs run; the rest of the environment is nobody's business.
constexpr std::array<std::string_view, 16> kKeptPrefixes = {
    "CUDA_", "NVIDIA_", "PYTORCH_", "TORCH",  "OMP_",    "MKL_",   "OPENBLAS_",      "NCCL_",
    "XLA_",  "TF_",     "JAX_",     "SLURM_", "CUBLAS_", "CUDNN_", "PYTHONHASHSEED", "LD_LIBRARY_PATH"};

/// What a program said, and whether that was all.
struct Answer {
  std::string text;
  bool cut = false;
};

std::optional<Answer> whole_answer_of(std::vector<std::string> argv, const fs::path& directory,
                                      std::size_t limit, std::chrono::seconds time) {
  ProcessOptions options;
  options.argv = std::move(argv);
  options.directory = directory;
  options.timeout = time;
  options.output_limit = limit;
  options.environment = {{"GIT_OPTIONAL_LOCKS", "0"}, {"GIT_TERMINAL_PROMPT", "0"}, {"PAGER", "cat"}};
  Result<ProcessOutput> answer = plimsoll::run(options);
  if (!answer || !answer->succeeded()) return {};
  std::string text = std::move(answer->output);
  while (text.ends_with('\n')) text.pop_back();
  return Answer{std::move(text), answer->output_truncated};
}

std::optional<std::string> answer_of(std::vector<std::string> argv, const fs::path& directory,
                                     std::size_t limit, std::chrono::seconds time) {
  std::optional<Answer> answer = whole_answer_of(std::move(argv), directory, limit, time);
  return answer ? std::optional(std::move(answer->text)) : std::nullopt;
}

constexpr std::size_t kLongestDiff = std::size_t{16} << 20;

void add_diff(const Answer& diff, Provenance& out) {
  const std::string kept = masked_text(diff.text);
  std::vector<std::string> notes;
  if (diff.cut) notes.push_back(fmt::format("cut after {} MiB; the rest is not kept", kLongestDiff >> 20));
  if (kept != diff.text)
    notes.emplace_back("secrets are masked by ***, so that it does not apply as it stands");
  std::string& file = out.files["git.diff"];
  file = kept + "\n";
  for (const std::string& note : notes) file += fmt::format("[plimsoll: {}]\n", note);
  if (!notes.empty()) out.tags["plimsoll.git.diff"] = fmt::format("{}", fmt::join(notes, "; "));
}

void add_git(const fs::path& directory, Provenance& out) {
  using std::chrono::seconds;
  const auto git = [&](std::vector<std::string> words, std::size_t limit) {
    words.insert(words.begin(), "git");
    return answer_of(std::move(words), directory, limit, seconds(5));
  };
  const auto revision = git({"rev-parse", "HEAD"}, 4096);
  if (!revision) return;
  out.tags["plimsoll.git.revision"] = *revision;
  // External diff programs of the repository are not run; its own filters (git-lfs) are, as with any git
  // diff.
  const auto diff =
      whole_answer_of({"git", "-c", "core.fsmonitor=false", "diff", "--no-ext-diff", "--no-textconv", "HEAD"},
                      directory, kLongestDiff, seconds(5));
  if (!diff) {
    out.tags["plimsoll.git.diff"] = "not kept: git did not answer within 5 s";
    return;
  }
  out.tags["plimsoll.git.dirty"] = diff->text.empty() ? "false" : "true";
  if (!diff->text.empty()) add_diff(*diff, out);
  if (const auto remote = git({"config", "--get", "remote.origin.url"}, 4096))
    out.tags["plimsoll.git.remote"] = masked_text(*remote);
  if (const auto branch = git({"rev-parse", "--abbrev-ref", "HEAD"}, 4096))
    out.tags["plimsoll.git.branch"] = *branch;
}

void add_host(Provenance& out) {
  utsname system{};
  if (::uname(&system) == 0) {
    out.tags["plimsoll.host"] = system.nodename;
    out.tags["plimsoll.kernel"] = fmt::format("{} {}", system.sysname, system.release);
  }
  if (const passwd* user = ::getpwuid(::geteuid())) out.tags["plimsoll.user"] = user->pw_name;
  out.tags["plimsoll.host.cores"] = fmt::format("{}", ::sysconf(_SC_NPROCESSORS_ONLN));
}

void add_environment(const JobSpec& job, const std::vector<std::string>& chosen, Provenance& out) {
  std::map<std::string, std::string> kept;
  const auto keep = [&](std::string_view name, std::string_view value) {
    const bool known =
        std::ranges::any_of(kKeptPrefixes, [&](std::string_view prefix) { return name.starts_with(prefix); });
    if (known || std::ranges::find(chosen, name) != chosen.end())
      kept[std::string(name)] = masked(name, value);
  };
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view variable = *entry;
    const auto equals = std::min(variable.find('='), variable.size());
    keep(variable.substr(0, equals), variable.substr(std::min(equals + 1, variable.size())));
  }
  for (const auto& [name, value] : job.environment) kept[name] = masked(name, value);
  out.files["environment.json"] =
      nlohmann::ordered_json(kept).dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

void cut_tags(Provenance& out) {
  constexpr std::size_t kLongestTag = 8000;  // as MLflow's
  for (auto& [name, value] : out.tags)
    if (value.size() > kLongestTag) value = value.substr(0, kLongestTag) + "…";
}

std::optional<std::string> python_of(const JobSpec& job) {
  // Only what is run anyway: an argument that looks like a Python is not ours to start.
  if (job.command.empty() ||
      !RE2::FullMatch(fs::path(job.command.front()).filename().string(), "python[0-9.]*"))
    return {};
  return job.command.front();
}

}  // namespace

std::string this_host() {
  utsname system{};
  return ::uname(&system) == 0 ? system.nodename : "";
}

Provenance provenance_of(const JobSpec& job, const std::vector<std::string>& variables) {
  Provenance out;
  add_host(out);
  const fs::path directory = job.directory.empty() ? fs::path(".") : job.directory;
  std::error_code ignored;
  out.tags["plimsoll.directory"] = fs::absolute(directory, ignored).lexically_normal().string();
  out.tags["plimsoll.command"] = nlohmann::json(masked_command(job.command))
                                     .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  out.tags["plimsoll.fingerprint"] = fingerprint(job);
  add_environment(job, variables, out);
  cut_tags(out);
  return out;
}

Provenance git_facts(const JobSpec& job) {
  Provenance out;
  add_git(job.directory.empty() ? fs::path(".") : job.directory, out);
  cut_tags(out);
  return out;
}

Provenance python_versions(const JobSpec& job) {
  using std::chrono::seconds;
  Provenance out;
  const auto python = python_of(job);
  if (!python) return out;
  if (const auto version = answer_of({*python, "-c", "import platform; print(platform.python_version())"},
                                     job.directory, 4096, seconds(10)))
    out.tags["plimsoll.python"] = *version;
  if (const auto packages = answer_of({*python, "-m", "pip", "freeze", "--disable-pip-version-check"},
                                      job.directory, std::size_t{4} << 20, seconds(30))) {
    out.files["requirements.txt"] = masked_text(*packages) + "\n";
    RE2 torch("(?m)^torch==(\\S+)");
    std::string found;
    if (RE2::PartialMatch(*packages, torch, &found)) out.tags["plimsoll.torch"] = found;
  }
  return out;
}

std::string fingerprint(const JobSpec& job) {
  // FNV-1a: it only has to tell one user's commands apart.
  std::uint64_t hash = 0xcbf29ce484222325U;
  const auto mix = [&](std::string_view text) {
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
    hash = (hash ^ 0xffU) * 0x100000001b3U;
  };
  for (const std::string& word : job.command) mix(word);
  std::error_code ignored;
  mix(fs::absolute(job.directory.empty() ? fs::path(".") : job.directory, ignored)
          .lexically_normal()
          .string());
  return fmt::format("{:016x}", hash);
}

}  // namespace plimsoll::running
