#pragma once
#include <cstdint>
#include <vector>

#include "network/network.hpp"

namespace plimsoll::network {

/// Whole numbers and how they are read: what a DequantizeLinear takes.
struct LevelsTensor {
  TensorId levels = kNoTensor, scale = kNoTensor, zero = kNoTensor;
  std::int64_t axis = 1;
};

/// An operator between DequantizeLinear and QuantizeLinear, which can run on eight-bit numbers.
struct QuantizedLayer {
  enum class Kind : std::uint8_t {
    none,
    skipped,      ///< part of another
    quantize,     ///< makes the levels of a tensor by itself
    dequantize,   ///< of an activation, for an operator that takes real numbers
    convolution,  ///< of images
    linear,       ///< Gemm, or MatMul with the Add of a bias
    sum,
    max_pool,
  };
  Kind kind = Kind::none;
  std::uint32_t op = 0;  ///< the Conv, Gemm, MatMul, Add or MaxPool
  std::vector<LevelsTensor> inputs;
  LevelsTensor weight, bias;       ///< convolution, linear
  TensorId real_bias = kNoTensor;  ///< a MatMul's
  bool turned = false;             ///< linear: the weight has a column per output
  /// An activation between the operator and QuantizeLinear: what is below `low` and above `high` is cut.
  bool cut_at_zero = false;
  TensorId low = kNoTensor, high = kNoTensor;
  LevelsTensor output;
};

/// By operator of the main graph; a layer stands at its QuantizeLinear. Levels that these make or read are
/// read by nothing else, so that they may be kept in a form of the library's own.
[[nodiscard]] std::vector<QuantizedLayer> find_quantized_layers(const Network& network);

}  // namespace plimsoll::network
