#include "program/stages.hpp"

#include <algorithm>
#include <span>

#include "network/saturating.hpp"

namespace plimsoll::program {
namespace {

std::vector<std::uint32_t> made_by(const Program& program) {
  std::vector<std::uint32_t> out(program.storages.size(), 0xffffffff);
  for (std::uint32_t i = 0; i < program.calls.size(); ++i)
    for (const Action& action : program.slice(program.calls[i].forward))
      if (action.kind == ActionKind::output) {
        std::uint32_t& made = out[static_cast<std::size_t>(program.value(action.value).storage)];
        made = std::min(made, i);
      }
  return out;
}

/// What the next stage reads: made before `call`, and used from there on. Autocast's copies of weights, and a
/// cache, are held to the end by their own stage and read by no other.
bool crosses(const Program& program, std::size_t storage, std::uint32_t made, std::uint32_t call,
             const std::vector<bool>& held) {
  return made < call && program.released[storage] >= call && !held[storage];
}

std::vector<bool> held_storages(const Program& program) {
  std::vector<bool> out(program.storages.size(), false);
  for (const StorageId id : program.held) out[static_cast<std::size_t>(id)] = true;
  return out;
}

/// The last value on each storage that needs a gradient; kNoValue where none does.
std::vector<ValueId> gradient_values(const Program& program) {
  std::vector<ValueId> out(program.storages.size(), kNoValue);
  for (std::uint32_t i = 0; i < program.values.size(); ++i)
    if (program.values[i].needs_gradient && !program.values[i].parameter)
      out[static_cast<std::size_t>(program.values[i].storage)] = static_cast<ValueId>(i);
  return out;
}

}  // namespace

std::vector<std::uint32_t> cuts_between_layers(const Program& program) {
  std::vector<std::uint32_t> out;
  for (std::size_t i = 1; i < program.layers.size(); ++i) out.push_back(program.layers[i].first);
  return out;
}

Crossing crossing(const Program& program, std::uint32_t call) {
  Crossing out;
  const std::vector<std::uint32_t> made = made_by(program);
  const std::vector<bool> held = held_storages(program);
  const std::vector<ValueId> gradient = gradient_values(program);
  for (std::size_t i = 0; i < made.size(); ++i) {
    if (!crosses(program, i, made[i], call, held)) continue;
    out.storages.push_back(static_cast<StorageId>(i));
    out.bytes = network::sum(out.bytes, program.storages[i].bytes);
    if (gradient[i] != kNoValue)
      out.gradient_bytes = network::sum(out.gradient_bytes, program.storages[i].bytes);
  }
  return out;
}

Program stage(const Program& whole, std::uint32_t first, std::uint32_t end) {
  Program p = whole;
  const std::vector<bool> held = held_storages(whole);
  const std::vector<std::uint32_t> made = made_by(whole);
  const auto calls = static_cast<std::uint32_t>(whole.calls.size());
  end = std::min(end, calls);
  p.calls.assign(whole.calls.begin() + first, whole.calls.begin() + end);
  const bool last = end == calls;

  // Weights of these layers, buffers and constants, and what comes in.
  std::vector<bool> used(whole.storages.size(), false), parameter(whole.storages.size(), false);
  p.layers.clear();
  for (Layer layer : whole.layers) {
    if (layer.first < first || layer.first >= end) continue;
    for (const StorageId id : std::span(whole.weights_of).subspan(layer.weights.begin, layer.weights.count))
      used[static_cast<std::size_t>(id)] = true;
    layer.first -= first;
    layer.last = std::min(layer.last, end - 1) - first;
    p.layers.push_back(layer);
  }
  for (const ValueId id : whole.parameters)
    parameter[static_cast<std::size_t>(whole.value(id).storage)] = true;
  std::erase_if(p.resident, [&](StorageId id) {
    const auto i = static_cast<std::size_t>(id);
    return (parameter[i] && !used[i]) || (first > 0 && whole.storages[i].purpose == Purpose::input);
  });
  for (std::size_t i = 0; i < whole.storages.size(); ++i) {
    if (crosses(whole, i, made[i], first, held)) {
      p.resident.push_back(static_cast<StorageId>(i));
      p.storages[i].purpose = Purpose::input;
      p.storages[i].output = false;
    }
    p.released[i] = std::clamp(whole.released[i], first, end - 1) - first;
  }
  // A copy of a weight that an earlier stage has as well is made here, too.
  for (const WeightCopy& c : whole.weight_copies)
    if (used[static_cast<std::size_t>(c.weight)] && made[static_cast<std::size_t>(c.copy)] < first)
      p.resident.push_back(c.copy);
  std::erase_if(p.caches, [&](const TokenCache& cache) { return cache.call < first || cache.call >= end; });
  for (TokenCache& cache : p.caches) cache.call -= first;
  std::erase_if(p.parameters,
                [&](ValueId id) { return !used[static_cast<std::size_t>(whole.value(id).storage)]; });

  // The gradient of what went to the next stage comes back.
  if (!last && whole.update.count > 0) {
    const std::vector<ValueId> gradient = gradient_values(whole);
    const auto from_next = static_cast<ValueId>(p.values.size());
    const auto storage = static_cast<StorageId>(p.storages.size());
    p.values.push_back({.storage = storage, .needs_gradient = true, .elements = 1});
    p.storages.push_back({.bytes = 4});
    p.released.push_back(end - first);
    Call call;
    call.op = kLossCall;
    call.forward = {static_cast<std::uint32_t>(p.actions.size()), 1};
    p.actions.push_back({ActionKind::output, from_next, 4});
    call.backward.begin = static_cast<std::uint32_t>(p.actions.size());
    for (const StorageId id : crossing(whole, end).storages) {
      const ValueId value = gradient[static_cast<std::size_t>(id)];
      if (value == kNoValue || made[static_cast<std::size_t>(id)] < first) continue;
      p.actions.push_back({ActionKind::gradient, value, p.value(value).bytes()});
    }
    call.backward.count = static_cast<std::uint32_t>(p.actions.size()) - call.backward.begin;
    call.results = {static_cast<std::uint32_t>(p.values_of.size()), 1};
    p.values_of.push_back(from_next);
    call.saved = {static_cast<std::uint32_t>(p.values_of.size()), 0};
    p.calls.push_back(call);
  }

  if (p.update.count > 0) {
    hardware::OperatorCase update = whole.kernels[whole.update.begin];
    update.extents[0] = update.extents[1] = 0;
    for (const ValueId id : p.parameters) {
      if (!p.value(id).needs_gradient) continue;
      ++update.extents[0];
      update.extents[1] = network::sum(update.extents[1], p.value(id).elements);
    }
    p.update.begin = static_cast<std::uint32_t>(p.kernels.size());
    p.kernels.push_back(update);
  }
  // Kernels that add up passes follow each other, by parameter.
  std::vector<hardware::OperatorCase> sums;
  p.accumulated.clear();
  for (std::uint32_t i = 0; i < whole.accumulation.count; ++i) {
    if (!used[static_cast<std::size_t>(whole.value(whole.accumulated[i]).storage)]) continue;
    p.accumulated.push_back(whole.accumulated[i]);
    sums.push_back(whole.kernels[whole.accumulation.begin + i]);
  }
  p.accumulation = {static_cast<std::uint32_t>(p.kernels.size()), static_cast<std::uint32_t>(sums.size())};
  p.kernels.insert(p.kernels.end(), sums.begin(), sums.end());
  return p;
}

std::vector<std::uint32_t> balanced_stages(const Program& program, const std::vector<double>& costs,
                                           std::int64_t stages) {
  std::vector<std::uint32_t> starts = cuts_between_layers(program);
  starts.insert(starts.begin(), 0);
  std::vector<double> pieces(starts.size(), 0);
  double most = 0, all = 0;
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const std::size_t end = i + 1 < starts.size() ? starts[i + 1] : costs.size();
    for (std::size_t call = starts[i]; call < end; ++call) pieces[i] += costs[call];
    most = std::max(most, pieces[i]);
    all += pieces[i];
  }
  // The smallest limit with which pieces in order fill no more than that many stages.
  const auto divide = [&](double limit) {
    std::vector<std::uint32_t> out = {0};
    double sum = 0;
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      if (i > 0 && sum + pieces[i] > limit) {
        out.push_back(starts[i]);
        sum = 0;
      }
      sum += pieces[i];
    }
    return out;
  };
  double low = most, high = all;
  constexpr int kHalvings = 60;
  for (int i = 0; i < kHalvings && low < high; ++i) {
    const double middle = low + (high - low) / 2;
    (divide(middle).size() <= static_cast<std::size_t>(std::max<std::int64_t>(stages, 1)) ? high : low) =
        middle;
  }
  return divide(high * (1 + 1e-12));
}

}  // namespace plimsoll::program
