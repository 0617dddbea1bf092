#include <algorithm>
#include <array>

#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/zeros.h>

#include "engine/operators/forms.hpp"

namespace plimsoll::engine {
namespace {

using at::Tensor;

const at::TensorOptions kHostIntegers = at::TensorOptions(at::kLong);

/// Integers as a tensor of the host: shapes are computed there.
Tensor host_tensor(at::IntArrayRef contents) {
  Tensor t = at::empty({static_cast<std::int64_t>(contents.size())}, kHostIntegers);
  std::ranges::copy(contents, t.data_ptr<std::int64_t>());
  return t;
}

/// From operator set 15 on, a part of the shape; indices beyond it are cut, not refused.
Result<Kernel> prepare_shape(const Preparation& p) {
  constexpr std::int64_t kEnd = std::numeric_limits<std::int64_t>::max();
  return [start = p.integer("start", 0), end = p.integer("end", kEnd)](Call& c) {
    const at::IntArrayRef sizes = c.where_it_lies(0).sizes();
    const auto rank = static_cast<std::int64_t>(sizes.size());
    const auto within = [rank](std::int64_t i) {
      return std::clamp<std::int64_t>(i < 0 ? i + rank : i, 0, rank);
    };
    const std::int64_t from = within(start), to = std::max(from, within(end));
    c.out(0, host_tensor(sizes.slice(static_cast<std::size_t>(from), static_cast<std::size_t>(to - from))));
  };
}

Result<Kernel> prepare_size(const Preparation&) {
  return [](Call& c) { c.out(0, at::scalar_tensor(c.where_it_lies(0).numel(), kHostIntegers)); };
}

at::Scalar number_of(const network::Scalar& s) {
  return s.is_integer() ? at::Scalar(s.integer()) : at::Scalar(s.real());
}

Result<Kernel> prepare_constant_of_shape(const Preparation& p) {
  at::Scalar value = 0.0;
  Result<at::ScalarType> type = p.numbers().stored(at::kFloat);
  if (const network::Attribute* a = p.network().find(p.op(), "value"); a != nullptr) {
    const network::Tensor& filled = p.network().tensor(static_cast<network::TensorId>(a->integer));
    type = stored_type(p, static_cast<std::int64_t>(filled.type));
    PLIMSOLL_TRY(type);
    if (!filled.has_value || p.network().value_of(filled).empty())
      return fail("the number to fill with is not in the file");
    value = number_of(p.network().value_of(filled).front());
  }
  return [value, type = *type, shape = IntegerList(p, "shape", 0)](Call& c) {
    c.out(0, at::full(shape.read(c), value, at::TensorOptions(type).device(c.device())));
  };
}

/// Never called: the routine keeps a constant as it keeps a weight. The row says that it can be executed.
Result<Kernel> prepare_constant(const Preparation&) {
  return fail("a constant is kept, not computed");
}

/// Whole numbers exactly, others in double precision.
Result<Kernel> prepare_range(const Preparation&) {
  return [](Call& c) {
    const at::ScalarType type = c.where_it_lies(0).scalar_type();
    const at::TensorOptions options = at::TensorOptions(type).device(c.device());
    if (at::isIntegralType(type, false)) {
      const std::int64_t start = c.integers(0).at(0), limit = c.integers(1).at(0),
                         delta = c.integers(2).at(0);
      const bool empty = delta == 0 || (delta > 0 ? limit <= start : limit >= start);
      return c.out(0, empty ? at::zeros({0}, options) : at::arange(start, limit, delta, options));
    }
    const double start = c.number(0), limit = c.number(1), delta = c.number(2);
    const bool empty = delta == 0 || (delta > 0 ? limit <= start : limit >= start);
    c.out(0, empty ? at::zeros({0}, options) : at::arange(start, limit, delta, options));
  };
}

Result<Kernel> prepare_eye_like(const Preparation& p) {
  std::optional<at::ScalarType> type;
  if (p.has_attribute("dtype")) {
    const Result<at::ScalarType> asked = stored_type(p, p.integer("dtype", 0));
    PLIMSOLL_TRY(asked);
    type = *asked;
  }
  return [type, k = p.integer("k", 0)](Call& c) {
    const Tensor& x = c.where_it_lies(0);
    Tensor eye = at::zeros(x.sizes(), at::TensorOptions(type ? *type : x.scalar_type()).device(c.device()));
    eye.diagonal(k).fill_(1);
    c.out(0, std::move(eye));
  };
}

constexpr auto kShapeRows = std::to_array<OperatorRow>({
    {"Constant", prepare_constant, "", kShapes},
    {"ConstantOfShape", prepare_constant_of_shape, "", kShapes},
    {"EyeLike", prepare_eye_like},
    {"Range", prepare_range, "", kShapes},
    {"Shape", prepare_shape, "", kShapes},
    {"Size", prepare_size, "", kShapes},
});

}  // namespace

std::span<const OperatorRow> shape_rows() {
  return kShapeRows;
}

}  // namespace plimsoll::engine
