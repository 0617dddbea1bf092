#include "network/scopes.hpp"

namespace plimsoll::network {
namespace {

constexpr std::uint32_t kDeepest = 32;  // modules nest a dozen deep; what is deeper belongs to its ancestor

}  // namespace

Scopes::Scopes(const Network& network, const std::vector<bool>& executed) {
  const auto& operators = network.main().operators;
  of_.resize(operators.size());
  for (std::size_t i = 0; i < operators.size(); ++i)
    if (executed[i]) of_[i] = find(network.name_of(operators[i]));
}

std::uint32_t Scopes::entered(std::uint32_t inner, std::uint32_t outside) const {
  std::uint32_t a = inner, b = outside, last = 0;
  while (scopes_[a].depth > scopes_[b].depth) {
    last = a;
    a = scopes_[a].parent;
  }
  while (scopes_[b].depth > scopes_[a].depth) b = scopes_[b].parent;
  while (a != b) {
    last = a;
    a = scopes_[a].parent;
    b = scopes_[b].parent;
  }
  return last;
}

/// The scope of an operator: the path before its own name, or a dotted name as a whole.
std::uint32_t Scopes::find(std::string_view name) {
  if (!name.starts_with('/')) return name.contains('.') ? of_path(name, '.') : 0;
  const std::size_t end = name.rfind('/');
  return end == 0 ? 0 : of_path(name.substr(0, end), '/');
}

std::uint32_t Scopes::of_path(std::string_view path, char separator) {
  if (const auto it = by_path_.find(path); it != by_path_.end()) return it->second;
  std::uint32_t parent = 0;
  std::uint32_t depth = 0;
  for (std::size_t end = path.find(separator, 1); depth < kDeepest; end = path.find(separator, end + 1)) {
    const std::string_view prefix = path.substr(0, end);
    const auto [it, made] = by_path_.try_emplace(prefix, static_cast<std::uint32_t>(scopes_.size()));
    if (made) scopes_.push_back({parent, depth + 1});
    parent = it->second;
    ++depth;
    if (end == std::string_view::npos) break;
  }
  return parent;
}

}  // namespace plimsoll::network
