#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.hpp"
#include "network/network.hpp"

/// Many models in the memory of few: which weights they can have in common.
namespace plimsoll::plan::merge {

enum class LayerKind : std::uint8_t { convolution, linear, normalization, embedding, recurrent };
[[nodiscard]] std::string_view name(LayerKind kind);

/// An operator with the weights that it reads; a product with the addition of its bias is one layer.
struct Layer {
  std::string name = {};
  LayerKind kind = LayerKind::linear;
  /// All that must be equal for two layers to do with one set of weights: "Conv 64x3x7x7 pads=3,3,3,3".
  std::string definition = {};
  std::vector<std::size_t> tensors = {};  ///< in Model::tensors
  Bytes bytes = {};
  bool head = false;  ///< the last layer before an output: what makes the network's task its own
};

struct StoredTensor {
  network::TensorId id = network::kNoTensor;
  std::string name = {};
  Bytes bytes = {};
  /// It may lie in a file of its own: an initializer of the main graph, and none whose contents shapes depend
  /// on.
  bool movable = false;
};

/// What merging needs to know of a network: a plain value.
struct Model {
  std::string name = {};
  std::vector<StoredTensor> tensors = {};  ///< all that is stored with it, each once
  std::vector<Layer> layers = {};  ///< in the order in which they run; layers of the same tensors once
  Bytes bytes = {};                ///< of all tensors
};
[[nodiscard]] Model describe(std::string name, const network::Network& network);

}  // namespace plimsoll::plan::merge
