#pragma once
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "network/network.hpp"

namespace plimsoll::network {

/// The tree of modules that a framework ran, by the names of the main graph's operators: exporters name them
/// by the modules they stand in ("/layer1/layer1.0/conv1/Conv"; the zoo writes "layer1.0.conv1"). Scope 0 is
/// around all. Views are of the network's own text.
class Scopes {
 public:
  /// Only the operators that are `executed` have a scope of their own; the others are in scope 0.
  Scopes(const Network& network, const std::vector<bool>& executed);

  [[nodiscard]] std::uint32_t of(std::uint32_t op) const { return of_[op]; }
  [[nodiscard]] std::uint32_t parent(std::uint32_t scope) const { return scopes_[scope].parent; }
  [[nodiscard]] std::size_t size() const { return scopes_.size(); }
  /// The outermost scope around `inner` that is not also around `outside`; 0 where there is none.
  [[nodiscard]] std::uint32_t entered(std::uint32_t inner, std::uint32_t outside) const;

 private:
  struct Scope {
    std::uint32_t parent = 0;
    std::uint32_t depth = 0;
  };
  std::uint32_t find(std::string_view name);
  std::uint32_t of_path(std::string_view path, char separator);

  std::vector<Scope> scopes_{Scope{}};
  std::vector<std::uint32_t> of_;
  std::unordered_map<std::string_view, std::uint32_t> by_path_;
};

}  // namespace plimsoll::network
