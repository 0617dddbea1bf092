#include "probe/gpu_run.hpp"

#include <string>

#include "base/files.hpp"
#include "base/printable.hpp"
#include "base/process.hpp"
#include "base/text.hpp"
#include "cuda/protocol.hpp"
#include "measure/last_lines.hpp"

namespace plimsoll::probe {
namespace {

using Clock = std::chrono::steady_clock;
using measure::kLongestShown;

constexpr std::size_t kLongestName = 200;
constexpr std::size_t kMostAnswers = 20'000;  // a probe of everything has some hundreds

Place place_of(cuda::Place place) {
  switch (place) {
    case cuda::Place::copies: return Place::gpu_copies;
    case cuda::Place::managed: return Place::gpu_managed;
    case cuda::Place::managed_prefetch: break;
  }
  return Place::gpu_managed_prefetch;
}
Workers workers_of(cuda::Workers workers) {
  switch (workers) {
    case cuda::Workers::one_thread: return Workers::one_thread;
    case cuda::Workers::one_block: return Workers::one_block;
    case cuda::Workers::many_blocks: break;
  }
  return Workers::many_blocks;
}
Method method_of(cuda::Method method) {
  switch (method) {
    case cuda::Method::naive: return Method::naive;
    case cuda::Method::blocked: return Method::blocked;
    case cuda::Method::library: break;
  }
  return Method::library;
}

Error::Kind kind_of(std::string_view word) {
  if (word == "machine-lacks") return Error::Kind::machine_lacks;
  return word == "bad-input" ? Error::Kind::bad_input : Error::Kind::internal;
}

Error internal(std::string message, std::string hint = {}) {
  return {.message = std::move(message),
          .where = "plimsoll-cuda",
          .hint = std::move(hint),
          .kind = Error::Kind::internal};
}

/// What was said so far, and whether it made sense.
class Conversation {
 public:
  Conversation(const CudaLimits& limits, const CudaListener& listener)
      : limits_(limits), listener_(listener) {}

  void hear(std::string_view line) {
    heard_at_ = Clock::now();
    if (wrong_ || finished_) return;
    Result<cuda::Answer> answer = cuda::read_answer(line);
    if (!answer) {
      wrong_ = internal(measure::no_answer(line, answer.error()));
      return;
    }
    if (++answers_ > kMostAnswers) {
      wrong_ = internal(fmt::format("gave more than {} answers", kMostAnswers));
      return;
    }
    const bool greets =
        std::holds_alternative<cuda::Device>(*answer) || std::holds_alternative<cuda::Failure>(*answer);
    if (!run_.device && !greets) {
      wrong_ = internal("did not say which GPU it is before it began");
      return;
    }
    std::visit([this](auto& a) { take(a); }, *answer);
  }
  void hear_error(std::string_view line) { last_lines_.hear(line); }
  [[nodiscard]] bool should_end() {
    if (listener_.on_turn) listener_.on_turn();
    if (listener_.interrupted && listener_.interrupted()) run_.interrupted = true;
    if (Clock::now() - heard_at_ > (finished_ ? limits_.leave : limits_.silence)) silent_ = true;
    return run_.interrupted || silent_ || wrong_.has_value();
  }

  [[nodiscard]] Result<CudaRun> end(const ProcessOutput& process) && {
    if (wrong_)
      run_.failure = last_lines_.add_to(std::move(*wrong_));
    else if (!finished_ && !run_.interrupted)
      run_.failure = last_lines_.add_to(failure(process));
    if (run_.failure && !found_anything()) return std::unexpected(std::move(*run_.failure));
    return std::move(run_);
  }

