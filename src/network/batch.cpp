#include "network/batch.hpp"

#include <algorithm>

namespace plimsoll::network {

std::int64_t batch_of(const Network& network, const Shapes& shapes) {
  for (const BoundSymbol& symbol : shapes.bound())
    if (names_batch(symbol.name)) return std::max<std::int64_t>(symbol.value, 1);
  for (const TensorId id : network.main().inputs) {
    if (!shapes.ranked(id) || shapes.dims(id).size() < 2) continue;
    if (is_one_image(network, network.tensor(id))) return 1;
    if (const Dim first = shapes.dims(id).front(); first.exact())
      return std::max<std::int64_t>(first.value(), 1);
  }
  return 1;
}

const BoundSymbol* sequence_of(const Shapes& shapes) {
  for (const BoundSymbol& symbol : shapes.bound())
    if (names_sequence(symbol.name)) return &symbol;
  return nullptr;
}

}  // namespace plimsoll::network
