#include "measure/row.hpp"

#include <array>
#include <chrono>

#include <fmt/ranges.h>

#include "base/printable.hpp"
#include "estimate/memory/memory.hpp"
#include "measure/conditions.hpp"
#include "measure/energy.hpp"
#include "network/inference.hpp"
#include "program/lowering.hpp"

namespace plimsoll::measure {
namespace {

using Clock = std::chrono::steady_clock;

bool is_steady(std::string_view phase) {
  return phase == "timing" || phase == "energy" || phase == "scenario";
}

Error error_of(const job::Failure& failure) {
  const auto kind = failure.kind == "bad-input"       ? Error::Kind::bad_input
                    : failure.kind == "machine-lacks" ? Error::Kind::machine_lacks
                                                      : Error::Kind::internal;
  return {failure.message.empty() ? "the engine failed and did not say why" : failure.message, failure.where,
          failure.hint, kind};
}

Error error_of(const job::Unsupported& unsupported) {
  std::vector<std::string> parts;
  for (const job::Unsupported::Item& item : unsupported.operators)
    parts.push_back(fmt::format("{} ({}{})", printable(item.op, 80), item.nodes,
                                item.reason.empty() ? "" : ": " + printable(item.reason, 120)));
  return {fmt::format("the engine cannot execute: {}", fmt::join(parts, ", ")), "",
          "docs/engine.md lists the operators that it can execute."};
}

/// Gathers what the engine says into a row, and looks at the machine at the right moments.
class RowScribe {
 public:
  RowScribe(const job::Job& job, std::int64_t batch, const Instruments& instruments)
      : job_(job), instruments_(instruments), watch_(instruments.nvml) {
    row_.batch = batch;
    if (job.device == "cpu") counter_ = cpu_counter();
  }

  void hear(const job::Answer& answer) {
    std::visit([this](const auto& a) { take(a); }, answer);
  }
  void turn() { watch_.sample(elapsed(), is_steady(phase_)); }

  [[nodiscard]] Row finish() {
    row_.conditions = watch_.finish();
    if (!row_.failure && !row_.does_not_fit && !row_.measured && !row_.latencies)
      row_.failure =
          Error{"said that it is done, but gave no figures", "plimsoll-engine", "", Error::Kind::internal};
    if (row_.measured && !row_.measured->samples.empty())
      row_.seconds = median_of(row_.measured->samples, job_.protocol.confidence);
    if (row_.measured || row_.latencies) {
      row_.doubts = doubts(row_.conditions, job_.device != "cpu");
      doubt_width();
    }
    add_estimate();
    return std::move(row_);
  }
  void fail_with(Error error) { row_.failure = std::move(error); }

 private:
  void take(const job::Hello& hello) {
    row_.hello = hello;
    watch_.greeted(hello);
    if (const auto gpu = watch_.gpu(); gpu && !watch_.sliced())
      counter_ = gpu_counter(*instruments_.nvml, *gpu);
  }
  void take(const job::Unsupported& unsupported) { row_.failure = error_of(unsupported); }
  void take(const job::Failure& failure) { row_.failure = error_of(failure); }
  void take(const job::Prepared& prepared) { row_.prepared = prepared; }
  void take(const job::Context& context) {
    row_.context = context;
    if (!context.device_bytes) row_.context->device_bytes = watch_.engine_bytes();
  }
  void take(const job::Loaded& loaded) { row_.loaded = loaded; }
  void take(const job::Layers& layers) { row_.layers = layers; }
  void take(const job::Measured& measured) {
    row_.measured = measured;
    // The driver's own figure, while the engine is still there: it keeps what it has reserved.
    if (!measured.memory.device_used_bytes) row_.measured->memory.device_used_bytes = watch_.engine_bytes();
    phase_ = "measured";
    turn();
  }
  void take(const job::Latencies& latencies) { row_.latencies = latencies; }
  void take(const job::DoesNotFit& answer) {
    row_.does_not_fit = answer;
    // A GPU so full that not even a context fits: the engine could not ask it for its name.
    if (watch_.gpu()) return;
    job::Hello nameless;
    nameless.device = job_.device;
    watch_.greeted(nameless);
  }
  void take(const job::Progress& progress) {
    phase_ = progress.phase;
    if (instruments_.on_progress) instruments_.on_progress(progress);
    turn();
  }
  void take(const job::Window& window) {
    if (window.begin)
      meter_.begin(counter_.get());
    else
      row_.energy = meter_.end(window);
  }
  void take(const job::Epoch&) {}
  void take(const job::Learned&) {}
  void take(const job::Joined&) {}
  void take(const job::LaidOut&) {}
  void take(const job::Swapped&) {}
  void take(const job::Saved&) {}
  void take(const job::WentOn&) {}
  void take(const job::Tested&) {}
  void take(const job::Sample&) {}
  void take(const job::Point&) {}
  void take(const job::Launch&) {}
  void take(const job::ChainTime&) {}
  void take(const job::Done&) { phase_.clear(); }

