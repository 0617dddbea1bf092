#pragma once

/// The few distributions that statements about repeated trainings need. Boost.Math's, which this file's
/// source alone sees.
namespace plimsoll::learn {

/// Of the standard normal; `probability` lies between 0 and 1, ends excluded.
[[nodiscard]] double normal_quantile(double probability);
[[nodiscard]] double normal_share_below(double z);
[[nodiscard]] double student_quantile(double degrees, double probability);
/// The share of a chi-squared distribution of one degree of freedom that lies above.
[[nodiscard]] double chi_squared_above(double value);

}  // namespace plimsoll::learn
