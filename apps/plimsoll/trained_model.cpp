#include "trained_model.hpp"

#include <cmath>
#include <memory>

#include <fmt/format.h>

#include "batches.hpp"
#include "calibrated_device.hpp"
#include "estimate/time/time.hpp"
#include "hardware/this_machine.hpp"
#include "program/lowering.hpp"

namespace plimsoll {
namespace {

/// What the function that estimates steps holds on to.
struct Kept {
  Batches batches;
  CalibratedDevice on;
  network::Setting setting;
};

Result<estimate::StepTime> step_at(const Kept& kept, double local_batch) {
  const Result<network::Shapes> shapes =
      kept.batches.shapes(static_cast<std::int64_t>(std::ceil(local_batch)));
  PLIMSOLL_TRY(shapes);
  const estimate::Target target = kept.on.target();
  const Result<program::Program> program =
      program::lower(kept.batches.network(), *shapes, kept.setting, target.platform(kept.setting));
  PLIMSOLL_TRY(program);
  const Result<estimate::TimeEstimate> time = estimate::estimate_time(*program, kept.setting, target);
  PLIMSOLL_TRY(time);
  return estimate::StepTime{time->forward, time->backward, time->optimizer};
}

}  // namespace

Result<OneDevice> estimated_device(const TrainedModel& training) {
  Result<hardware::Device> device = hardware::device_named(training.device);
  PLIMSOLL_TRY(device);
  InspectOptions options = training.inspect;
  network::Setting& setting = options.setting;
  setting.mode = network::Mode::train;
  Result<Batches> batches = Batches::load(training.model, options);
  PLIMSOLL_TRY(batches);
  const Result<network::Shapes> shapes = batches->shapes(1);
  PLIMSOLL_TRY(shapes);
  const program::Counts counts = batches->count(*shapes);
  OneDevice out;
  out.gradients = Bytes(counts.parameter_sizes.bytes(setting.precision));
  // Catalogues add both directions; a sum uses each.
  if (const auto link = hardware::link_bandwidth(*device)) out.link = *link / 2;
  Result<CalibratedDevice> on =
      with_calibration(*std::move(device), {}, hardware::names_this_machine(training.device));
  PLIMSOLL_TRY(on);
  out.words = fmt::format("Steps of {} estimated on {} by its {} in {} with {}", training.model,
                          on->device.id, on->curves ? "calibration" : "datasheet",
                          network::name(setting.precision), network::name(setting.optimizer));
  if (const network::BoundSymbol* length = network::sequence_of(*shapes)) {
    out.sequence = length->value;
    if (length->assumed)
      out.words += fmt::format(", {} tokens a sequence (assumed; --seq says how many)", length->value);
  }
  // Shared because a StepOf is copied, and what it looks at is large.
  auto kept = std::make_shared<const Kept>(*std::move(batches), *std::move(on), setting);
  out.step_of = [kept](double local_batch) { return step_at(*kept, local_batch); };
  return out;
}

OneDevice measured_device(Seconds step, double batch, double backward_share) {
  OneDevice out;
  out.step_of =
      estimate::proportional({step * (1 - backward_share), step * backward_share, Seconds()}, batch);
  out.words = fmt::format("Time in proportion to the batch, {:.0f} % of it backward", 100 * backward_share);
  return out;
}

}  // namespace plimsoll
