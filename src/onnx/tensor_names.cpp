#include "onnx/tensor_names.hpp"

#include <fmt/format.h>

namespace plimsoll::onnx {

TensorNames::TensorNames(const network::Network& network) : network_(network) {
  for (const network::Graph& graph : network.graphs) {
    std::unordered_set<std::string_view> used;
    for (const network::TensorId id : graph.inputs) claim(id, used);
    for (const network::TensorId id : graph.weights) claim(id, used);
    for (const network::Operator& op : graph.operators)
      for (const network::TensorId id : network.outputs(op)) claim(id, used);
  }
}

void TensorNames::claim(network::TensorId id, std::unordered_set<std::string_view>& used) {
  if (id == network::kNoTensor) return;
  const std::string_view name = network_.name_of(id);
  if (!name.empty() && used.insert(name).second) return;
  // The id makes it unlike any other made-up name; a name of the model that looks the same is not likely, and
  // the reader would say so.
  const auto [at, added] = changed_.emplace(id, fmt::format("{}~{}", name, static_cast<std::uint32_t>(id)));
  used.insert(at->second);
}

std::string_view TensorNames::of(network::TensorId id) const {
  if (id == network::kNoTensor) return "";
  const auto found = changed_.find(id);
  return found == changed_.end() ? network_.name_of(id) : std::string_view(found->second);
}

}  // namespace plimsoll::onnx
