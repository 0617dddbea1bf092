#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "network/network.hpp"

namespace plimsoll::quantize {

/// A convolution or matrix product with a stored float32 weight, which can run in eight bits.
struct Layer {
  enum class Kind : std::uint8_t { convolution, gemm, product };
  Kind kind = Kind::convolution;
  std::uint32_t op = 0;  ///< in the main graph
  std::string name;
  network::TensorId input = network::kNoTensor;
  network::TensorId weight = network::kNoTensor;  ///< the stored tensor
  bool turned = false;                            ///< the product reads it the other way round
  network::TensorId bias = network::kNoTensor;    ///< the stored tensor of a convolution or Gemm
  /// What stands at the end of it: after its bias, and after an activation that cutting off is (Relu, Clip).
  network::TensorId output = network::kNoTensor;
  std::int64_t parameters = 0;
};

/// In the order in which they run. Of a network as for_inference gives it.
[[nodiscard]] std::vector<Layer> find_layers(const network::Network& network);

/// Tensors whose ranges must be known: what the layers read and make.
[[nodiscard]] std::vector<network::TensorId> tensors_of(const std::vector<Layer>& layers);

}  // namespace plimsoll::quantize
