// How long the framework's own references hold each tensor in the forward pass.
//
// A module's argument is held by its caller until the module returns, not only until its last use inside:
// `x = self.layer1(x)` keeps the old x while layer1 runs. Exporters name operators by the modules they stand
// in ("/layer1/layer1.0/conv1/Conv"; the zoo writes "layer1.0.conv1"), which tells when that is; without such
// names the last use decides.
#include "network/lifetimes.hpp"

#include <algorithm>
#include <iterator>
#include <span>

#include "network/scopes.hpp"
#include "program/lowering.hpp"

namespace plimsoll::program {
using network::kNoTensor;
using network::TensorId;

void Lowering::set_lifetimes() {
  const auto& operators = network_.main().operators;
  std::vector<bool> makes_calls(operators.size());
  for (std::size_t i = 0; i < operators.size(); ++i) makes_calls[i] = last_call_[i] != kNoCall;
  const network::Scopes scopes(network_, makes_calls);
  std::vector<std::vector<TensorId>> reads(operators.size());
  for (std::size_t i = 0; i < operators.size(); ++i) {
    const bool fused = fusions_[i].kind != Fusion::Kind::none;
    const std::span<const TensorId> inputs =
        fused ? std::span<const TensorId>(fusions_[i].inputs) : network_.inputs(operators[i]);
    if (makes_calls[i])
      std::ranges::copy_if(inputs, std::back_inserter(reads[i]), [](TensorId id) { return id != kNoTensor; });
  }
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
    for (const TensorId id : reads[i]) use(id, i);
  }
  // What the code keeps a name for though nobody reads it any more.
  const std::vector<std::uint32_t> named = network::named_until(network_, makes_calls, reads, scopes);
  for (std::size_t t = 0; t < named.size(); ++t) {
    if (named[t] == network::kHeld || bound_[t] == kNoValue) continue;
    std::uint32_t& last = released[static_cast<std::size_t>(at(bound_[t]).storage)];
    last = std::max(last, last_call_[named[t]]);
  }
  // The result is the caller's; autocast's copies of weights go when its context ends, which is after the
  // loss.
  for (std::size_t i = 0; i < released.size(); ++i)
    if (program_.storages[i].output) released[i] = calls - 1;
  for (const StorageId id : program_.held) released[static_cast<std::size_t>(id)] = calls - 1;
}

}  // namespace plimsoll::program
