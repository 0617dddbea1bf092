#include "hardware/operator_curve.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "hardware/operator_place.hpp"

namespace plimsoll::hardware {
namespace {

constexpr std::size_t kNeighbours = 16;
constexpr double kRidge = 0.05;  ///< towards no trend, as a share of the neighbours' weight
constexpr double kBeyond = 0.3;  ///< how far a trend may leave the neighbours' efficiencies, as a logarithm
constexpr double kNearWorkspace = 1;  ///< doublings within which a workspace is believed
constexpr std::size_t kNobody = std::numeric_limits<std::size_t>::max();

constexpr std::size_t kTerms = kCoordinates + 1;
struct Equations {
  std::array<std::array<double, kTerms>, kTerms> left{};
  std::array<double, kTerms> right{};
};

/// By Gauss, from the last unknown to the first, which it gives. Symmetric and, by the ridge, positive
/// definite: no pivot has to be sought.
double first_unknown(Equations& e, std::size_t terms) {
  for (std::size_t column = terms; column-- > 1;) {
    const double pivot = e.left[column][column];
    for (std::size_t row = 0; row < column; ++row) {
      const double factor = e.left[row][column] / pivot;
      for (std::size_t i = 0; i <= column; ++i) e.left[row][i] -= factor * e.left[column][i];
      e.right[row] -= factor * e.right[column];
    }
  }
  return e.right[0] / e.left[0][0];
}

}  // namespace

struct OperatorCurves::Point {
  OperatorPlace place;
  double log_slowness = 0;  ///< log(seconds / floor)
  double seconds = 0;
  std::optional<double> workspace;
};

struct OperatorCurves::Curve {
  OperatorCase group;  ///< without extents
  double flops_per_second = 0, bytes_per_second = 0, launch = 0;
  std::size_t coordinates = 0;
  std::vector<Point> points;
  std::vector<OperatorCase> cases;  ///< of the points

  [[nodiscard]] bool is_of(const OperatorCase& c) const {
    return group.operator_class == c.operator_class && group.direction == c.direction &&
           group.arithmetic == c.arithmetic;
  }
  [[nodiscard]] double floor(const OperatorCase& c) const {
    const OperatorWork work = work_of(c);
    const double computing = flops_per_second > 0 ? work.flops / flops_per_second : 0;
    const double moving = bytes_per_second > 0 ? work.bytes / bytes_per_second : 0;
    return std::max(computing, moving) + launch;
  }

  struct Neighbour {
    double squared = 0;
    std::size_t point = 0;
  };
  using Neighbours = std::array<Neighbour, kNeighbours>;
  /// The nearest first; how many there are.
  std::size_t nearest(const OperatorPlace& place, std::size_t skipped, Neighbours& found) const {
    std::size_t count = 0;
    for (std::size_t i = 0; i < points.size(); ++i) {
      if (i == skipped) continue;
      const double squared = squared_distance(place, points[i].place);
      if (count == kNeighbours && squared >= found[count - 1].squared) continue;
      if (count < kNeighbours) ++count;
      std::size_t at = count - 1;
      for (; at > 0 && found[at - 1].squared > squared; --at) found[at] = found[at - 1];
      found[at] = {squared, i};
    }
    return count;
  }

