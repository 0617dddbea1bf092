#include "swapping/forecast.hpp"

#include <algorithm>

namespace plimsoll::swapping {
namespace {

Copied copy(const Packed& packed, const HostLink& link, const Load& load, Clock& clock, Seconds known) {
  Seconds begin = std::max(clock.link_free, known);
  for (const Eviction& eviction : load.evictions) begin = std::max(begin, clock.in_use[eviction.chunk]);
  const Seconds end = begin + link.copy(packed.bytes(load.blocks));
  clock.link_free = clock.ready[load.chunk] = end;
  return {begin, end};
}

}  // namespace

void forecast(const Packed& packed, const HostLink& link, const Request& request, Seconds known,
              ModelRun& run, Clock& clock) {
  const std::vector<PackedLayer>& layers = packed.models[run.model].layers;
  Seconds free = std::max(clock.device_free, request.arrival);
  auto load = run.decision.loads.begin();
  for (std::size_t layer = 0; layer < layers.size(); ++layer) {
    for (; load != run.decision.loads.end() && load->layer == layer; ++load)
      run.copies.push_back(copy(packed, link, *load, clock, known));
    Seconds begin = free;
    for (const std::size_t chunk : layers[layer].chunks) begin = std::max(begin, clock.ready[chunk]);
    run.waited += begin - free;
    free = begin + layers[layer].seconds;
    for (const std::size_t chunk : layers[layer].chunks) clock.in_use[chunk] = free;
    run.begins.push_back(begin);
    run.ends.push_back(free);
  }
  clock.device_free = free;
}

}  // namespace plimsoll::swapping
