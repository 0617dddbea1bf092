#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/units.hpp"

namespace plimsoll::swapping {

/// What is computed at once, and the tensors that must be there by then.
struct Layer {
  std::vector<std::size_t> tensors;  ///< in Models::tensors
  Seconds seconds;
};

struct Model {
  std::string name;
  std::vector<Layer> layers;  ///< in the order in which they run
  Bytes activations;          ///< beside its weights, while it runs
};

/// Models and what they hold. Those that name one tensor share it: the same bytes, held once.
struct Models {
  std::vector<Bytes> tensors;
  std::vector<Model> models;
};

/// The same where each model has its own copy of what is shared.
[[nodiscard]] Models apart(const Models& models);

/// All weights, each tensor once.
[[nodiscard]] Bytes weights_of(const Models& models);

/// A layer of a model that needs something.
struct Use {
  std::size_t model = 0, layer = 0;
  friend auto operator<=>(const Use&, const Use&) = default;
};

/// Blocks that the same layers need: whichever of them is told apart, each is as good as the others.
struct Chunk {
  std::int64_t blocks = 0;
  std::vector<Use> uses;   ///< ascending
  std::int64_t first = 0;  ///< of its blocks, among all: chunks lie one after the other
};

struct PackedLayer {
  std::vector<std::size_t> chunks;  ///< ascending
  Seconds seconds;
};

struct PackedModel {
  std::string name;
  std::vector<PackedLayer> layers;
  std::vector<std::size_t> chunks;  ///< of all its layers, ascending, each once
  std::int64_t blocks = 0;
  [[nodiscard]] Seconds seconds() const;
};

/// Weights as blocks of equal size, which are what is moved and what memory is counted in.
struct Packed {
  Bytes block;
  std::vector<Chunk> chunks;
  std::vector<PackedModel> models;
  Bytes activations;  ///< of the model that needs most
  std::int64_t blocks = 0;
  std::vector<Bytes> places;                         ///< where each tensor begins, from the first block on
  [[nodiscard]] std::int64_t largest_model() const;  ///< blocks
  [[nodiscard]] std::int64_t largest_layer() const;  ///< blocks
  [[nodiscard]] Bytes bytes(std::int64_t of_blocks) const { return block * of_blocks; }
};

/// Tensors lie one after the other in the order in which they are first needed, those of the same models
/// together, and are cut into blocks: a block may hold ends of several, and only the last of each such row is
/// not full. `block` is positive; where it is a multiple of `alignment`, so is where each tensor begins.
[[nodiscard]] Packed pack(const Models& models, Bytes block, Bytes alignment = Bytes(1));

/// What kernels read begins at a multiple of this, as the allocators of devices have it.
inline constexpr Bytes kTensorAlignment{512};

}  // namespace plimsoll::swapping
