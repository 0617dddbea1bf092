#include "estimate/training.hpp"

#include <cmath>

namespace plimsoll::estimate {

Result<Steps> steps_of(const TrainingData& data) {
  if (!(data.batch >= 1)) return fail("a batch has at least one sample, not {}", data.batch);
  if (data.tokens && data.samples) return fail("tokens and samples cannot be given together");
  if (data.tokens) {
    if (!(data.sequence >= 1)) return fail("a sequence has at least one token");
    return Steps{std::nullopt, std::ceil(*data.tokens / (data.batch * data.sequence))};
  }
  if (!data.samples) return fail("how much data there is was not given");
  const double per_epoch = std::ceil(*data.samples / data.batch);
  return Steps{per_epoch, std::ceil(per_epoch * data.epochs)};
}

Flops training_flops(double parameters, double tokens, Recomputation recomputation) {
  return Flops((recomputation == Recomputation::full ? 8 : 6) * parameters * tokens);
}

Flops megatron_flops(const Decoder& d, double batch, Recomputation recomputation) {
  // The output layer is not recomputed: its share is 6·B·s·h·V either way.
  const bool again = recomputation == Recomputation::full;
  const double factor = again ? 96 : 72;
  const double head = d.vocabulary / ((again ? 16 : 12) * d.layers * d.hidden);
  return Flops(factor * batch * d.sequence * d.layers * d.hidden * d.hidden *
               (1 + d.sequence / (6 * d.hidden) + head));
}

LongTrainingTime time_of(const LongTraining& training) {
  LongTrainingTime out;
  out.time = training.work / (training.reached * training.devices);
  out.device_hours = out.time / kHour * training.devices;
  if (training.peak) {
    out.hardware_share = training.reached / *training.peak;
    out.model_share = *out.hardware_share * (training.useful / training.work);
  }
  return out;
}

}  // namespace plimsoll::estimate
