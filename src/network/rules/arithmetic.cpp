#include "network/inference.hpp"
#include "network/operators.hpp"

namespace plimsoll::network {
namespace {

Status same_as_first(InferenceContext& c) {
  if (c.ranked(0))
    c.set(0, c.type(0), Shape(c.dims(0)));
  else
    c.set_unranked(0, c.type(0));
  return {};
}

Status binary(InferenceContext& c) {
  if (!c.ranked(0) || !c.ranked(1)) {
    c.set_unranked(0, c.type(0));
    return {};
  }
  Result<Shape> shape = c.broadcast(c.dims(0), c.dims(1));
  PLIMSOLL_TRY(shape);
  c.set(0, c.type(0), *shape);
  return {};
}

constexpr OperatorInfo kOperators[] = {
    {"Add", 2, 2, 1, binary},
    {"Relu", 1, 1, 1, same_as_first},
};

}  // namespace

std::span<const OperatorInfo> arithmetic_operators() { return kOperators; }

}  // namespace plimsoll::network
