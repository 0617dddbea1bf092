#include "estimate/memory/sharding.hpp"

#include <algorithm>
#include <span>

#include "network/saturating.hpp"

namespace plimsoll::estimate {

using network::divided;
using network::Sharding;
using program::Program;
using program::Purpose;
using program::StorageId;
using program::Value;
using program::ValueId;

ModelState model_state(const Program& program, const network::Setting& setting) {
  const network::Shares shares = network::sharded(setting);
  std::vector<bool> parameter(program.storages.size(), false);
  ModelState out;
  for (const ValueId id : program.parameters) {
    const Value& v = program.value(id);
    parameter[static_cast<std::size_t>(v.storage)] = true;
    out.weights += Bytes(divided(program.storage(v.storage).bytes, shares.weights));
    if (!v.needs_gradient) continue;
    out.gradients += Bytes(divided(v.bytes(), shares.gradients));
    out.optimizer +=
        Bytes(divided(v.bytes(), shares.state)) * network::state_per_parameter(setting.optimizer);
  }
  for (const StorageId id : program.resident)
    if (program.storage(id).purpose == Purpose::weight && !parameter[static_cast<std::size_t>(id)])
      out.weights += Bytes(program.storage(id).bytes);
  return out;
}

ShardedProgram shard(const Program& program, const network::Setting& setting) {
  ShardedProgram out{.shares = network::sharded(setting)};
  out.parameter.assign(program.storages.size(), false);
  out.copied_from.assign(program.storages.size(), -1);
  const Sharding how = network::effective_sharding(setting);
  // Sums over whole gradients have buckets beside them, as DistributedDataParallel keeps them.
  if (how == Sharding::data_parallel || how == Sharding::zero1)
    for (const ValueId id : program.parameters)
      if (program.value(id).needs_gradient)
        out.buckets = network::sum(out.buckets, program.value(id).bytes());
  if (out.shares.gradients <= 1) return out;
  out.layer_of.assign(program.calls.size(), kNoLayer);
  for (std::uint32_t i = 0; i < program.layers.size(); ++i)
    for (std::uint32_t call = program.layers[i].first; call <= program.layers[i].last; ++call)
      out.layer_of[call] = i;
  if (out.shares.weights <= 1) return out;
  for (const ValueId id : program.parameters)
    out.parameter[static_cast<std::size_t>(program.value(id).storage)] = true;
  // Where products take a copy in half precision, that is what is gathered.
  std::vector<std::int64_t> read(program.storages.size());
  for (std::size_t i = 0; i < read.size(); ++i) read[i] = program.storages[i].bytes;
  for (const program::WeightCopy& c : program.weight_copies) {
    if (!out.parameter[static_cast<std::size_t>(c.weight)]) continue;
    out.copied_from[static_cast<std::size_t>(c.copy)] = program.storage(c.copy).bytes;
    read[static_cast<std::size_t>(c.weight)] =
        std::min(read[static_cast<std::size_t>(c.weight)], program.storage(c.copy).bytes);
  }
  for (const program::Layer& layer : program.layers) {
    std::int64_t bytes = 0;
    for (const StorageId id : std::span(program.weights_of).subspan(layer.weights.begin, layer.weights.count))
      bytes = network::sum(bytes, read[static_cast<std::size_t>(id)]);
    out.gathered.push_back(bytes);
  }
  return out;
}

}  // namespace plimsoll::estimate
