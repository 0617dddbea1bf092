#pragma once
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "network/network.hpp"

namespace plimsoll::onnx {

/// The names under which tensors go into a file, where one name may stand for one tensor only. A Network need
/// not keep to that; where two tensors of a graph share a name or have none, the later gets a new one.
class TensorNames {
 public:
  explicit TensorNames(const network::Network& network);
  [[nodiscard]] std::string_view of(network::TensorId id) const;

 private:
  void claim(network::TensorId id, std::unordered_set<std::string_view>& used);

  const network::Network& network_;
  std::unordered_map<network::TensorId, std::string> changed_;
};

}  // namespace plimsoll::onnx
