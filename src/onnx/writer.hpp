#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>

#include "base/error.hpp"
#include "network/network.hpp"
#include "onnx/model.hpp"

namespace plimsoll::onnx {

/// Gives the contents of a stored tensor, as raw_data holds them.
using WeightSource = std::function<Result<WeightBytes>(network::TensorId)>;

/// Writes a Network as an ONNX file; read() gives an equal one back. With a source the weights are in the
/// file; without, initializers point to external data that is not there, as exporters do with weights left
/// out (small constants, whose contents the Network knows, are always in the file). The file appears whole or
/// not at all.
[[nodiscard]] Status write(const network::Network& network, const WeightSource& weights,
                           const std::filesystem::path& path);

/// Weights of the main graph that lie in a file of their own, which several models may have in common.
struct ExternalWeights {
  std::string location;                               ///< the file, relative to the model's folder
  std::map<network::TensorId, std::int64_t> offsets;  ///< of each tensor that is there
};

/// The same with weights that were, or will be, written elsewhere: initializers point there, and `weights` is
/// asked for the others alone. The file is on disk when this returns.
[[nodiscard]] Status write(const network::Network& network, const WeightSource& weights,
                           const ExternalWeights& external, const std::filesystem::path& path);

/// A model's own weights as a source; the model must outlive it.
[[nodiscard]] WeightSource weights_of(Model& model);

}  // namespace plimsoll::onnx
