#include "queue/slurm/commands.hpp"

#include <algorithm>
#include <chrono>

#include <fmt/format.h>
#include <unistd.h>

#include "base/printable.hpp"
#include "base/process.hpp"

extern char** environ;  // unistd.h has it only with _GNU_SOURCE

namespace plimsoll::queue::slurm {
namespace {

// A busy controller answers within some seconds; its clients give up after MessageTimeout, 10 s or a minute.
constexpr std::chrono::seconds kPatience{90};
constexpr std::size_t kMostAnswer = std::size_t{8} << 20;

Result<std::string> answer_of(std::vector<std::string> words, std::string input = {}) {
  const std::string program = words.front();
  ProcessOptions options;
  // Formats of times and of lists are what some variables say; a job inside an allocation is none of it.
  options.argv = {"env"};
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view variable = *entry;
    const std::string_view name = variable.substr(0, variable.find('='));
    const bool formats = name.starts_with("SQUEUE_") || name.starts_with("SCONTROL_");
    if (formats || (name.starts_with("SLURM_") && name != "SLURM_CONF"))
      options.argv.insert(options.argv.end(), {"-u", std::string(name)});
  }
  options.argv.emplace_back("SLURM_TIME_FORMAT=%s");  // seconds since 1970, in no zone
  options.argv.insert(options.argv.end(), words.begin(), words.end());
  options.input = std::move(input);
  options.timeout = kPatience;
  options.output_limit = kMostAnswer;
  const auto found = find_program(program);
  if (!found)
    return std::unexpected(Error{fmt::format("there is no {} here", program), "Slurm",
                                 "--slurm is for machines from which jobs are submitted to Slurm.",
                                 Error::Kind::machine_lacks});
  const auto done = plimsoll::run(options);
  PLIMSOLL_TRY(done);
  if (done->succeeded()) return done->output;
  std::string said = done->error;
  while (said.ends_with('\n')) said.pop_back();
  return std::unexpected(
      Error{fmt::format("{}: {}", done->outcome(), printable(said)), program, {}, Error::Kind::unavailable});
}

std::string user_number() {
  return fmt::format("{}", ::geteuid());
}

bool is_alive(const AllocationRow& row) {
  return row.state == "RUNNING" || row.state == "SUSPENDED" || row.state == "STOPPED";
}
bool waits(const AllocationRow& row) {
  return row.state == "PENDING" || row.state == "CONFIGURING" || row.state == "REQUEUED" ||
         row.state == "REQUEUE_HOLD" || row.state == "REQUEUE_FED";
}

}  // namespace

Result<Site> look_at_site() {
  const auto text = answer_of({"scontrol", "show", "config"});
  PLIMSOLL_TRY(text);
  Site out;
  out.cluster = config_value(*text, "ClusterName").value_or("cluster");
  out.gres_types = config_value(*text, "GresTypes").value_or("");
  return out;
}

Result<std::string> submit(const PoolSetting& setting, const AllocationTerms& terms) {
  const auto text = answer_of(sbatch_words(setting, terms), batch_script(daemon_words(setting, terms)));
  PLIMSOLL_TRY(text);
  return submitted_number(*text);
}

Result<std::vector<AllocationRow>> own_jobs() {
  const auto text =
      answer_of({"squeue", "--noheader", "--user=" + user_number(), "--format=" + std::string(kRowFormat)});
  PLIMSOLL_TRY(text);
  return read_rows(*text);
}

Result<std::optional<Seconds>> time_left(const std::string& job) {
  const auto text = answer_of({"squeue", "--noheader", "--jobs=" + job, "--format=%L|%e"});
  PLIMSOLL_TRY(text);
  const double now =
      std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  return read_time_left(*text, now);
}

Status show(const std::string& job, const std::string& name, const std::string& comment) {
  const auto done =
      answer_of({"scontrol", "update", "JobId=" + job, "JobName=" + name, "Comment=" + comment});
  PLIMSOLL_TRY(done);
  return {};
}

Result<std::string> state_of(const std::string& job) {
  const auto text = answer_of({"scontrol", "--oneliner", "show", "job", job});
  PLIMSOLL_TRY(text);
  const auto state = field_value(*text, "JobState");
  if (!state) return fail("scontrol does not tell the state of job {}", job);
  return *state;
}

Result<std::string> gres_of(const std::string& node) {
  const auto text = answer_of({"scontrol", "--oneliner", "show", "node", node});
  PLIMSOLL_TRY(text);
  return field_value(*text, "Gres").value_or("");
}

Result<Asked> ask_for_allocation(const PoolSetting& setting, const AllocationTerms& terms, bool more) {
  auto rows = own_jobs();
  PLIMSOLL_TRY(rows);
  Asked out;
  const std::string pool = pool_name(setting);
  std::size_t pending = 0, held = 0;
  for (AllocationRow& row : *rows) {
    if (!is_of_pool(row.comment, pool) || !(is_alive(row) || waits(row))) continue;
    ++held;
    if (!takes_jobs(row.comment)) continue;
    pending += waits(row) ? 1 : 0;
    out.there.push_back(std::move(row));
  }
  const bool wanted = out.there.empty() || (more && pending == 0 && held < terms.most);
  if (!wanted) return out;
  auto job = submit(setting, terms);
  PLIMSOLL_TRY(job);
  out.asked = *std::move(job);
  return out;
}

}  // namespace plimsoll::queue::slurm
