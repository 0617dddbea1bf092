#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include <ATen/core/Tensor.h>

#include "engine/call.hpp"

/// The forms that most operators have, so that a table of rows reads as one.
namespace plimsoll::engine {

using Integers = std::vector<std::int64_t>;

// For the last two columns of a row.
inline constexpr std::string_view kMicrosoft =
    "com.microsoft";                   ///< the domain of ONNX Runtime's own operators
inline constexpr bool kShapes = true;  ///< shape_arithmetic

/// One input, one output: `{"Abs", unary<&at::abs>}`.
template <auto function>
Result<Kernel> unary(const Preparation&) {
  return [](Call& c) { c.out(0, function(c.in(0))); };
}

template <auto function>
Result<Kernel> binary(const Preparation&) {
  return [](Call& c) { c.out(0, function(c.in(0), c.in(1))); };
}

/// Without settings: `{"Identity", plain<[](Call& c) { … }>}`.
template <auto run>
Result<Kernel> plain(const Preparation&) {
  return [](Call& c) { run(c); };
}

/// A function of one tensor that has a twin which overwrites it. Both are called with the settings that
/// `prepare` has decoded.
template <class Function, class InPlace>
Kernel maybe_in_place(const Preparation& p, Function function, InPlace in_place) {
  if (!p.in_place()) return [function](Call& c) { c.out(0, function(c.in(0))); };
  return [in_place](Call& c) {
    at::Tensor x = c.in(0);
    in_place(x);
    c.out(0, std::move(x));
  };
}

/// An input that may be left out; undefined where it is.
[[nodiscard]] inline at::Tensor optional_input(Call& c, std::size_t input) {
  return c.has(input) ? c.in(input) : at::Tensor();
}

/// A non-negative axis. A wrong one is left for ATen to complain of.
[[nodiscard]] inline std::int64_t wrapped(std::int64_t axis, std::int64_t rank) {
  return axis < 0 ? axis + rank : axis;
}
[[nodiscard]] Integers wrapped(Integers axes, std::int64_t rank);

[[nodiscard]] Integers sizes_of(const at::Tensor& tensor);

[[nodiscard]] inline bool is_floating(const at::Tensor& tensor) {
  return at::isFloatingType(tensor.scalar_type());
}

/// Integers that newer operator sets take as an input and older ones as an attribute: decoded once where
/// they are known, else read at each call.
class IntegerList {
 public:
  IntegerList(const Preparation& p, std::string_view attribute, std::size_t input);
  [[nodiscard]] bool given() const { return given_; }
  [[nodiscard]] Integers read(Call& c) const { return known_ ? *known_ : c.integers(input_); }

 private:
  bool given_ = false;
  std::optional<Integers> known_;
  std::size_t input_;
};

/// A type named by an attribute, as the engine keeps it; fails where it has none.
[[nodiscard]] Result<at::ScalarType> stored_type(const Preparation& p, std::int64_t onnx_type);

}  // namespace plimsoll::engine
