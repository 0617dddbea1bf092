#include "diagnose/improvements.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "diagnose/thresholds.hpp"

namespace plimsoll::diagnose {
namespace {

constexpr double kWorthSaying = 1.05;  ///< a smaller gain is lost in the spread of steps

/// Means over the GPUs that worked; unknown where one does not say.
std::optional<double> over_working_gpus(const RunFigures& figures, std::optional<double> GpuFigures::* what) {
  double sum = 0, count = 0;
  for (const GpuFigures& gpu : figures.gpus) {
    if (!gpu.work) continue;
    if (!(gpu.*what)) return std::nullopt;
    sum += *(gpu.*what);
    ++count;
  }
  return count > 0 ? std::optional(sum / count) : std::nullopt;
}

std::string share_words(double share) {
  return fmt::format("{:.0f} %", 100 * share);
}

/// Between no gain and the most that the rule allows: their geometric mean, until it is measured.
void set_up_to(Improvement& improvement, double most) {
  improvement.low = 1;
  improvement.high = most;
  improvement.gain = std::sqrt(most);
}

class Reckoning {
 public:
  Reckoning(const RunFigures& figures, const Verdict& verdict, const GpuRatios& ratios)
      : figures_(figures),
        limiter_(verdict.limiter),
        ratios_(ratios),
        kernels_(over_working_gpus(figures, &GpuFigures::kernel_activity)),
        sm_(over_working_gpus(figures, &GpuFigures::sm_activity)),
        tensor_(over_working_gpus(figures, &GpuFigures::tensor)),
        fp32_(over_working_gpus(figures, &GpuFigures::fp32)) {}

  [[nodiscard]] std::vector<Improvement> all() {
    input();
    batch();
    launches();
    precision();
    neighbour();
    const auto order = [](const Improvement& one) { return one.of_gpu ? 0.0 : one.gain.value_or(0.5); };
    std::ranges::stable_sort(out_, std::ranges::greater(), order);
    return std::move(out_);
  }

 private:
  [[nodiscard]] bool waits() const {
    return limiter_ == Limiter::one_thread || limiter_ == Limiter::waits ||
           limiter_ == Limiter::input_processor || limiter_ == Limiter::input_storage;
  }
  [[nodiscard]] bool small_kernels() const {
    return limiter_ == Limiter::launches || limiter_ == Limiter::small_kernels;
  }

  void input() {
    if (!waits() || !kernels_ || !(*kernels_ > 0)) return;
    const double most = 1 / *kernels_;
    if (limiter_ != Limiter::input_processor && limiter_ != Limiter::input_storage && figures_.host.cores &&
        *figures_.host.cores >= 2) {
      // The loader keeps as many cores busy as it has threads: with all cores it is so many times as quick.
      const double busy = std::max(1.0, figures_.host.cpu_while_waiting.value_or(1));
      const double quicker = std::max(1.0, *figures_.host.cores / busy);
      Improvement more{
          .id = "loader-workers",
          .title = "More workers for the loader",
          .why = fmt::format("no kernel runs {} of the time, in which {:.1f} of {:.0f} cores work",
                             share_words(1 - *kernels_), figures_.host.cpu_while_waiting.value_or(0),
                             *figures_.host.cores),
          .rule =
              "the time without kernels is hidden, as far as the cores that are left prepare input quicker"};
      more.gain = std::min(most, quicker);
      more.low = 1;
      more.high = most;
      if (*more.gain >= kWorthSaying) out_.push_back(std::move(more));
    }
    out_.push_back({.id = "pinned-memory",
                    .title = "Pinned memory and copies that do not block",
                    .why = fmt::format("no kernel runs {} of the time; copies may be part of it",
                                       share_words(1 - *kernels_)),
                    .rule = "how long copies take was not sampled apart, so no gain is reckoned"});
  }

