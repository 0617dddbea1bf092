#pragma once
#include <cstddef>
#include <optional>
#include <span>

#include "learn/observation.hpp"

namespace plimsoll::learn {

struct RankTest {
  double statistic = 0;  ///< U of the first: pairs in which it is the larger, ties half
  double p = 1;          ///< two-sided
  bool exact = false;    ///< counted over all orders; else by the normal approximation
};
/// Mann and Whitney's test (Ann. Math. Stat. 18, 1947): whether one of two tends to be larger. Exact where
/// there are no ties and one side has at most eight values; else normal, corrected for ties and for
/// continuity. Infinite values are ties of each other. Nothing where a side has none.
[[nodiscard]] std::optional<RankTest> mann_whitney(std::span<const double> one,
                                                   std::span<const double> other);

/// The smallest two-sided p that so many values can give, with every value of the one below every one of the
/// other: 2 of all orders. With three a side it is 0.1.
[[nodiscard]] double least_p(std::size_t one, std::size_t other);

/// How many times as large the first is: the median of all quotients of a value of the one and of the other
/// (Hodges and Lehmann, Ann. Math. Stat. 34, 1963, on logarithms), with the interval that belongs to Mann and
/// Whitney's test. Values are positive and finite; nothing where they are not. Without ends where there are
/// too few for that confidence, and, like the test, exact or normal by their number.
[[nodiscard]] std::optional<Interval> hodges_lehmann_ratio(std::span<const double> one,
                                                           std::span<const double> other, double confidence);

}  // namespace plimsoll::learn
