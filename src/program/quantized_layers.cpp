// Layers between QuantizeLinear and DequantizeLinear on a device that computes with 8-bit numbers: one kernel
// each, from levels to levels.
#include "program/lowering.hpp"

namespace plimsoll::program {

using network::kNoTensor;
using network::Operator;
using network::QuantizedLayer;
using network::TensorId;
using Kind = QuantizedLayer::Kind;

bool Lowering::lower_quantized(std::uint32_t index) {
  if (quantized_.empty()) return false;
  const QuantizedLayer& layer = quantized_[index];
  if (layer.kind == Kind::skipped) return true;
  // What only turns numbers into levels, or back, is a kernel over them as any other.
  if (layer.kind < Kind::convolution) return false;
  op_ = layer.op;
  const TensorId levels = output(network_.main().operators[index], 0);
  if (layer.kind == Kind::sum) {  // its rule would make what the graph says: real numbers
    begin();
    const ValueId made = make(levels, network::DataType::uint8, false);
    kernel(hardware::OperatorClass::binary, network::DataType::uint8, {at(made).elements});
    end({made});
    return true;
  }
  Operator op = network_.main().operators[layer.op];
  if (layer.weight.levels != kNoTensor) op.inputs.count = 2;  // the kernel adds the bias itself
  // The layer reads levels where the graph has it read what they stand for.
  const auto reads = [&](std::size_t i, TensorId read) {
    const TensorId real = input(op, i);
    if (real != kNoTensor && read != kNoTensor) bind(real, value(read));
  };
  const std::vector<ValueId> before = bound_;
  for (std::size_t i = 0; i < layer.inputs.size(); ++i) reads(i, layer.inputs[i].levels);
  if (layer.weight.levels != kNoTensor) reads(1, layer.weight.levels);
  const LoweringRule* rule = op.kind == network::kUnknownKind ? nullptr : lowering_rule(op.kind);
  if (rule == nullptr)
    unruled(op);
  else
    rule->lower(*this, op, *rule);
  const ValueId made = bound_[static_cast<std::size_t>(output(op, 0))];
  for (const TensorId id : network_.inputs(op))
    if (id != kNoTensor) bound_[static_cast<std::size_t>(id)] = before[static_cast<std::size_t>(id)];
  bind(levels, made);
  return true;
}

}  // namespace plimsoll::program
