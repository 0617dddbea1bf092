#pragma once
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <utility>

#include "base/error.hpp"
#include "network/binding.hpp"
#include "network/inference.hpp"
#include "network/zoo/zoo.hpp"
#include "onnx/reader.hpp"
#include "program/count.hpp"

/// The path from a model to its counts that the commands take, without the commands.
namespace plimsoll::integration {

/// The data that stand beside the project, or where PLIMSOLL_SHARED says.
inline std::filesystem::path shared() {
  const char* given = std::getenv("PLIMSOLL_SHARED");
  return given != nullptr && *given != '\0' ? std::filesystem::path(given)
                                            : std::filesystem::path(PLIMSOLL_SOURCE_DIR) / "../shared";
}

struct Inspected {
  network::Network network;
  network::Shapes shapes;
  program::Counts counts;
};

inline Result<Inspected> inspect(network::Network network, const network::BindingRequest& request = {},
                                 const program::Conventions& conventions = {}) {
  const Result<network::Binding> binding = network::bind(network, request);
  if (!binding) return std::unexpected(binding.error());
  Result<network::Shapes> shapes = network::infer(network, *binding);
  if (!shapes) return std::unexpected(shapes.error());
  program::Counts counts = program::count(network, *shapes, conventions);
  return Inspected{std::move(network), std::move(*shapes), std::move(counts)};
}

inline Result<Inspected> inspect_file(const std::filesystem::path& path,
                                      const network::BindingRequest& request = {}) {
  Result<onnx::Model> model = onnx::read(path);
  if (!model) return std::unexpected(model.error());
  return inspect(std::move(model->network), request);
}

inline Result<Inspected> inspect_zoo(std::string_view spec, network::Mode mode = network::Mode::infer,
                                     const network::BindingRequest& request = {},
                                     const program::Conventions& conventions = {}) {
  Result<network::Network> built = network::zoo::build(spec, mode);
  if (!built) return std::unexpected(built.error());
  return inspect(std::move(*built), request, conventions);
}

}  // namespace plimsoll::integration
