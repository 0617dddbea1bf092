#include "slurm_queue.hpp"

#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>
#include <pwd.h>
#include <unistd.h>

#include "base/text.hpp"
#include "queue/slurm/commands.hpp"
#include "queue/slurm/from_afar.hpp"
#include "queue/slurm/lent.hpp"
#include "queue/submitted.hpp"
#include "run/jobs_file.hpp"
#include "run/runtime_directory.hpp"
#include "store/store.hpp"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;
namespace slurm = queue::slurm;

std::string user_name() {
  std::array<char, 16384> buffer;  // filled by getpwuid_r
  passwd entry{};
  passwd* found = nullptr;
  if (::getpwuid_r(::geteuid(), &entry, buffer.data(), buffer.size(), &found) != 0 || found == nullptr)
    return fmt::format("{}", ::geteuid());
  return entry.pw_name;
}

std::optional<std::string> variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

/// What allocations print is kept where all nodes see it: in this user's home.
Result<std::string> log_path() {
  fs::path base;
  if (const auto state = variable("XDG_STATE_HOME"); state && state->starts_with('/'))
    base = *state;
  else if (const auto home = variable("HOME"); home && home->starts_with('/'))
    base = fs::path(*home) / ".local" / "state";
  else
    return std::unexpected(Error{"there is no place for what allocations print: HOME is not set",
                                 {},
                                 "Set XDG_STATE_HOME to a folder that all nodes see.",
                                 Error::Kind::machine_lacks});
  const fs::path folder = base / "plimsoll" / "slurm";
  std::error_code failed;
  fs::create_directories(folder.parent_path(), failed);
  PLIMSOLL_TRY(running::make_private(folder));
  return (folder / "%j.log").string();
}

Result<slurm::AllocationTerms> terms_of(const SlurmOptions& options) {
  slurm::AllocationTerms out{.most = static_cast<std::size_t>(options.allocations), .log = options.log};
  for (const auto& [text, option, value] : {std::tuple{&options.notice, "--notice", &out.notice},
                                            std::tuple{&options.idle, "--end-when-idle", &out.idle},
                                            std::tuple{&options.lease, "--lease", &out.lease}}) {
    const auto read = running::parse_duration(*text);
    if (!read) return std::unexpected(Error(read.error()).within(option));
    *value = *read;
  }
  // Shorter ones are over before a busy machine has renewed them.
  constexpr Seconds kShortest{5};
  if (out.lease < kShortest) return fail("--lease: at least 5 s");
  std::error_code failed;
  out.program = fs::read_symlink("/proc/self/exe", failed).string();
  if (failed) return fail("/proc/self/exe: {}", failed.message());
  return out;
}

/// Of a session on Slurm in which somebody submits: they say nothing of where the jobs will run.
job::Json without_slurm(job::Json message) {
  if (const auto environment = message.find("environment");
      environment != message.end() && environment->is_array())
    std::erase_if(environment->get_ref<job::Json::array_t&>(), [](const job::Json& pair) {
      const auto name = pair.is_array() && !pair.empty() ? job::text_of(pair[0]) : std::nullopt;
      return name && name->starts_with("SLURM_") && *name != "SLURM_CONF";
    });
  return message;
}

bool offers_gpus(const slurm::Site& site) {
  return ("," + site.gres_types + ",").contains(",gpu,");
}

int most_gpus(const std::vector<store::NewQueueJob>& jobs) {
  int out = 1;
  for (const store::NewQueueJob& one : jobs)
    if (const auto request = queue::read_request(job::Json::parse(one.request, nullptr, false)))
      out = std::max(out, request->gpus);
  return out;
}

}  // namespace

