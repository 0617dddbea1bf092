// Normalization: BatchNorm, LayerNorm, GroupNorm, InstanceNorm.
#include <algorithm>

#include "network/saturating.hpp"
#include "program/lowering.hpp"
#include "program/views.hpp"

namespace plimsoll::program {
namespace {

using hardware::Direction;
using hardware::OperatorClass;
using network::DataType;
using network::Operator;
using network::TensorId;

void lower_batch_norm(Lowering& l, const Operator& op, const LoweringRule&) {
  const ValueId x = l.value(l.input(op, 0)), scale = l.value(l.input(op, 1)), shift = l.value(l.input(op, 2));
  if (x == kNoValue) return;
  const bool gradient = l.needs_gradient(x) || l.needs_gradient(scale);
  l.begin();
  const ValueId y = l.make(l.output(op, 0), l.at(x).type, gradient);
  l.lay_out_like(y, x);
  l.save(x);
  l.save(scale);
  // Exports by torch.export write BatchNorm as in evaluation; in a training step it still gathers statistics.
  if (l.training()) {
    const std::int64_t channels = l.at(x).rank > 1 ? l.at(x).dims[1] : 1;
    l.save(l.make_hidden(channels, DataType::float32));
    l.save(l.make_hidden(channels, DataType::float32));
  }
  const std::int64_t channels = l.at(x).rank > 1 ? std::max<std::int64_t>(l.at(x).dims[1], 1) : 1;
  const Lowering::Extents extents = {l.at(x).dims[0], channels, positions(l.at(x))};
  const auto laid_out = [&](OperatorClass c) {
    return l.platform().gpu && is_channels_last(l.at(x)) ? channels_last(c) : c;
  };
  if (l.training()) {
    l.kernel(OperatorClass::unary, DataType::int64, {1});  // how many batches it has seen
    l.kernel(laid_out(OperatorClass::batch_norm_training), l.at(x).type, extents);
  } else {
    l.kernel(laid_out(OperatorClass::batch_norm), l.at(x).type, extents);
  }
  l.backward_kernel(l.needs_gradient(x) ? x : scale, laid_out(OperatorClass::batch_norm_training),
                    Direction::backward_input, l.at(x).type, extents);
  l.backward_gradient(x);
  l.backward_gradient(scale);
  l.backward_gradient(shift);
  l.end({y});
}

void lower_layer_norm_row(Lowering& l, const Operator& op, const LoweringRule&) {
  lower_layer_norm(l, l.input(op, 0), l.input(op, 1), l.input(op, 2), l.output(op, 0));
}

/// Statistics over each group of channels of a sample.
void lower_group_norm(Lowering& l, const Operator& op, const LoweringRule&) {
  ValueId x = l.value(l.input(op, 0));
  const ValueId scale = l.value(l.input(op, 1)), shift = l.value(l.input(op, 2));
  if (x == kNoValue) return;
  x = l.cast(x, l.full_type(l.at(x).type));
  x = l.contiguous(x);
  l.begin();
  const ValueId y = l.make(l.output(op, 0), l.at(x).type, l.needs_gradient(x) || l.needs_gradient(scale));
  const Value& v = l.at(x);
  const std::int64_t batch = v.rank > 0 ? v.dims[0] : 1, channels = v.rank > 1 ? v.dims[1] : 1;
  const std::int64_t groups = std::max<std::int64_t>(l.integer(op, "num_groups", 1), 1);
  const Lowering::Extents extents = {batch, channels, positions(v), groups};
  l.kernel(OperatorClass::group_norm, v.type, extents);
  l.backward_kernel(l.needs_gradient(x) ? x : scale, OperatorClass::group_norm, Direction::backward_input,
                    v.type, extents);
  // The mean and the reciprocal deviation of each group.
  const DataType type = v.type;
  const ValueId mean = l.make_hidden(network::product(batch, groups), type),
                deviation = l.make_hidden(network::product(batch, groups), type);
  for (const ValueId kept : {x, scale, mean, deviation}) l.save(kept);
  l.backward_gradient(x);
  l.backward_gradient(scale);
  l.backward_gradient(shift);
  l.end({y});
}

/// Runs as BatchNorm with the statistics of this very pass, over one sample of batch x channels channels; its
/// weights are repeated for each sample.
void lower_instance_norm(Lowering& l, const Operator& op, const LoweringRule&) {
  ValueId x = l.value(l.input(op, 0));
  const ValueId scale = l.value(l.input(op, 1)), shift = l.value(l.input(op, 2));
  if (x == kNoValue) return;
  x = l.contiguous(x);
  l.begin();
  const ValueId y = l.make(l.output(op, 0), l.at(x).type, l.needs_gradient(x) || l.needs_gradient(scale));
  const Value v = l.at(x);
  const std::int64_t channels =
      network::product(v.rank > 0 ? v.dims[0] : 1, v.rank > 1 ? std::max<std::int64_t>(v.dims[1], 1) : 1);
  const Lowering::Extents extents = {1, channels, positions(v)};
  std::vector<ValueId> kept = {x};
  for (const ValueId weight : {scale, shift})
    if (weight != kNoValue) {
      kept.push_back(l.make_hidden(channels, l.at(weight).type));
      l.kernel(OperatorClass::copy, l.at(weight).type, {channels});
    }
  for (int i = 0; i < 2; ++i) kept.push_back(l.make_hidden(channels, DataType::float32));
  l.kernel(OperatorClass::batch_norm_training, v.type, extents);
  l.backward_kernel(l.needs_gradient(x) ? x : scale, OperatorClass::batch_norm_training,
                    Direction::backward_input, v.type, extents);
  for (const ValueId id : kept) l.save(id);
  l.backward_gradient(x);
  l.backward_gradient(scale);
  l.backward_gradient(shift);
  l.end({y});
}

constexpr LoweringRule kNormalizationRules[] = {
    {"BatchNormalization", lower_batch_norm},
    {"GroupNormalization", lower_group_norm, CastPolicy::full},
    {"InstanceNormalization", lower_instance_norm},
    {"LayerNormalization", lower_layer_norm_row, CastPolicy::full},
    {"RMSNormalization", lower_layer_norm_row, CastPolicy::full},
};

}  // namespace

void lower_layer_norm(Lowering& l, TensorId input, TensorId scale, TensorId shift, TensorId output) {
  ValueId x = l.value(input);
  const ValueId g = l.value(scale), b = l.value(shift);
  if (x == kNoValue) return;
  x = l.cast(x, l.full_type(l.at(x).type));
  x = l.contiguous(x);
  l.begin();
  const ValueId y = l.make(output, l.at(x).type, l.needs_gradient(x) || l.needs_gradient(g));
  if (l.training()) {
    const std::int64_t width = g == kNoValue ? 1 : std::max<std::int64_t>(l.at(g).elements, 1);
    const std::int64_t rows = l.at(x).elements / width;
    l.save(l.make_hidden(rows, DataType::float32));
    l.save(l.make_hidden(rows, DataType::float32));
  }
  const std::int64_t scale_width = g == kNoValue ? 1 : std::max<std::int64_t>(l.at(g).elements, 1);
  const Lowering::Extents extents = {l.at(x).elements / scale_width, scale_width};
  l.kernel(OperatorClass::layer_norm, l.at(x).type, extents);
  l.backward_kernel(l.needs_gradient(x) ? x : g, OperatorClass::layer_norm, Direction::backward_input,
                    l.at(x).type, extents);
  l.save(x);
  l.save(g);
  l.backward_gradient(x);
  l.backward_gradient(g);
  l.backward_gradient(b);
  l.end({y});
}

std::span<const LoweringRule> normalization_rules() {
  return kNormalizationRules;
}

}  // namespace plimsoll::program
