// How long the framework's own references hold each tensor in the forward pass.
//
// A module's argument is held by its caller until the module returns, not only until its last use inside:
// `x = self.layer1(x)` keeps the old x while layer1 runs. Exporters name operators by the modules they stand
// in ("/layer1/layer1.0/conv1/Conv"; the zoo writes "layer1.0.conv1"), which tells when that is; without such
// names the last use decides.
#include <algorithm>
#include <string_view>
#include <unordered_map>

#include "estimate/memory/lowering.hpp"

namespace plimsoll::estimate {
namespace {

using network::kNoTensor;
using network::TensorId;

/// The tree of modules, by the names of operators.
class Scopes {
 public:
  Scopes(const network::Network& network, std::span<const std::uint32_t> last_call) {
    const auto& operators = network.main().operators;
    of_.resize(operators.size());
    for (std::size_t i = 0; i < operators.size(); ++i)
      if (last_call[i] != 0xffffffff) of_[i] = find(network.name_of(operators[i]));
  }

  [[nodiscard]] std::uint32_t of(std::uint32_t op) const { return of_[op]; }
  [[nodiscard]] std::uint32_t parent(std::uint32_t scope) const { return scopes_[scope].parent; }
  [[nodiscard]] std::size_t size() const { return scopes_.size(); }

  /// The outermost scope around `inner` that is not also around `outside`; 0 where there is none.
  [[nodiscard]] std::uint32_t entered(std::uint32_t inner, std::uint32_t outside) const {
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

 private:
  struct Scope {
    std::uint32_t parent = 0;
    std::uint32_t depth = 0;
  };

  /// The scope of an operator: the path before its own name, or a dotted name as a whole.
  std::uint32_t find(std::string_view name) {
    if (!name.starts_with('/')) return name.contains('.') ? of_path(name, '.') : 0;
    const std::size_t end = name.rfind('/');
    return end == 0 ? 0 : of_path(name.substr(0, end), '/');
  }

  /// Modules nest a dozen deep; what is deeper belongs to its ancestor.
  std::uint32_t of_path(std::string_view path, char separator) {
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

  static constexpr std::uint32_t kDeepest = 32;
  std::vector<Scope> scopes_{Scope{}};
  std::vector<std::uint32_t> of_;
  std::unordered_map<std::string_view, std::uint32_t> by_path_;  // views of the network's own text
};

}  // namespace

void Lowering::set_lifetimes() {
  const auto& operators = network_.main().operators;
  const Scopes scopes(network_, last_call_);
  const auto calls = static_cast<std::uint32_t>(program_.calls.size());
  std::vector<std::uint32_t>& released = program_.released;
  released.resize(program_.storages.size());
  // What an operator makes lives at least as long as the operator.
  for (std::size_t i = 0; i < released.size(); ++i) {
    const std::uint32_t op = made_by_[i];
    released[i] = op < last_call_.size() && last_call_[op] != kNoCall ? last_call_[op] : calls - 1;
  }
  if (program_.calls.empty()) return;

  std::vector<std::uint32_t> run_end(scopes.size(), 0);  // last call of the scope's present run, from behind
  std::vector<std::uint32_t> seen_by(scopes.size(), kNoCall);  // operator that was last found in it
  std::uint32_t following = kNoCall;
  const auto use = [&](TensorId id, std::uint32_t op) {
    if (id == kNoTensor) return;
    const ValueId v = bound_[static_cast<std::size_t>(id)];
    if (v == kNoValue) return;
    const auto storage = static_cast<std::size_t>(at(v).storage);
    const std::uint32_t maker = made_by_[storage];
    const std::uint32_t entered =
        maker < operators.size() ? scopes.entered(scopes.of(op), scopes.of(maker)) : 0;
    released[storage] = std::max(released[storage], entered != 0 ? run_end[entered] : last_call_[op]);
  };
  for (auto i = static_cast<std::uint32_t>(operators.size()); i-- > 0;) {
    if (last_call_[i] == kNoCall) continue;
    for (std::uint32_t s = scopes.of(i); s != 0; s = scopes.parent(s)) {
      if (following == kNoCall || seen_by[s] != following) run_end[s] = last_call_[i];
      seen_by[s] = i;
    }
    following = i;
    if (fusions_[i].kind != Fusion::Kind::none) {
      for (const TensorId id : fusions_[i].inputs) use(id, i);
    } else {
      for (const TensorId id : network_.inputs(operators[i])) use(id, i);
    }
  }
  // The result is the caller's; autocast's copies of weights go when its context ends, which is after the
  // loss.
  for (std::size_t i = 0; i < released.size(); ++i)
    if (program_.storages[i].output) released[i] = calls - 1;
  for (const StorageId id : program_.held) released[static_cast<std::size_t>(id)] = calls - 1;
}

}  // namespace plimsoll::estimate
