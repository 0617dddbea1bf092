#include "run/provenance.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>

#include <nlohmann/json.hpp>
#include <pwd.h>
#include <re2/re2.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/process.hpp"
#include "base/text.hpp"

extern char** environ;  // unistd.h has it only with _GNU_SOURCE

namespace plimsoll::running {
namespace {

namespace fs = std::filesystem;

// Variables that change how deep learning programs run; the rest of the environment is nobody's business.
constexpr std::array<std::string_view, 16> kKeptPrefixes = {
    "CUDA_", "NVIDIA_", "PYTORCH_", "TORCH",  "OMP_",    "MKL_",   "OPENBLAS_",      "NCCL_",
    "XLA_",  "TF_",     "JAX_",     "SLURM_", "CUBLAS_", "CUDNN_", "PYTHONHASHSEED", "LD_LIBRARY_PATH"};

// A part of a name that says so anywhere, and words of a name that say so as a whole: --token, not
// --tokenizer.
constexpr const char* kSecretName =
    "(?i)secret|passw|credential|apikey|(^|[^a-z])(key|token|auth|authorization|cookie|private|pwd)($|[^a-z]"
    ")";

std::optional<std::string> answer_of(std::vector<std::string> argv, const fs::path& directory,
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
  return text;
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
  const auto diff = git({"-c", "core.fsmonitor=false", "diff", "--no-ext-diff", "--no-textconv", "HEAD"},
                        std::size_t{16} << 20);
  if (!diff) return;
  out.tags["plimsoll.git.dirty"] = diff->empty() ? "false" : "true";
  if (!diff->empty()) out.files["git.diff"] = *diff + "\n";
  if (const auto remote = git({"config", "--get", "remote.origin.url"}, 4096))
    out.tags["plimsoll.git.remote"] = masked("remote", *remote);
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

void add_environment(const Job& job, const std::vector<std::string>& chosen, Provenance& out) {
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

std::optional<std::string> python_of(const Job& job) {
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

bool is_secret_name(std::string_view name) {
  static const RE2 pattern(kSecretName);
  return RE2::PartialMatch(re2::StringPiece(name.data(), name.size()), pattern);
}

std::string masked(std::string_view name, std::string_view value) {
  if (is_secret_name(name)) return "***";
  std::string out(value);
  RE2::GlobalReplace(&out, "://[^/@[:space:]]+@", "://***@");
  RE2::GlobalReplace(&out, "(?i)(bearer|basic) +[^[:space:]]+", "\\1 ***");
  return out;
}

std::vector<std::string> masked_command(const std::vector<std::string>& command) {
  std::vector<std::string> out;
  bool hide_next = false;
  for (const std::string& word : command) {
    const auto equals = word.find('=');
    const std::string_view name = std::string_view(word).substr(0, std::min(equals, word.size()));
    if (hide_next) {
      out.emplace_back("***");
    } else if (equals != std::string::npos) {
      out.push_back(fmt::format("{}={}", name, masked(name, std::string_view(word).substr(equals + 1))));
    } else {
      out.push_back(masked("", word));
    }
    hide_next = word.starts_with("--") && equals == std::string::npos && is_secret_name(word);
  }
  return out;
}

Provenance provenance_of(const Job& job, const std::vector<std::string>& variables) {
  Provenance out;
  add_host(out);
  const fs::path directory = job.directory.empty() ? fs::path(".") : job.directory;
  std::error_code ignored;
  out.tags["plimsoll.directory"] = fs::absolute(directory, ignored).lexically_normal().string();
  out.tags["plimsoll.command"] = nlohmann::json(masked_command(job.command))
                                     .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  out.tags["plimsoll.fingerprint"] = fingerprint(job);
  add_git(directory, out);
  add_environment(job, variables, out);
  constexpr std::size_t kLongestTag = 8000;  // as MLflow's
  for (auto& [name, value] : out.tags)
    if (value.size() > kLongestTag) value = value.substr(0, kLongestTag) + "…";
  return out;
}

Provenance python_versions(const Job& job) {
  using std::chrono::seconds;
  Provenance out;
  const auto python = python_of(job);
  if (!python) return out;
  if (const auto version = answer_of({*python, "-c", "import platform; print(platform.python_version())"},
                                     job.directory, 4096, seconds(10)))
    out.tags["plimsoll.python"] = *version;
  if (const auto packages = answer_of({*python, "-m", "pip", "freeze", "--disable-pip-version-check"},
                                      job.directory, std::size_t{4} << 20, seconds(30))) {
    out.files["requirements.txt"] = masked("requirements", *packages) + "\n";
    RE2 torch("(?m)^torch==(\\S+)");
    std::string found;
    if (RE2::PartialMatch(*packages, torch, &found)) out.tags["plimsoll.torch"] = found;
  }
  return out;
}

std::string fingerprint(const Job& job) {
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
