#include "learn/distributions.hpp"

#include <cmath>
#include <numbers>

#include <boost/math/distributions/normal.hpp>
#include <boost/math/distributions/students_t.hpp>

namespace plimsoll::learn {

double normal_quantile(double probability) {
  return boost::math::quantile(boost::math::normal(), probability);
}

double normal_share_below(double z) {
  return 0.5 * std::erfc(-z / std::numbers::sqrt2);
}

double student_quantile(double degrees, double probability) {
  return boost::math::quantile(boost::math::students_t(degrees), probability);
}

double chi_squared_above(double value) {
  return std::erfc(std::sqrt(value / 2));
}

}  // namespace plimsoll::learn