Result<job::Json> submit_to_slurm(const SlurmOptions& options, const job::Json& message, bool dry) {
  PLIMSOLL_TRY(slurm::check_options(options.options));
  const auto site = slurm::look_at_site();
  PLIMSOLL_TRY(site);
  if (!offers_gpus(*site) && !slurm::ask_for_gpus(options.options))
    return std::unexpected(Error{fmt::format("this Slurm offers no GPUs (GresTypes: {})",
                                             site->gres_types.empty() ? "none" : site->gres_types),
                                 {},
                                 "What holds one here is said by --slurm-option=--gres=…",
                                 Error::Kind::machine_lacks});
  auto terms = terms_of(options);
  PLIMSOLL_TRY(terms);
  auto log = log_path();
  PLIMSOLL_TRY(log);
  terms->log = *std::move(log);
  slurm::PoolSetting setting{.cluster = site->cluster, .user = user_name(), .options = options.options};
  queue::Submitted submitted;
  if (message.contains("jobs")) {
    auto read = queue::read_submitted(without_slurm(message), ::geteuid(), "", true);
    PLIMSOLL_TRY(read);
    submitted = *std::move(read);
    setting.gpus = most_gpus(submitted.jobs);
  }
  const std::string pool = slurm::pool_name(setting);
  for (store::NewQueueJob& one : submitted.jobs) one.pool = pool;
  job::Json out{{"pool", pool}, {"jobs", submitted.jobs.size()}};
  if (dry) {
    out["sbatch"] = slurm::sbatch_words(setting, *terms);
    out["script"] = slurm::batch_script(slurm::daemon_words(setting, *terms));
    return out;
  }
  auto store = store::open(options.store);
  PLIMSOLL_TRY(store);
  out["numbers"] = job::Json::array();
  if (!submitted.jobs.empty()) {
    const auto numbers = (*store)->queue().submit(submitted.jobs, submitted.token);
    PLIMSOLL_TRY(numbers);
    out["numbers"] = *numbers;
  }
  // The jobs come first: an allocation that is about to end looks for them once more after it has said so.
  auto asked = slurm::ask_for_allocation(setting, *terms, false);
  if (!asked)
    return std::unexpected(Error(asked.error())
                               .within(fmt::format("{} jobs are in the queue, and no allocation could be "
                                                   "asked for (`plimsoll submit --slurm` tries again)",
                                                   submitted.jobs.size())));
  out["allocations"] = job::Json::array();
  for (const slurm::AllocationRow& row : asked->there) out["allocations"].push_back(row.id);
  if (asked->asked) {
    out["allocations"].push_back(*asked->asked);
    out["asked"] = *asked->asked;
  }
  return out;
}

Result<job::Json> ask_slurm_queue(const std::string& store, const job::Json& message) {
  const auto site = slurm::look_at_site();
  PLIMSOLL_TRY(site);
  auto opened = store::open(store);
  PLIMSOLL_TRY(opened);
  return slurm::ask_store(
      (*opened)->queue(),
      {.user = fmt::format("{}", ::geteuid()), .pools = slurm::pools_of(site->cluster, user_name())},
      message);
}

Status move_into_allocation(const SlurmOptions& options, int gpus, queue::DaemonOptions& daemon) {
  const auto lent = slurm::read_allocation(variable);
  PLIMSOLL_TRY(lent);
  auto terms = terms_of(options);
  PLIMSOLL_TRY(terms);
  const slurm::PoolSetting setting{
      .cluster = lent->id.cluster, .user = user_name(), .gpus = gpus, .options = options.options};
  if (slurm::pool_name(setting) != daemon.pool)
    return std::unexpected(Error{"the pool is not that of this allocation's user and options", "--pool"});
  const auto base = running::RuntimeDirectory::base();
  PLIMSOLL_TRY(base);
  // Nothing of it outlives the allocation; its socket's path must be short.
  const fs::path place = fmt::format("{}-slurm-{}.{}", base->string(), lent->id.job, lent->id.restart);
  PLIMSOLL_TRY(running::make_private(place));
  daemon.place = {place, place};
  daemon.host = slurm::host_name(lent->id);
  daemon.devices = lent->devices;
  daemon.ends_when_idle = terms->idle;
  // A part of a GPU is shared with others, by the site's MPS daemon or by none.
  if (lent->shards > 0 || lent->mps_percentage > 0) daemon.sharing = queue::QueueSharing::naive;
  daemon.allocation = slurm::lent_allocation(*lent, setting, *terms);
  return {};
}

}  // namespace plimsoll