  void doubt_width() {
    if (!row_.seconds || !row_.measured || row_.measured->stopped == "narrow") return;
    const auto width = relative_width(*row_.seconds);
    if (width && *width <= job_.protocol.relative_width) return;
    const std::size_t samples = row_.measured->samples.size();
    row_.doubts.push_back(
        width ? fmt::format("the median's interval was still {:.1f} % wide when the {} ran out", 100 * *width,
                            row_.measured->stopped == "samples" ? "number of samples" : "time")
              : fmt::format("{} too few for an interval: a longer --time-limit gives more",
                            samples == 1 ? "1 sample is" : fmt::format("{} samples are", samples)));
  }

  /// Of the CPU nothing is said: its libraries' own memory is in no model yet.
  void add_estimate() {
    const auto gpu = watch_.gpu();
    if (!row_.measured || !gpu || instruments_.machine == nullptr || !job_.setting.checkpoints.empty() ||
        *gpu >= instruments_.machine->gpus.size())
      return;
    const Result<network::Shapes> shapes = network::infer(job_.network, job_.binding);
    if (!shapes) return;
    network::Setting setting = job_.setting;
    // The engine caches in inference only, and only for attention that it recognises.
    setting.key_value_cache &= setting.mode == network::Mode::infer && !setting.literal;
    const estimate::Target target{&instruments_.machine->gpus[*gpu], *gpu < instruments_.curves.size()
                                                                         ? instruments_.curves[*gpu].get()
                                                                         : nullptr};
    const Result<program::Program> program =
        program::lower(job_.network, *shapes, setting, target.platform(setting));
    if (!program) return;
    const auto estimate = estimate::estimate_memory(job_.network, *program, setting, *target.device);
    if (!estimate) return;
    row_.estimate =
        RowEstimate{estimate->peak_allocated, estimate->low, estimate->high, estimate->peak_reserved,
                    estimate->context ? std::optional(estimate->device_used()) : std::nullopt};
  }
  [[nodiscard]] double elapsed() const {
    return std::chrono::duration<double>(Clock::now() - started_).count();
  }

  const job::Job& job_;
  const Instruments& instruments_;
  Clock::time_point started_ = Clock::now();
  ConditionsWatch watch_;
  std::unique_ptr<EnergyCounter> counter_;
  EnergyMeter meter_;
  std::string phase_;
  Row row_;
};

}  // namespace

std::optional<Row> measure_row(const job::Job& job, std::int64_t batch, const Instruments& instruments) {
  RowScribe scribe(job, batch, instruments);
  const Result<EngineEnd> end =
      run_engine(instruments.engine, job, instruments.limits,
                 {.on_answer = [&](const job::Answer& answer) { scribe.hear(answer); },
                  .on_turn = [&] { scribe.turn(); },
                  .interrupted = instruments.interrupted});
  if (end && *end == EngineEnd::interrupted) return std::nullopt;
  if (!end) scribe.fail_with(end.error());
  return scribe.finish();
}

bool energy_can_be_read(std::string_view device, const nvml::Library* library) {
  if (device == "cpu") return cpu_counter() != nullptr;
  const auto count = library != nullptr ? library->device_count() : Result<unsigned>(0);
  for (unsigned gpu = 0; count && gpu < *count; ++gpu)
    if (gpu_counter(*library, gpu)) return true;
  return false;
}

}  // namespace plimsoll::measure
