#include "probe/sharing_run.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <span>
#include <utility>

#include "probe/gpu_run.hpp"
#include "probe/private_mps.hpp"

namespace plimsoll::probe {
namespace {

using Clock = std::chrono::steady_clock;
using cuda::Sharer;

constexpr double kWatched = 0.6, kStepped = 1;  // s
constexpr double kSoonest = 2.5;                // s from the start of processes until they begin together
constexpr double kLatest = 0.1;                 // s after that moment
constexpr std::size_t kFewGaps = 5;             // that a driver's own doings may make
constexpr int kTries = 4;                       // each with twice as long to get ready
constexpr double kParts = 9;                    // groups of processes, for the progress line
constexpr std::int64_t kKernels = 174, kKernelsDifferent = 64;
constexpr double kKernelSeconds = 4e-6;
constexpr std::int64_t kNearBytes = std::int64_t{3} << 20, kFarBytes = std::int64_t{768} << 20;

double seconds_of(Clock::time_point moment) {
  return std::chrono::duration<double>(moment.time_since_epoch()).count();
}

/// Jobs whose processes leave each other room: each has blocks for half of the SMs, so that what they do to
/// each other is not that they wait for a place.
class Jobs {
 public:
  Jobs(int device, std::int64_t multiprocessors)
      : device_(device), half_(std::max<std::int64_t>(multiprocessors / 2, 1)) {}

  [[nodiscard]] cuda::Job watch() const {
    return {.task = cuda::Task::share, .device = device_, .seconds = kWatched, .part = Sharer::watch};
  }
  [[nodiscard]] cuda::Job spin() const {
    return step(Sharer::spin, {.kernels = kKernels,
                               .different = kKernelsDifferent,
                               .blocks = half_,
                               .threads = 256,
                               .kernel_seconds = kKernelSeconds});
  }
  /// A little memory again and again, which stays in the L2.
  [[nodiscard]] cuda::Job near() const {
    return step(Sharer::stream, {.kernels = kKernels, .blocks = half_, .threads = 256, .bytes = kNearBytes});
  }
  /// Main memory; a kernel is a step, since where memory is slow it is long enough.
  [[nodiscard]] cuda::Job stream() const {
    return step(Sharer::stream, {.blocks = half_, .threads = 1024, .bytes = kFarBytes});
  }
  [[nodiscard]] cuda::Job stream_by_all() const {
    return step(Sharer::stream, {.blocks = 4 * half_, .threads = 1024, .bytes = kFarBytes});
  }

 private:
  [[nodiscard]] cuda::Job step(Sharer part, cuda::Step step) const {
    step.blocks = std::min(step.blocks, cuda::kMostBlocks);
    return {.task = cuda::Task::share, .device = device_, .seconds = kStepped, .part = part, .step = step};
  }

  int device_;
  std::int64_t half_;
};

/// Runs groups of processes that begin at the same moment.
class Together {
 public:
  Together(std::filesystem::path program, const std::function<bool()>& interrupted)
      : program_(std::move(program)), interrupted_(interrupted) {}

  [[nodiscard]] bool ended() const { return ended_; }
  /// One answer for each job, in order.
  [[nodiscard]] Result<std::vector<CudaRun>> run(std::span<const cuda::Job> jobs,
                                                 const Environment& environment) {
    for (int i = 0; i < kTries; ++i, soonest_ *= 2) {
      late_ = false;
      if (interrupted_()) ended_ = true;
      Result<std::vector<CudaRun>> runs = run_once(jobs, environment);
      if (!runs || !late_ || ended_) return runs;
    }
    return std::unexpected(Error{"the processes could not begin together", {}, {}, Error::Kind::unavailable});
  }

 private:
  [[nodiscard]] Result<std::vector<CudaRun>> run_once(std::span<const cuda::Job> jobs,
                                                      const Environment& environment) {
    const double begin = seconds_of(Clock::now()) + soonest_;
    std::vector<std::future<Result<CudaRun>>> running;
    for (cuda::Job job : jobs) {
      job.begin = begin;
      running.push_back(std::async(std::launch::async, [this, job, begin, &environment] {
        CudaListener listener;
        listener.on_window = [this, begin](const cuda::Window& window) {
          if (window.begin && seconds_of(Clock::now()) > begin + kLatest) late_ = true;
        };
        listener.interrupted = [this] { return ended_.load(); };
        return run_cuda(program_, job, {.whole = std::chrono::minutes(3), .silence = std::chrono::minutes(2)},
                        listener, environment);
      }));
    }
    std::vector<CudaRun> out;
    std::optional<Error> failure;
    for (auto& one : running) {
      // Whether somebody wants it to end is asked by this thread alone.
      while (one.wait_for(std::chrono::milliseconds(20)) != std::future_status::ready)
        if (!ended_ && interrupted_()) ended_ = true;
      Result<CudaRun> run = one.get();
      if (run && run->failure) run = std::unexpected(*std::move(run->failure));
      if (run)
        out.push_back(*std::move(run));
      else if (!failure)
        failure = std::move(run).error();
    }
    if (failure) return std::unexpected(*std::move(failure));
    return out;
  }

