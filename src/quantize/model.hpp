#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <vector>

#include "base/error.hpp"
#include "network/network.hpp"

namespace plimsoll::quantize {

/// What a stored float32 tensor holds.
using ReadFloats = std::function<Result<std::vector<float>>(network::TensorId)>;

/// A Network that was made from another: its tensors keep their ids, so that what the other stored is read as
/// before; `contents` are of those that were added, as in memory.
struct Model {
  network::Network network;
  std::map<network::TensorId, std::vector<std::byte>> contents;
};

/// Reads what was added from the model, all else by `original`.
[[nodiscard]] ReadFloats floats_of(const Model& model, const ReadFloats& original);

/// The network as inference runs it: Dropout and Identity vanish, BatchNormalization goes into the
/// convolution before it where nothing else reads that one's result. Fails where a network holds 8-bit
/// operators already, or asks for an operator set in which a weight has one scale alone (below 13).
[[nodiscard]] Result<Model> for_inference(const network::Network& network, const ReadFloats& read);

}  // namespace plimsoll::quantize
