#include "network/lifetimes.hpp"

#include <algorithm>
#include <span>

namespace plimsoll::network {
namespace {

/// Who reads a tensor of the main graph.
struct Readers {
  std::uint32_t first = kHeld, last = kHeld;
};

std::vector<Readers> readers_of(const Network& network, const std::vector<bool>& executed,
                                const std::vector<std::vector<TensorId>>& reads) {
  std::vector<Readers> readers(network.tensors.size());
  for (std::uint32_t i = 0; i < reads.size(); ++i) {
    if (!executed[i]) continue;
    for (const TensorId id : reads[i]) {
      Readers& r = readers[static_cast<std::size_t>(id)];
      if (r.first == kHeld) r.first = i;
      r.last = i;
    }
  }
  return readers;
}

/// The module whose code an operator stands in: the zoo gives an operator of the code itself a name of its
/// own ("denselayer2.concat"), exporters the module's path.
std::uint32_t module_of(const Network& network, const Scopes& scopes, std::uint32_t op) {
  const bool path = network.name_of(network.main().operators[op]).starts_with('/');
  return path ? scopes.of(op) : scopes.parent(scopes.of(op));
}

bool is_within(const Scopes& scopes, std::uint32_t scope, std::uint32_t module) {
  while (scope != 0 && scope != module) scope = scopes.parent(scope);
  return scope == module;
}

}  // namespace

std::vector<std::uint32_t> named_until(const Network& network, const std::vector<bool>& executed,
                                       const std::vector<std::vector<TensorId>>& reads,
                                       const Scopes& scopes) {
  const auto& operators = network.main().operators;
  const std::vector<Readers> readers = readers_of(network, executed, reads);
  std::vector<std::uint32_t> until(network.tensors.size(), kHeld);
  for (std::uint32_t i = 0; i < operators.size(); ++i) {
    if (!executed[i] || network.type_of(operators[i]) != "Concat") continue;
    const std::uint32_t module = module_of(network, scopes, i);
    const bool parts_live_on = std::ranges::all_of(
        reads[i], [&](TensorId part) { return readers[static_cast<std::size_t>(part)].last > i; });
    if (module == 0 || !parts_live_on) continue;
    const TensorId whole = network.outputs(operators[i])[0];
    TensorId made = whole;
    while (made != kNoTensor) {
      const Readers& r = readers[static_cast<std::size_t>(made)];
      if (r.first == kHeld || r.first != r.last || !is_within(scopes, scopes.of(r.first), module)) break;
      until[static_cast<std::size_t>(whole)] = r.first;
      made = network.outputs(operators[r.first])[0];
    }
  }
  return until;
}

std::vector<std::uint32_t> released_after(const Network& network, const std::vector<bool>& executed,
                                          const std::vector<std::vector<TensorId>>& reads) {
  const Graph& graph = network.main();
  const Scopes scopes(network, executed);
  std::vector<std::uint32_t> released(network.tensors.size(), kHeld), maker(network.tensors.size(), kHeld);
  const auto count = static_cast<std::uint32_t>(graph.operators.size());
  for (std::uint32_t i = 0; i < count; ++i) {
    if (!executed[i]) continue;
    for (const TensorId id : network.outputs(graph.operators[i]))
      if (id != kNoTensor) released[static_cast<std::size_t>(id)] = maker[static_cast<std::size_t>(id)] = i;
  }
  std::vector<std::uint32_t> run_end(scopes.size(),
                                     0);  // last operator of the scope's present run, from behind
  std::vector<std::uint32_t> seen_by(scopes.size(), kHeld);
  std::uint32_t following = kHeld;
  for (std::uint32_t i = count; i-- > 0;) {
    if (!executed[i]) continue;
    for (std::uint32_t s = scopes.of(i); s != 0; s = scopes.parent(s)) {
      if (following == kHeld || seen_by[s] != following) run_end[s] = i;
      seen_by[s] = i;
    }
    following = i;
    for (const TensorId id : reads[i]) {
      const std::uint32_t made = maker[static_cast<std::size_t>(id)];
      if (made == kHeld) continue;
      const std::uint32_t entered = scopes.entered(scopes.of(i), scopes.of(made));
      std::uint32_t& end = released[static_cast<std::size_t>(id)];
      end = std::max(end, entered != 0 ? run_end[entered] : i);
    }
  }
  const std::vector<std::uint32_t> named = named_until(network, executed, reads, scopes);
  for (std::size_t i = 0; i < released.size(); ++i)
    if (named[i] != kHeld && released[i] != kHeld) released[i] = std::max(released[i], named[i]);
  for (const TensorId id : graph.outputs) released[static_cast<std::size_t>(id)] = kHeld;
  return released;
}

}  // namespace plimsoll::network
