#include "queue/slurm/pool.hpp"

#include <algorithm>
#include <array>
#include <cctype>

#include <fmt/format.h>

#include "base/printable.hpp"
#include "base/shell_word.hpp"

namespace plimsoll::queue::slurm {
namespace {

constexpr std::string_view kBeginning = "plimsoll ";
constexpr std::string_view kEnding = " (ending)";
constexpr std::size_t kLongestComment = 500;
constexpr std::size_t kLongestShownName = 60;
constexpr std::size_t kLongestPart = 60;
constexpr std::size_t kLongestJobName = 24;
constexpr std::size_t kMostOptions = 100;

// What Plimsoll says itself, long and short.
constexpr std::array<std::string_view, 12> kOurs{"--wrap",       "--array",    "-a",          "--signal",
                                                 "--job-name",   "-J",         "--comment",   "--requeue",
                                                 "--no-requeue", "--parsable", "--open-mode", "--test-only"};
// By which GPUs are asked for.
constexpr std::array<std::string_view, 8> kOfGpus{"--gres",          "--gpus",          "-G",
                                                  "--gpus-per-node", "--gpus-per-task", "--gpus-per-socket",
                                                  "--tres-per-task", "--tres-per-node"};

std::string_view name_of(std::string_view option) {
  if (option.starts_with("--")) return option.substr(0, option.find('='));
  return option.substr(0, 2);
}

/// Letters, digits and little more, so that it can stand in names and comments of anybody.
std::string plain(std::string_view text) {
  std::string out;
  for (const char c : text.substr(0, kLongestPart))
    out += std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '_' || c == '-' ? c : '_';
  return out.empty() ? "_" : out;
}

std::uint64_t mixed(const PoolSetting& setting) {
  std::uint64_t hash = 0xcbf29ce484222325U;  // FNV-1a: it only tells one user's wishes apart
  const auto mix = [&](std::string_view text) {
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
    hash = (hash ^ 0xffU) * 0x100000001b3U;
  };
  std::vector<std::string> options = setting.options;
  std::ranges::sort(options);
  for (const std::string& option : options) mix(option);
  mix(fmt::format("{}", setting.gpus));
  return hash;
}

std::string seconds_text(Seconds time) {
  return fmt::format("{:.0f}s", time.value());
}

}  // namespace

Status check_options(const std::vector<std::string>& options) {
  if (options.size() > kMostOptions) return fail("too many options for Slurm");
  for (const std::string& option : options) {
    if (option.size() < 2 || option.front() != '-' || option.find('\n') != std::string::npos)
      return std::unexpected(Error{fmt::format("{} is no option of sbatch", quote(option)), "--slurm-option",
                                   "for example --slurm-option=--partition=gpu"});
    if (std::ranges::find(kOurs, name_of(option)) != kOurs.end())
      return std::unexpected(
          Error{fmt::format("{} is Plimsoll's own to say", quote(std::string(name_of(option)))),
                "--slurm-option", "Arrays are `plimsoll submit --array`, names --name."});
  }
  return {};
}

bool ask_for_gpus(const std::vector<std::string>& options) {
  return std::ranges::any_of(options, [](const std::string& option) {
    return std::ranges::find(kOfGpus, name_of(option)) != kOfGpus.end();
  });
}

std::string pools_of(std::string_view cluster, std::string_view user) {
  return fmt::format("slurm/{}/{}/", plain(cluster), plain(user));
}

std::string pool_name(const PoolSetting& setting) {
  return fmt::format("{}{:016x}", pools_of(setting.cluster, setting.user), mixed(setting));
}

std::vector<std::string> daemon_words(const PoolSetting& setting, const AllocationTerms& terms) {
  std::vector<std::string> out{terms.program,
                               "queue",
                               "start",
                               "--foreground",
                               "--allocation",
                               "--pool",
                               pool_name(setting),
                               "--allocations",
                               fmt::format("{}", terms.most),
                               "--allocation-gpus",
                               fmt::format("{}", setting.gpus),
                               "--notice",
                               seconds_text(terms.notice),
                               "--end-when-idle",
                               seconds_text(terms.idle),
                               "--lease",
                               seconds_text(terms.lease),
                               "--log",
                               terms.log};
  for (const std::string& option : setting.options) out.push_back("--slurm-option=" + option);
  return out;
}

std::vector<std::string> sbatch_words(const PoolSetting& setting, const AllocationTerms& terms) {
  std::vector<std::string> out{"sbatch",
                               "--parsable",
                               "--nodes=1",
                               "--ntasks=1",
                               "--chdir=/",
                               "--output=" + terms.log,
                               "--open-mode=append",
                               "--export=ALL"};
  if (!ask_for_gpus(setting.options)) out.push_back(fmt::format("--gres=gpu:{}", setting.gpus));
  out.insert(out.end(), setting.options.begin(), setting.options.end());
  // A node that fails gives its allocation back to Slurm, which starts it elsewhere; near its end only the
  // daemon is told.
  out.emplace_back("--requeue");
  out.push_back(fmt::format("--signal=B:USR1@{:.0f}", terms.notice.value()));
  out.push_back("--job-name=" + shown_name({}));
  out.push_back("--comment=" + shown_comment(pool_name(setting), {}));
  return out;
}

std::string batch_script(const std::vector<std::string>& words) {
  std::string out = "#!/bin/sh\nexec";
  for (const std::string& word : words) out += " " + shell_word(word);
  return out + "\n";
}

std::string shown_name(const Inside& inside) {
  std::string out = "plimsoll";
  std::size_t shown = 0;
  for (const auto& [number, name] : inside.running) {
    const std::string next = fmt::format("{}{}", shown == 0 ? " " : ",", number);
    if (out.size() + next.size() > kLongestShownName)
      return out + fmt::format("+{}", inside.running.size() - shown);
    out += next;
    ++shown;
  }
  return out;
}

std::string shown_comment(std::string_view pool, const Inside& inside) {
  std::string out = fmt::format("{}{}{}; {} run{}", kBeginning, pool, inside.ending ? kEnding : "",
                                inside.running.size(), inside.running.size() == 1 ? "s" : "");
  const std::string end = inside.waiting > 0 ? fmt::format("; {} wait", inside.waiting) : std::string();
  std::size_t shown = 0;
  for (const auto& [number, name] : inside.running) {
    const std::string next =
        fmt::format("{}{}{}{}", shown == 0 ? ": " : ", ", number, name.empty() ? "" : " ",
                    name.empty() ? "" : plain(name.substr(0, kLongestJobName)));
    if (out.size() + next.size() + end.size() > kLongestComment) {
      out += fmt::format(" and {} more", inside.running.size() - shown);
      break;
    }
    out += next;
    ++shown;
  }
  return out + end;
}

bool is_of_pool(std::string_view comment, std::string_view pool) {
  if (!comment.starts_with(kBeginning)) return false;
  comment.remove_prefix(kBeginning.size());
  if (!comment.starts_with(pool)) return false;
  comment.remove_prefix(pool.size());
  return comment.starts_with(';') || comment.starts_with(kEnding);
}

bool takes_jobs(std::string_view comment) {
  return comment.substr(0, comment.find(';')).find(kEnding) == std::string_view::npos;
}

std::string host_name(const AllocationId& id) {
  return fmt::format("{}-{}.{}@{}", plain(id.cluster), plain(id.job), plain(id.restart), plain(id.node));
}

std::string job_of_host(std::string_view host) {
  const std::string_view before = host.substr(0, host.find('@'));
  const std::string_view number = before.substr(std::min(before.find_last_of('-') + 1, before.size()));
  return std::string(number.substr(0, number.find('.')));
}

}  // namespace plimsoll::queue::slurm
