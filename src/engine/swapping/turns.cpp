#include "engine/swapping/turns.hpp"

#include <algorithm>
#include <thread>

#include <c10/core/GradMode.h>

#include "engine/precision.hpp"
#include "engine/swapping/mover.hpp"

namespace plimsoll::engine {
namespace {

using std::chrono::steady_clock;

constexpr double kBetweenTold = 0.5;

/// Computes what has been planned, in the thread that it is made in.
class Computing {
 public:
  Computing(const TurnsQuestion& question, std::span<const std::unique_ptr<SwappedModel>> models,
            BlockMemory& memory, PlannedRuns& runs, steady_clock::time_point start, const Emit& emit)
      : question_(question), models_(models), memory_(memory), runs_(runs), start_(start), emit_(emit) {
    outputs.resize(models.size());
  }

  void compute() {
    bool more = true;
    while (more) {
      const std::shared_ptr<PlannedRun> run = runs_.next(more);
      tell();
      if (run) compute(*run);
    }
  }

  job::Swapped answer;
  std::vector<std::vector<at::Tensor>> outputs;

 private:
  [[nodiscard]] double now() const { return seconds_since(start_); }

  void compute(PlannedRun& run) {
    SwappedModel& model = *models_[run.of.model];
    if (question_.asked.by_clock) wait_for(question_.requests[run.of.request].arrival.value());
    const job::Job& job = model.session.job;
    const c10::NoGradGuard no_gradients;
    set_float32_arithmetic(job.setting.precision);
    const Autocast autocast(job.setting.precision, model.session.device->torch_device());
    Executor& executor = *model.session.executor;
    bool whole = true;
    executor.run_main = [&] { whole = compute_layers(run, model); };
    std::vector<at::Tensor> given = on_host(executor.run(model.inputs));
    executor.run_main = {};
    if (!whole) return;
    const double finish = now();
    runs_.finish(run, Seconds(finish));
    answer.frames.push_back(
        {.frame = static_cast<std::int64_t>(run.of.request), .begin = run.began->value(), .finish = finish});
    if (!std::ranges::equal(given, model.expected, same_bits)) ++answer.outputs_differing;
    outputs[run.of.model] = std::move(given);
  }

  bool compute_layers(PlannedRun& run, SwappedModel& model) {
    std::size_t begin = 0;
    for (std::size_t layer = 0; layer < model.layers.size(); ++layer) {
      if (!runs_.wait_there(run, layer)) return false;
      if (run.copied[layer]) run.copied[layer]->hold_computing();
      if (layer == 0) runs_.begin(run, Seconds(now()));
      model.session.executor->run_instructions(begin, model.layers[layer].end);
      begin = model.layers[layer].end;
      runs_.compute(run, memory_.computed());
    }
    return true;
  }

  void wait_for(double arrival) {
    for (double left = arrival - now(); left > 0; left = arrival - now()) {
      std::this_thread::sleep_for(std::chrono::duration<double>(std::min(left, kBetweenTold)));
      tell();
    }
  }

  void tell() {
    if (now() - told_ < kBetweenTold || question_.requests.empty()) return;
    told_ = now();
    const double last = question_.requests.back().arrival.value();
    const double done = question_.asked.by_clock ? now() / std::max(last, now())
                                                 : static_cast<double>(answer.frames.size()) /
                                                       static_cast<double>(question_.requests.size());
    emit_(job::Progress{.phase = "frames", .done = std::clamp(done, 0.0, 1.0), .seconds_left = {}});
  }

  const TurnsQuestion& question_;
  std::span<const std::unique_ptr<SwappedModel>> models_;
  BlockMemory& memory_;
  PlannedRuns& runs_;
  steady_clock::time_point start_;
  const Emit& emit_;
  double told_ = 0;
};

}  // namespace

job::Swapped take_turns(const TurnsQuestion& question, std::span<const std::unique_ptr<SwappedModel>> models,
                        BlockMemory& memory, const Emit& emit,
                        std::vector<std::vector<at::Tensor>>& outputs) {
  memory.count_anew();
  Device& device = *models.front()->session.device;
  device.synchronize();
  const std::int64_t before = device.allocated_bytes();
  device.reset_peaks();
  PlannedRuns runs;
  const auto start = steady_clock::now();
  Mover mover(question, memory, runs, start);
  Computing computing(question, models, memory, runs, start, emit);
  {
    const std::jthread moving([&] {
      try {
        mover.move();
      } catch (...) {
        runs.fail(std::current_exception());
      }
    });
    try {
      computing.compute();
    } catch (...) {
      runs.fail(std::current_exception());
    }
  }
  runs.rethrow();
  job::Swapped& answer = computing.answer;
  answer.elapsed = seconds_since(start);
  const BlockMemory::Usage& usage = memory.usage();
  answer.moved_bytes = usage.copied;
  answer.peak_bytes = usage.peak;
  answer.copies = usage.copies;
  answer.copying_seconds = usage.copying;
  answer.decided_bytes = question.packed.bytes(mover.account().blocks).count();
  answer.decided_peak_bytes = question.packed.bytes(mover.account().most_taken).count();
  answer.activation_bytes = device.memory().peak_allocated_bytes - before;
  outputs = std::move(computing.outputs);
  return std::move(answer);
}

}  // namespace plimsoll::engine
