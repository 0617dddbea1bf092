#pragma once
#include <cstdint>
#include <optional>

#include "base/error.hpp"
#include "base/units.hpp"

namespace plimsoll::estimate {

/// How much data a training sees.
struct TrainingData {
  std::optional<double> samples = {};  ///< of one epoch
  double epochs = 1;
  std::optional<double> tokens = {};  ///< in all, for language models; then no epochs
  double batch = 1;                   ///< samples of one step, over all devices
  double sequence = 1;                ///< tokens of a sample
};

/// Optimizer steps. The last batch of an epoch is a step even where it is not full, as loaders do by default.
struct Steps {
  std::optional<double> per_epoch = {};
  double all = 0;
};
[[nodiscard]] Result<Steps> steps_of(const TrainingData& data);

/// What the backward pass computes again: nothing, or every activation from the checkpoints of layers.
enum class Recomputation : std::uint8_t { none, full };

/// 6·N·D for a network of N parameters that meets each once per token, over D tokens: 2 per parameter
/// forward, 4 backward (Kaplan et al. 2020). Recomputing everything adds another forward: 8. Attention's own
/// products, which grow with the sequence, are left out; megatron_flops has them.
[[nodiscard]] Flops training_flops(double parameters, double tokens, Recomputation recomputation);

/// A decoder's shape, for the exact count of its training step.
struct Decoder {
  double layers = 0, hidden = 0, sequence = 0, vocabulary = 0;
};
/// Of one step of `batch` sequences (Narayanan et al. 2021): 72·B·s·l·h²·(1 + s/6h + V/12lh), or with full
/// recomputation 96·B·s·l·h²·(1 + s/6h + V/16lh).
[[nodiscard]] Flops megatron_flops(const Decoder& decoder, double batch, Recomputation recomputation);

/// A training whose work is known, on devices that reach a rate somebody measured.
struct LongTraining {
  Flops work;    ///< what is executed, recomputation included
  Flops useful;  ///< the same without it
  double devices = 1;
  FlopsPerSecond reached;                   ///< by each device, counting `work`
  std::optional<FlopsPerSecond> peak = {};  ///< of each device, in the arithmetic used
};
struct LongTrainingTime {
  Seconds time;
  double device_hours = 0;
  std::optional<double> hardware_share = {};  ///< HFU: executed FLOP/s over the peak
  std::optional<double> model_share = {};     ///< MFU: the useful ones over the peak; derived, never assumed
};
[[nodiscard]] LongTrainingTime time_of(const LongTraining& training);

}  // namespace plimsoll::estimate