  void batch() {
    if (!small_kernels() || !sm_ || !(*sm_ > 0)) return;
    double room = INFINITY;
    for (const GpuFigures& gpu : figures_.gpus)
      if (gpu.memory_bytes && gpu.memory_peak && *gpu.memory_peak > 0)
        room = std::min(room, *gpu.memory_bytes / *gpu.memory_peak);
    const double most = std::min(kSmFull.value / *sm_, room);
    if (!(most >= kWorthSaying)) return;
    Improvement larger{
        .id = "batch",
        .title = "A larger batch",
        .why = fmt::format("kernels run, but on {} of the SMs' time; the memory would hold {} times as much",
                           share_words(*sm_), std::isfinite(room) ? fmt::format("{:.1f}", room) : "?"),
        .rule = "samples a second grow until the SMs are full or the memory is; where between is not known"};
    set_up_to(larger, most);
    out_.push_back(std::move(larger));
  }

  void launches() {
    if (limiter_ != Limiter::launches || !sm_ || !(*sm_ > 0)) return;
    const double most = kSmFull.value / *sm_;
    if (!(most >= kWorthSaying)) return;
    Improvement captured{
        .id = "captured-graph",
        .title = "A captured graph (CUDA graphs, torch.compile)",
        .why = fmt::format("one core does nothing but launch, and the SMs are busy {} of the time",
                           share_words(*sm_)),
        .rule = "without launches the SMs can be full; how large the kernels are is not known"};
    set_up_to(captured, most);
    out_.push_back(std::move(captured));
    out_.push_back({.id = "fused-optimizer",
                    .title = "A fused optimizer",
                    .why = "its step is many small kernels, and launching is the limit",
                    .rule = "which kernels are the optimizer's was not sampled, so no gain is reckoned"});
  }

  void precision() {
    if (!fp32_ || !tensor_ || *tensor_ >= kTensorUnused.value || *fp32_ < kFp32Busy.value) return;
    Improvement mixed{
        .id = "mixed-precision",
        .title = "Mixed precision (bf16 autocast)",
        .why = fmt::format("the FP32 pipe is busy {} of the time, the tensor cores {}", share_words(*fp32_),
                           share_words(*tensor_)),
        .rule = "the time of FP32 arithmetic is divided by the ratio of the device's peaks, the rest stays"};
    if (ratios_.half_over_single && *ratios_.half_over_single > 1) {
      const double ratio = *ratios_.half_over_single;
      const auto gain = [ratio](double part) { return 1 / (1 - part + part / ratio); };
      // At least while the pipe is busy, at most all the time in which SMs are.
      const double all = sm_ && *sm_ > 0 ? std::min(1.0, *fp32_ / *sm_) : *fp32_;
      mixed.low = gain(*fp32_);
      mixed.high = gain(std::max(all, *fp32_));
      mixed.gain = std::sqrt(*mixed.low * *mixed.high);
    } else {
      mixed.rule = "the peaks of this device are not known, so no gain is reckoned";
    }
    out_.push_back(std::move(mixed));
    out_.push_back(
        {.id = "channels-last",
         .title = "Channels last, where it has convolutions",
         .why =
             "in half precision the tensor cores want images as NHWC; elsewhere each convolution turns them",
         .rule = "what kinds of layers it has was not sampled; `plimsoll estimate --channels-last` reckons a "
                 "model"});
  }

  void neighbour() {
    if (!sm_ || *sm_ >= kSparse.value || !(*sm_ > 0) || waits()) return;
    Improvement beside{.id = "neighbour",
                       .title = "A second job beside it",
                       .why = fmt::format("the SMs are busy {} of the time", share_words(*sm_)),
                       .rule =
                           "two like it do twice the work until the SMs are full; `plimsoll beside` reckons "
                           "with their kernels"};
    beside.gain = std::min(2.0, kCarries.value / *sm_);
    beside.low = 1;
    beside.high = beside.gain;
    beside.of_gpu = true;
    out_.push_back(std::move(beside));
  }

  const RunFigures& figures_;
  Limiter limiter_;
  const GpuRatios& ratios_;
  std::optional<double> kernels_, sm_, tensor_, fp32_;
  std::vector<Improvement> out_;
};

}  // namespace

std::optional<double> gain_of_change(const Improvement& improvement, double samples_of_step) {
  if (samples_of_step > 1 && improvement.high) return std::min(samples_of_step, *improvement.high);
  return improvement.gain;
}

std::vector<Improvement> improvements_of(const RunFigures& figures, const Verdict& verdict,
                                         const GpuRatios& ratios) {
  return Reckoning(figures, verdict, ratios).all();
}

}  // namespace plimsoll::diagnose
