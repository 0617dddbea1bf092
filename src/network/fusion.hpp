#pragma once
#include <cstdint>
#include <vector>

#include "network/inference.hpp"

namespace plimsoll::network {

/// Several operators of an exported graph that are one kernel of the framework that exported it.
struct Fusion {
  enum class Kind : std::uint8_t { none, skipped, attention, gelu, silu, hard_swish, layer_norm, linear };
  Kind kind = Kind::none;
  /// linear: the weight is stored as the framework keeps it, a row per output, and the graph turns it round.
  bool turned = false;
  /// attention: query, key, value; linear: input, weight, bias; others: the input (layer_norm: scale, shift).
  TensorId inputs[3] = {kNoTensor, kNoTensor, kNoTensor};
  /// attention: what is added to the scores; or, where only truth values decide, which scores are allowed.
  TensorId mask = kNoTensor;
  TensorId allowed = kNoTensor;
  /// attention: the numbers that query and key are multiplied by; the scale is their product.
  TensorId scales[2] = {kNoTensor, kNoTensor};
  double epsilon = 0;  ///< layer_norm
};

/// By operator of the main graph: `skipped` for all of a fusion but the last, which carries it.
[[nodiscard]] std::vector<Fusion> recognise(const Network& network, const Shapes& shapes);

}  // namespace plimsoll::network
