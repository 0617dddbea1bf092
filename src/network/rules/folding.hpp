#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "network/inference.hpp"

namespace plimsoll::network {

// Arithmetic on the contents of small tensors, so that a shape computed in the graph is known. Nothing here
// guesses: where a result is not known, or would not fit its type, there is none.

/// One more than the largest integer that an element can have.
inline constexpr double kTwoTo63 = 9223372036854775808.0;

/// An input's contents where they can be computed with: known, and as many as its exact shape has elements.
[[nodiscard]] std::optional<std::span<const Scalar>> contents(const InferenceContext& c, std::size_t input);
/// The only element of an input of one element, where it is known.
[[nodiscard]] std::optional<Scalar> single(const InferenceContext& c, std::size_t input);
/// How many elements the shape has, where that is exact and at most kMaxValueElements.
[[nodiscard]] std::optional<std::size_t> small_count(std::span<const Dim> dims);
/// The exact integer that a scalar stands for; a real one counts where it has no fraction.
[[nodiscard]] std::optional<std::int64_t> whole(const Scalar& s);
/// The values that a scalar can have; nullopt for a real with a fraction.
[[nodiscard]] std::optional<Interval> range_of(const Symbols& symbols, const Scalar& s);

/// How far apart neighbours along each axis stand in the contents of an exact shape.
struct Strides {
  std::int64_t step[kMaxRank] = {};
};
[[nodiscard]] Strides strides_of(std::span<const Dim> dims);
/// Strides of `from` when it is read as if it had been broadcast to `to`: 0 where it repeats.
[[nodiscard]] Strides broadcast_strides(std::span<const Dim> from, std::span<const Dim> to);
/// The elements at start + Σ index·step for every index of the small exact shape `to`, in order. The caller
/// has made sure that all of them exist.
[[nodiscard]] std::vector<Scalar> pick(std::span<const Scalar> values, std::int64_t start,
                                       const Strides& strides, std::span<const Dim> to);

using Folded = std::optional<Scalar>;
/// What one element becomes; `type` is that of the result.
using UnaryFold = Folded (*)(Symbols& symbols, DataType type, const Scalar& x);
using BinaryFold = Folded (*)(Symbols& symbols, DataType type, const Scalar& x, const Scalar& y);

/// A number as the type can hold it: reals rounded to float32 where that is the type; none where an integer
/// does not fit.
[[nodiscard]] Folded as_type(DataType type, const Scalar& x);
[[nodiscard]] Folded cast(Symbols& symbols, DataType to, const Scalar& x);

[[nodiscard]] Folded fold_add(Symbols& symbols, DataType type, const Scalar& x, const Scalar& y);
[[nodiscard]] Folded fold_subtract(Symbols& symbols, DataType type, const Scalar& x, const Scalar& y);
[[nodiscard]] Folded fold_multiply(Symbols& symbols, DataType type, const Scalar& x, const Scalar& y);
[[nodiscard]] Folded fold_divide(Symbols& symbols, DataType type, const Scalar& x, const Scalar& y);
[[nodiscard]] Folded fold_modulo(Symbols& symbols, DataType type, const Scalar& x,
                                 const Scalar& y);  ///< sign of y
[[nodiscard]] Folded fold_remainder(Symbols& symbols, DataType type, const Scalar& x,
                                    const Scalar& y);  ///< sign of x
[[nodiscard]] Folded fold_power(Symbols& symbols, DataType type, const Scalar& x, const Scalar& y);
[[nodiscard]] Folded fold_minimum(Symbols& symbols, DataType type, const Scalar& x, const Scalar& y);
[[nodiscard]] Folded fold_maximum(Symbols& symbols, DataType type, const Scalar& x, const Scalar& y);
[[nodiscard]] Folded fold_equal(Symbols& symbols, DataType type, const Scalar& x, const Scalar& y);
[[nodiscard]] Folded fold_less(Symbols& symbols, DataType type, const Scalar& x, const Scalar& y);
[[nodiscard]] Folded fold_less_or_equal(Symbols& symbols, DataType type, const Scalar& x, const Scalar& y);

/// Sets the contents of output 0, whose shape was set to `shape`, from those of inputs 0 and 1, where all of
/// them are known.
void fold_elements(InferenceContext& c, BinaryFold fold, DataType type, const Shape& shape);
void fold_elements(InferenceContext& c, UnaryFold fold, DataType type);

}  // namespace plimsoll::network
