#include <array>

#include <ATen/ops/bernoulli.h>
#include <ATen/ops/dropout.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/multinomial.h>
#include <ATen/ops/native_dropout.h>
#include <ATen/ops/ones.h>

#include "engine/operators/forms.hpp"

namespace plimsoll::engine {
namespace {

using at::Tensor;

/// Numbers come from ATen's generator, which the engine seeds: a `seed` in the graph would draw the same in
/// every pass.

/// In training elements are dropped by the ratio, an input from operator set 12 on; else nothing is done.
Result<Kernel> prepare_dropout(const Preparation& p) {
  const bool mask_wanted = p.wants(1);
  if (!p.training())
    return [mask_wanted](Call& c) {
      c.out(0, c.in(0));
      if (mask_wanted) c.out(1, at::ones(c.in(0).sizes(), c.in(0).options().dtype(at::kBool)));
    };
  const auto known = p.known_numbers(1);
  const bool told = p.has(1) && !(known && known->size() == 1);  // only when it runs
  const double ratio = !p.has(1) || told ? p.real("ratio", 0.5) : known->front();
  return [ratio, told, mask_wanted](Call& c) {
    const double dropped = told ? c.number(1) : ratio;
    if (!mask_wanted) return c.out(0, at::dropout(c.in(0), dropped, true));
    auto [kept, mask] = at::native_dropout(c.in(0), dropped, true);
    c.out(0, std::move(kept));
    c.out(1, std::move(mask));
  };
}

/// What a tensor of random numbers is to be: its type where the graph gives one, else the input's.
struct Drawn {
  std::optional<at::ScalarType> type;
  Integers shape;     ///< where there is no input to take it from
  bool like = false;  ///< an input
  double first = 0, second = 1;

  [[nodiscard]] Tensor empty(Call& c) const {
    const at::TensorOptions options = at::TensorOptions().device(c.device());
    if (!like) return at::empty(shape, options.dtype(type.value_or(at::kFloat)));
    const Tensor& x = c.where_it_lies(0);
    return at::empty(x.sizes(), options.dtype(type.value_or(x.scalar_type())));
  }
};

Result<Drawn> drawn_of(const Preparation& p, bool like) {
  Drawn drawn;
  drawn.like = like;
  drawn.shape = p.integers("shape");
  if (p.has_attribute("dtype")) {
    const Result<at::ScalarType> type = stored_type(p, p.integer("dtype", 1));
    PLIMSOLL_TRY(type);
    drawn.type = *type;
  } else if (!like) {
    drawn.type = p.numbers().stored(at::kFloat);
  }
  return drawn;
}

template <bool like>
Result<Kernel> prepare_normal(const Preparation& p) {
  Result<Drawn> drawn = drawn_of(p, like);
  PLIMSOLL_TRY(drawn);
  drawn->first = p.real("mean", 0);
  drawn->second = p.real("scale", 1);
  return [d = *drawn](Call& c) { c.out(0, d.empty(c).normal_(d.first, d.second)); };
}

template <bool like>
Result<Kernel> prepare_uniform(const Preparation& p) {
  Result<Drawn> drawn = drawn_of(p, like);
  PLIMSOLL_TRY(drawn);
  drawn->first = p.real("low", 0);
  drawn->second = p.real("high", 1);
  return [d = *drawn](Call& c) { c.out(0, d.empty(c).uniform_(d.first, d.second)); };
}

Result<Kernel> prepare_bernoulli(const Preparation& p) {
  const Result<Drawn> drawn = drawn_of(p, true);
  PLIMSOLL_TRY(drawn);
  return [type = drawn->type](Call& c) {
    c.out(0, at::bernoulli(c.in(0)).to(type.value_or(c.in(0).scalar_type())));
  };
}

/// The input is logarithms of weights.
Result<Kernel> prepare_multinomial(const Preparation& p) {
  const Result<at::ScalarType> type = stored_type(p, p.integer("dtype", 6));
  PLIMSOLL_TRY(type);
  return [type = *type, samples = p.integer("sample_size", 1)](Call& c) {
    c.out(0, at::multinomial(c.in(0).softmax(-1), samples, true).to(type));
  };
}

constexpr auto kRandomRows = std::to_array<OperatorRow>({
    {"Bernoulli", prepare_bernoulli},
    {"Dropout", prepare_dropout},
    {"Multinomial", prepare_multinomial},
    {"RandomNormal", prepare_normal<false>},
    {"RandomNormalLike", prepare_normal<true>},
    {"RandomUniform", prepare_uniform<false>},
    {"RandomUniformLike", prepare_uniform<true>},
});

}  // namespace

std::span<const OperatorRow> random_rows() {
  return kRandomRows;
}

}  // namespace plimsoll::engine
