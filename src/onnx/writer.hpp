#pragma once
#include <filesystem>
#include <functional>

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

/// A model's own weights as a source; the model must outlive it.
[[nodiscard]] WeightSource weights_of(Model& model);

}  // namespace plimsoll::onnx