 private:
  void take(cuda::Device& a) {
    a.name = printable(a.name, kLongestName);
    run_.device = a;
    if (listener_.on_device) listener_.on_device(a);
  }
  void take(cuda::Progress& a) {
    a.phase = printable(a.phase, kLongestName);
    phase_ = a.phase;
    if (listener_.on_progress) listener_.on_progress(a);
  }
  void take(cuda::VectorAdd& a) {
    VectorAdd found{.place = place_of(a.place),
                    .workers = workers_of(a.workers),
                    .elements = a.elements,
                    .parts = {},
                    .right = a.right,
                    .device = run_.device->name};
    for (cuda::Part& part : a.parts)
      found.parts.push_back({printable(part.name, kLongestName), std::move(part.samples)});
    run_.findings.vector_adds.push_back(std::move(found));
  }
  void take(cuda::MatrixProduct& a) {
    run_.findings.products.push_back({.gpu = true,
                                      .method = method_of(a.method),
                                      .size = a.size,
                                      .samples = std::move(a.samples),
                                      .moved_bytes = a.moved_bytes,
                                      .largest_error = a.largest_error,
                                      .right = a.right,
                                      .library = printable(a.library, kLongestName)});
  }
  void take(cuda::Rate& a) {
    run_.findings.rates.push_back({.name = printable(a.name, kLongestName),
                                   .unit = printable(a.unit, kLongestName),
                                   .amount = a.amount,
                                   .at = a.at,
                                   .samples = std::move(a.samples)});
  }
  void take(cuda::Turns& a) { run_.turns = std::move(a); }
  void take(const cuda::Remark& a) { run_.findings.remarks.push_back(printable(a.text, kLongestShown)); }
  void take(const cuda::Window& a) {
    ended_window_ = ended_window_ || !a.begin;
    if (listener_.on_window) listener_.on_window(a);
  }
  void take(const cuda::Failure& a) {
    run_.failure = Error{.message = printable(a.message, kLongestShown),
                         .where = "plimsoll-cuda",
                         .hint = printable(a.hint, kLongestShown),
                         .kind = kind_of(a.kind)};
    finished_ = true;
  }
  void take(const cuda::Done&) { finished_ = true; }

  [[nodiscard]] bool found_anything() const {
    const Findings& found = run_.findings;
    return !found.vector_adds.empty() || !found.products.empty() || !found.rates.empty() || run_.turns ||
           ended_window_;
  }
  [[nodiscard]] Error failure(const ProcessOutput& process) const {
    const std::string during = phase_.empty() ? "" : fmt::format(" (last: {})", phase_);
    if (silent_)
      return internal(
          fmt::format("said nothing for {} and was ended{}", text(Seconds(limits_.silence.count())), during));
    if (process.timed_out)
      return internal(
          fmt::format("was not done after {} and was ended{}", text(Seconds(limits_.whole.count())), during));
    return internal(fmt::format("{} before it was done{}", process.outcome(), during));
  }

  const CudaLimits& limits_;
  const CudaListener& listener_;
  Clock::time_point heard_at_ = Clock::now();
  measure::LastLines last_lines_;
  std::optional<Error> wrong_;
  std::string phase_;
  CudaRun run_;
  std::size_t answers_ = 0;
  bool finished_ = false, silent_ = false, ended_window_ = false;
};

}  // namespace

Result<CudaRun> run_cuda(const std::filesystem::path& program, const cuda::Job& job, const CudaLimits& limits,
                         const CudaListener& listener, const Environment& environment) {
  const Result<TemporaryDirectory> folder = TemporaryDirectory::make("plimsoll-cuda");
  if (!folder) return std::unexpected(folder.error());
  const std::filesystem::path file = folder->path() / "job.json";
  PLIMSOLL_TRY(write_file(file, cuda::write(job)));

  Conversation conversation(limits, listener);
  ProcessOptions options;
  options.argv = {program.string(), file.string()};
  // So that devices are numbered as NVML numbers them.
  options.environment = {{"CUDA_DEVICE_ORDER", "PCI_BUS_ID"}};
  options.environment.insert(options.environment.end(), environment.begin(), environment.end());
  options.timeout = std::chrono::ceil<std::chrono::milliseconds>(limits.whole);
  options.output_limit = 0;
  options.error_limit = 0;
  options.longest_line = cuda::kMostLineBytes;
  options.on_output_line = [&](std::string_view line) { conversation.hear(line); };
  options.on_error_line = [&](std::string_view line) { conversation.hear_error(line); };
  options.should_end = [&] { return conversation.should_end(); };
  const Result<ProcessOutput> process = run(options);
  if (!process) return std::unexpected(process.error());
  return std::move(conversation).end(*process);
}

}  // namespace plimsoll::probe
