#include "measure/engine_run.hpp"

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <string>

#include <unistd.h>

#include "base/files.hpp"
#include "base/printable.hpp"
#include "base/process.hpp"
#include "base/text.hpp"
#include "measure/last_lines.hpp"
#include "telemetry/proc_text.hpp"

namespace plimsoll::measure {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kLongestLine = std::size_t{64} << 20;  // a million latencies

bool is_last(const job::Answer& answer) {
  return std::holds_alternative<job::Done>(answer) || std::holds_alternative<job::Unsupported>(answer) ||
         std::holds_alternative<job::DoesNotFit>(answer) || std::holds_alternative<job::Failure>(answer);
}

/// How many processes the kernel has killed for want of memory since it started; of this machine's others
/// too.
std::optional<std::uint64_t> killed_for_memory() {
  const auto counters = read_file("/proc/vmstat", 1 << 20);
  return counters ? telemetry::number_after(*counters, "oom_kill") : std::nullopt;
}

std::optional<std::int64_t> memory_of_machine(std::string_view key) {
  const auto text = read_file("/proc/meminfo", 1 << 20);
  const auto kib = text ? telemetry::number_after(*text, key) : std::nullopt;
  return kib ? std::optional(static_cast<std::int64_t>(*kib * 1024)) : std::nullopt;
}

/// Where memory runs out the kernel shall end the engine, not a program that has nothing to do with it. Only
/// a child of ours: the number is what the engine says.
void offer_to_kernel(std::int64_t engine) {
  const auto text = read_file(fmt::format("/proc/{}/stat", engine), 4096);
  const auto process = text ? telemetry::parse_process_stat(*text) : std::nullopt;
  if (!process || process->parent != ::getpid()) return;
  std::ofstream(fmt::format("/proc/{}/oom_score_adj", engine)) << 1000;
}

Error internal(std::string message, std::string hint = {}) {
  return {.message = std::move(message),
          .where = "plimsoll-engine",
          .hint = std::move(hint),
          .kind = Error::Kind::internal};
}

/// Threads of OpenMP that have nothing to do spin for some milliseconds where nobody says otherwise, and take
/// the cores from the threads that OpenBLAS has of its own: a BERT is three times slower on two cores. A
/// short while is enough from one operator to the next. Whoever sets either is not overruled.
std::vector<std::pair<std::string, std::string>> threads_that_wait() {
  if (std::getenv("OMP_WAIT_POLICY") != nullptr || std::getenv("GOMP_SPINCOUNT") != nullptr) return {};
  return {{"GOMP_SPINCOUNT", "1000"}};
}

/// What was said so far, and whether it made sense.
class Conversation {
 public:
  Conversation(const EngineLimits& limits, const EngineListener& listener)
      : limits_(limits), listener_(listener) {}

  void hear(std::string_view line) {
    heard_at_ = Clock::now();
    if (wrong_) return;
    Result<job::Answer> answer = job::read_answer(line);
    if (!answer) {
      wrong_ = internal(no_answer(line, answer.error()));
      return;
    }
    if (!greeted_ && !std::holds_alternative<job::Hello>(*answer) && !is_last(*answer)) {
      wrong_ = internal("did not say which engine it is before it began");
      return;
    }
    greeted_ = true;
    if (const auto* hello = std::get_if<job::Hello>(&*answer)) offer_to_kernel(hello->process);
    if (const auto* progress = std::get_if<job::Progress>(&*answer)) phase_ = progress->phase;
    finished_ = finished_ || is_last(*answer);
    if (listener_.on_answer) listener_.on_answer(*answer);
  }
  void hear_error(std::string_view line) { last_lines_.hear(line); }
  [[nodiscard]] bool should_end() {
    if (listener_.on_turn) listener_.on_turn();
    if (listener_.interrupted && listener_.interrupted()) interrupted_ = true;
    if (!finished_ && Clock::now() - heard_at_ > limits_.silence) silent_ = true;
    return interrupted_ || silent_ || wrong_.has_value();
  }

  [[nodiscard]] Result<EngineEnd> end(const ProcessOutput& process, bool memory_killed) {
    if (wrong_) return std::unexpected(last_lines_.add_to(std::move(*wrong_)));
    if (finished_) return EngineEnd::finished;
    if (interrupted_) return EngineEnd::interrupted;
    if (process.signal == SIGKILL && memory_killed) {
      if (listener_.on_answer) listener_.on_answer(job::Answer(killed()));
      return EngineEnd::finished;
    }
    return std::unexpected(last_lines_.add_to(failure(process)));
  }

 private:
  [[nodiscard]] job::DoesNotFit killed() const {
    return {.phase = phase_.empty() ? "loading" : "running",
            .asked_bytes = {},
            .free_bytes = memory_of_machine("MemAvailable:"),
            .total_bytes = memory_of_machine("MemTotal:"),
            .allocated_bytes = {},
            .reserved_bytes = {},
            .message = "the kernel ended the engine because memory ran out"};
  }
  [[nodiscard]] Error failure(const ProcessOutput& process) const {
    const std::string during = phase_.empty() ? "" : fmt::format(" (last phase: {})", printable(phase_, 40));
    if (silent_)
      return internal(
          fmt::format("said nothing for {} and was ended{}", text(Seconds(limits_.silence.count())), during),
          "--silence allows more; a single pass may take long on a slow machine");
    if (process.timed_out)
      return internal(
          fmt::format("was not done after {} and was ended{}", text(Seconds(limits_.whole.count())), during),
          "--timeout allows more");
    return internal(fmt::format("{} before it was done{}", process.outcome(), during));
  }

  const EngineLimits& limits_;
  const EngineListener& listener_;
  Clock::time_point heard_at_ = Clock::now();
  LastLines last_lines_;
  std::optional<Error> wrong_;
  std::string phase_;
  bool greeted_ = false, finished_ = false, silent_ = false, interrupted_ = false;
};

}  // namespace

Result<EngineEnd> run_engine(const std::filesystem::path& engine, const job::Job& job,
                             const EngineLimits& limits, const EngineListener& listener) {
  const Result<TemporaryDirectory> folder = TemporaryDirectory::make("plimsoll-job");
  if (!folder) return std::unexpected(folder.error());
  const std::filesystem::path file = folder->path() / "job.json";
  PLIMSOLL_TRY(write_file(file, job::write(job)));

  Conversation conversation(limits, listener);
  ProcessOptions options;
  options.argv = {engine.string(), file.string()};
  if (job.device == "cpu") options.environment = threads_that_wait();
  options.timeout = std::chrono::ceil<std::chrono::milliseconds>(limits.whole);
  options.output_limit = 0;
  options.error_limit = 0;
  options.longest_line = kLongestLine;
  options.on_output_line = [&](std::string_view line) { conversation.hear(line); };
  options.on_error_line = [&](std::string_view line) { conversation.hear_error(line); };
  options.should_end = [&] { return conversation.should_end(); };
  const auto killed_before = killed_for_memory();
  const Result<ProcessOutput> process = run(options);
  if (!process) return std::unexpected(process.error());
  return conversation.end(*process, killed_before && killed_for_memory() > killed_before);
}

}  // namespace plimsoll::measure
