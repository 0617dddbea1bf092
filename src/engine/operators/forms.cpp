#include "engine/operators/forms.hpp"

namespace plimsoll::engine {

Integers wrapped(Integers axes, std::int64_t rank) {
  for (std::int64_t& axis : axes) axis = wrapped(axis, rank);
  return axes;
}

Integers sizes_of(const at::Tensor& tensor) {
  return tensor.sizes().vec();
}

IntegerList::IntegerList(const Preparation& p, std::string_view attribute, std::size_t input)
    : input_(input) {
  if (p.has_attribute(attribute)) {
    known_ = p.integers(attribute);
  } else if (p.has(input)) {
    known_ = p.known_integers(input);
  } else {
    known_ = Integers{};
    return;
  }
  given_ = true;
}

Result<at::ScalarType> stored_type(const Preparation& p, std::int64_t onnx_type) {
  const auto known = network::data_type_from_number(onnx_type);
  if (!known) return fail("element type {} is not defined by ONNX", onnx_type);
  const auto type = scalar_type(*known);
  if (!type) return fail("LibTorch computes nothing with {}", network::name(*known));
  return p.numbers().stored(*type);
}

}  // namespace plimsoll::engine
