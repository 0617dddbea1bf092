#pragma once
#include <map>
#include <vector>

#include "quantize/layers.hpp"
#include "quantize/levels.hpp"
#include "quantize/model.hpp"

namespace plimsoll::quantize {

struct Options {
  /// Weights in 7 bits, so that 16-bit sums of two products cannot saturate (x86 without VNNI).
  bool reduced = false;
};

/// The network with these of its layers in eight bits, written as ONNX does (QuantizeLinear and
/// DequantizeLinear around each): int8 weights with a scale per output channel, int32 biases, uint8
/// activations with one scale. `model` is as for_inference gives it, `read` reads its stored tensors.
/// Fails where the range of a tensor that a layer reads or makes is missing.
[[nodiscard]] Result<Model> quantize(const Model& model, const ReadFloats& read,
                                     const std::vector<Layer>& layers,
                                     const std::map<network::TensorId, Range>& ranges,
                                     const Options& options = {});

}  // namespace plimsoll::quantize