  std::filesystem::path program_;
  const std::function<bool()>& interrupted_;
  double soonest_ = kSoonest;
  std::atomic<bool> ended_ = false, late_ = false;
};

std::optional<Rate> rate_of(const std::vector<CudaRun>& runs, std::size_t which) {
  if (which >= runs.size() || runs[which].findings.rates.empty()) return std::nullopt;
  return runs[which].findings.rates.front();
}

class SharingSurvey {
 public:
  SharingSurvey(const std::filesystem::path& program, int device, const Progress& progress,
                const std::function<bool()>& interrupted)
      : together_(program, interrupted), progress_(progress), number_(device) {}

  Result<SharingStudy> study() && {
    answers_.kernels = kKernels;
    PLIMSOLL_TRY(run_alone());
    run_naively();
    run_under_mps();
    if (together_.ended()) {
      study_.interrupted = true;
      return std::move(study_);
    }
    study_.findings = sharing_findings(answers_);
    study_.findings.remarks.insert(study_.findings.remarks.begin(), remarks_.begin(), remarks_.end());
    return std::move(study_);
  }

 private:
  [[nodiscard]] Jobs jobs(int number) const { return {number, study_.device.multiprocessors}; }
  [[nodiscard]] std::vector<CudaRun> run(std::string_view what, std::initializer_list<cuda::Job> jobs,
                                         const Environment& environment) {
    if (together_.ended()) return {};
    progress_(what, part_++ / kParts);
    Result<std::vector<CudaRun>> runs = together_.run(std::span(jobs.begin(), jobs.size()), environment);
    if (runs) return *std::move(runs);
    remark(what, runs.error());
    return {};
  }
  void remark(std::string_view what, const Error& error) {
    remarks_.push_back(fmt::format("{}: {}", what, error.text()));
  }

  /// A folder where no daemon is: a machine's own MPS would make clients of processes that shall take turns.
  [[nodiscard]] static Environment without_mps(const TemporaryDirectory& folder) {
    return {{"CUDA_MPS_PIPE_DIRECTORY", folder.path().string()}};
  }
  Status run_alone() {
    if (!empty_) return std::unexpected(empty_.error());
    progress_("alone", part_++ / kParts);
    // Which GPU it is, and how many SMs it has, decides about the other jobs.
    Result<std::vector<CudaRun>> first =
        together_.run(std::vector{Jobs(number_, 1).watch()}, without_mps(*empty_));
    PLIMSOLL_TRY(first);
    if (!first->empty() && first->front().device) study_.device = *first->front().device;
    // A process that is alone has the GPU all the time.
    if (!first->empty() && first->front().turns && first->front().turns->gaps.size() > kFewGaps)
      remarks_.emplace_back("doubtful: another process uses the GPU, too");
    answers_.alone = rate_of(run("alone", {jobs(number_).spin()}, without_mps(*empty_)), 0);
    return {};
  }
  void run_naively() {
    const cuda::Job watch = jobs(number_).watch();
    for (CudaRun& one : run("turns", {watch, watch}, without_mps(*empty_)))
      if (one.turns) answers_.turns.push_back(*std::move(one.turns));
  }
  void run_under_mps() {
    if (together_.ended()) return;
    const Result<std::unique_ptr<PrivateMps>> mps = PrivateMps::start(study_.device.uuid);
    if (!mps) {
      remark("MPS, and what it costs, was not measured", mps.error());
      return;
    }
    const Environment client = (*mps)->client_environment();
    const Jobs jobs = this->jobs(0);
    answers_.client = rate_of(run("a client of MPS", {jobs.spin()}, client), 0);
    answers_.crowded = rate_of(run("two clients that launch", {jobs.spin(), jobs.spin()}, client), 0);
    answers_.near = rate_of(run("a client that reads the L2", {jobs.near()}, client), 0);
    answers_.streaming = rate_of(run("a client that streams", {jobs.stream_by_all()}, client), 0);
    const auto near = run("reading the L2 beside a stream", {jobs.near(), jobs.stream()}, client);
    answers_.near_streamed = rate_of(near, 0);
    answers_.near_streaming = rate_of(near, 1);
    const auto spin = run("computing beside a stream", {jobs.spin(), jobs.stream()}, client);
    answers_.spin_streamed = rate_of(spin, 0);
    answers_.spin_streaming = rate_of(spin, 1);
  }

  Together together_;
  const Progress& progress_;
  int number_;
  double part_ = 0;
  Result<TemporaryDirectory> empty_ = TemporaryDirectory::make("plimsoll-no-mps");
  SharingAnswers answers_;
  SharingStudy study_;
  std::vector<std::string> remarks_;
};

}  // namespace

Result<SharingStudy> study_sharing(const std::filesystem::path& program, int device, const Progress& progress,
                                   const std::function<bool()>& interrupted) {
  return SharingSurvey(program, device, progress, interrupted).study();
}

}  // namespace plimsoll::probe
