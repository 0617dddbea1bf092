// Weights that stay in memory as they are stored, such as those that llama.cpp quantised: what they take, and
// products that read them.
#include <algorithm>
#include <cmath>

#include "program/lowering.hpp"

namespace plimsoll::program {

bool is_stored_product(const hardware::OperatorCase& c) {
  return c.operator_class == hardware::OperatorClass::counted && c.extents[3] > 0;
}

std::int64_t Lowering::kept_bytes(network::TensorId id) const {
  const network::StoredWeight* const stored =
      id == network::kNoTensor || network_.stored.empty() ? nullptr : network_.stored_of(id);
  return stored != nullptr && stored->kept ? stored->bytes : 0;
}

bool Lowering::stored_kernel(ValueId weight, network::DataType type, const StoredProduct& p) {
  using network::product, network::sum;
  if (weight == kNoValue) return false;
  const Storage& storage = program_.storage(at(weight).storage);
  const std::int64_t kept = storage.purpose == Purpose::weight ? kept_bytes(storage.tensor) : 0;
  const auto in_type = [type](std::int64_t elements) {
    return network::packed_bytes(type, elements).value_or(network::kUnbounded);
  };
  if (kept == 0 || kept == in_type(at(weight).elements)) return false;
  const std::string format(network_.view(network_.stored_of(storage.tensor)->format));
  if (std::ranges::find(program_.stored_formats, format) == program_.stored_formats.end())
    program_.stored_formats.push_back(format);
  const bool brain = type == network::DataType::bfloat16;
  hardware::OperatorCase c{.operator_class = hardware::OperatorClass::counted,
                           .arithmetic = brain ? hardware::Arithmetic::bf16 : hardware::Arithmetic::fp16};
  const auto read = static_cast<std::int64_t>(std::llround(static_cast<double>(kept) * p.share));
  c.extents = {0, sum(read, in_type(product(p.m, p.k))), in_type(product(p.m, p.n)),
               product(product(p.m, p.n), p.k)};
  kernel(c);
  return true;
}

}  // namespace plimsoll::program
