#pragma once
#include <bitset>
#include <cstdint>
#include <optional>
#include <span>

#include "network/inference.hpp"

namespace plimsoll::network {

/// A list of integers that an operator takes as an attribute in older versions and as an input in newer ones
/// (axes, pads, sizes, …): absent, known, or given at run time.
struct IntegerList {
  bool given = false;                    ///< attribute or input present
  std::optional<std::size_t> length;     ///< where given and its length is known
  bool known = false;                    ///< all of `values` are exact
  std::vector<std::int64_t> storage;     ///< of an input's contents
  std::span<const std::int64_t> values;  ///< where known
};
[[nodiscard]] IntegerList integer_list(const InferenceContext& c, std::string_view attribute,
                                       std::size_t input);

using AxisSet = std::bitset<kMaxRank>;
/// The axes as a set, negative ones counted from the end; fails where one is out of range or comes twice.
[[nodiscard]] Result<AxisSet> axis_set(std::span<const std::int64_t> axes, std::size_t rank);

/// Number of elements of a one-dimensional input; nullopt where it is not known exactly.
[[nodiscard]] std::optional<std::int64_t> length_of(const InferenceContext& c, std::size_t input);
/// The largest bound of several extents: what any one of them can be at most.
[[nodiscard]] std::int64_t highest(const Symbols& symbols, std::span<const Dim> dims);
/// A shape of `rank` extents that are not known, each at most `high`. A rank beyond kMaxRank gives an
/// overflowed shape, which is refused when it is stored.
[[nodiscard]] Shape unknown_shape(InferenceContext& c, std::int64_t rank, std::int64_t high);
/// An upper bound on the number of elements; kUnbounded where there is none.
[[nodiscard]] std::int64_t most_elements(const Symbols& symbols, std::span<const Dim> dims);

}  // namespace plimsoll::network