  [[nodiscard]] std::optional<Prediction> predict(const OperatorCase& c, std::size_t skipped = kNobody) const;
};

std::optional<Prediction> OperatorCurves::Curve::predict(const OperatorCase& c, std::size_t skipped) const {
  const OperatorPlace place = place_of(c);
  Neighbours found;
  const std::size_t count = nearest(place, skipped, found);
  if (count == 0) return std::nullopt;
  const double reach = 1.05 * std::sqrt(found[count - 1].squared) + 1e-9;
  const std::size_t terms = coordinates + 1;
  Equations equations;
  double weights = 0, low = INFINITY, high = -INFINITY;
  std::array<double, kNeighbours> weight{};
  for (std::size_t n = 0; n < count; ++n) {
    const Point& point = points[found[n].point];
    const double share = std::sqrt(found[n].squared) / reach;
    weight[n] = std::pow(1 - share * share * share, 3);  // Cleveland's tricube
    weights += weight[n];
    low = std::min(low, point.log_slowness);
    high = std::max(high, point.log_slowness);
    std::array<double, kTerms> row{1};
    for (std::size_t i = 0; i < coordinates; ++i)
      row[i + 1] = point.place.coordinates[i] - place.coordinates[i];
    for (std::size_t i = 0; i < terms; ++i) {
      for (std::size_t j = 0; j < terms; ++j) equations.left[i][j] += weight[n] * row[i] * row[j];
      equations.right[i] += weight[n] * row[i] * point.log_slowness;
    }
  }
  for (std::size_t i = 1; i < terms; ++i) equations.left[i][i] += kRidge * weights;
  const double slowness = std::clamp(first_unknown(equations, terms), low - kBeyond, high + kBeyond);

  double scatter = 0;
  for (std::size_t n = 0; n < count; ++n) {
    const double off = points[found[n].point].log_slowness - slowness;
    scatter += weight[n] * off * off;
  }
  Prediction prediction{floor(c) * std::exp(slowness), std::sqrt(scatter / weights)};
  if (found[0].squared <= kNearWorkspace * kNearWorkspace)
    prediction.workspace = points[found[0].point].workspace;
  return prediction;
}

OperatorCurves::OperatorCurves(std::span<const OperatorPoint> points) {
  for (const OperatorPoint& point : points) {
    auto curve = std::ranges::find_if(curves_, [&](const Curve& k) { return k.is_of(point.what); });
    if (curve == curves_.end()) {
      OperatorCase group = point.what;
      group.extents = {};
      curve = curves_.insert(curve, Curve{.group = group,
                                          .launch = point.seconds,
                                          .coordinates = coordinate_count(group.operator_class),
                                          .points = {},
                                          .cases = {}});
    }
    const OperatorWork work = work_of(point.what);
    curve->flops_per_second = std::max(curve->flops_per_second, work.flops / point.seconds);
    curve->bytes_per_second = std::max(curve->bytes_per_second, work.bytes / point.seconds);
    curve->launch = std::min(curve->launch, point.seconds);
    curve->points.push_back({place_of(point.what), 0, point.seconds, point.workspace});
    curve->cases.push_back(point.what);
  }
  for (Curve& curve : curves_)
    for (std::size_t i = 0; i < curve.points.size(); ++i)
      curve.points[i].log_slowness = std::log(curve.points[i].seconds / curve.floor(curve.cases[i]));
}

OperatorCurves::OperatorCurves(const OperatorCurves&) = default;
OperatorCurves::OperatorCurves(OperatorCurves&&) noexcept = default;
OperatorCurves& OperatorCurves::operator=(const OperatorCurves&) = default;
OperatorCurves& OperatorCurves::operator=(OperatorCurves&&) noexcept = default;
OperatorCurves::~OperatorCurves() = default;

std::optional<Prediction> OperatorCurves::predict(const OperatorCase& c) const {
  const auto curve = std::ranges::find_if(curves_, [&](const Curve& k) { return k.is_of(c); });
  return curve == curves_.end() ? std::nullopt : curve->predict(c);
}

std::vector<ClassFit> OperatorCurves::fits() const {
  std::vector<ClassFit> fits;
  for (const Curve& curve : curves_) {
    ClassFit fit{curve.group.operator_class, curve.group.direction, curve.group.arithmetic,
                 static_cast<std::int64_t>(curve.points.size())};
    double slowness = 0;
    std::vector<double> errors;
    for (std::size_t i = 0; i < curve.points.size(); ++i) {
      slowness += curve.points[i].log_slowness;
      const auto predicted = curve.predict(curve.cases[i], i);
      if (predicted) errors.push_back(std::fabs(std::log(predicted->seconds / curve.points[i].seconds)));
    }
    fit.efficiency = std::exp(-slowness / static_cast<double>(curve.points.size()));
    if (!errors.empty()) {
      std::ranges::sort(errors);
      fit.residual = errors[errors.size() / 2];
      fit.residual_90 = errors[errors.size() * 9 / 10];
    }
    fits.push_back(fit);
  }
  return fits;
}

std::vector<ClassFit> fit_classes(std::span<const OperatorPoint> points) {
  return OperatorCurves(points).fits();
}

}  // namespace plimsoll::hardware
