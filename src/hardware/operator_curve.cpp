#include "hardware/operator_curve.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <mutex>

#include "hardware/operator_place.hpp"

namespace plimsoll::hardware {
namespace {

constexpr std::size_t kNeighbours = 32;
constexpr double kNoise = 0.03;        ///< of a point by itself, as a share of how much efficiencies vary
constexpr double kLevel = 4;           ///< how free the neighbours' common level is, likewise
constexpr double kLeastError = 0.005;  ///< of any prediction, as a logarithm
constexpr double kAlike = 0.3;  ///< distance up to which a neighbour's algorithm is believed to be chosen
constexpr std::size_t kNobody = std::numeric_limits<std::size_t>::max();

/// How much two efficiencies have in common, by their distance: Matérn's function with one derivative.
double likeness(double squared_distance) {
  const double d = std::sqrt(3 * squared_distance);
  return (1 + d) * std::exp(-d);
}

using Vector = std::array<double, kNeighbours>;
using Matrix = std::array<Vector, kNeighbours>;

/// Cholesky's factor in place of the lower triangle, column by column: what is taken off a row's elements
/// does not wait for each other. `noise` keeps the diagonal positive.
void factorize(Matrix& m, std::size_t size) {
  Vector column;
  for (std::size_t k = 0; k < size; ++k) {
    m[k][k] = std::sqrt(std::max(m[k][k], 1e-12));
    for (std::size_t i = k + 1; i < size; ++i) column[i] = m[i][k] /= m[k][k];
    for (std::size_t i = k + 1; i < size; ++i)
      for (std::size_t j = k + 1; j <= i; ++j) m[i][j] -= column[i] * column[j];
  }
}
/// Half of a solution: the factor's inverse times a vector. Its products with others are those with the
/// inverse of the whole.
void solve_lower(const Matrix& factor, std::size_t size, Vector& v) {
  for (std::size_t i = 0; i < size; ++i) {
    for (std::size_t k = 0; k < i; ++k) v[i] -= factor[i][k] * v[k];
    v[i] /= factor[i][i];
  }
}
double dot(const Vector& a, const Vector& b, std::size_t size) {
  double sum = 0;
  for (std::size_t i = 0; i < size; ++i) sum += a[i] * b[i];
  return sum;
}

/// What the best points of a class reach.
struct Best {
  double flops_per_second = 0, bytes_per_second = 0, seconds = INFINITY;

  void see(const OperatorPoint& point) {
    const OperatorWork work = work_of(point.what);
    flops_per_second = std::max(flops_per_second, work.flops_at_peak() / point.seconds);
    bytes_per_second = std::max(bytes_per_second, work.bytes() / point.seconds);
    seconds = std::min(seconds, point.seconds);
  }
  [[nodiscard]] double computing(const OperatorCase& c) const {
    return flops_per_second > 0 ? work_of(c).flops_at_peak() / flops_per_second : 0;
  }
  [[nodiscard]] double moving(const OperatorCase& c) const {
    return bytes_per_second > 0 ? work_of(c).bytes() / bytes_per_second : 0;
  }
  /// No operator can be faster.
  [[nodiscard]] double floor(const OperatorCase& c) const {
    return std::max({computing(c), moving(c), seconds});
  }
  /// What is expected before any neighbour is asked: tiles are computed whole, and moving is not hidden.
  [[nodiscard]] double expected(const OperatorCase& c) const {
    return computing(c) * tile_padding(c) + moving(c) + seconds;
  }
};

}  // namespace

struct OperatorCurves::Point {
  OperatorPlace place{};
  double apart = 0;         ///< more, because it computes in another arithmetic
  double log_slowness = 0;  ///< log(seconds / expected)
};

/// A group, made ready to be asked.
struct OperatorCurves::Curve {
  std::span<const OperatorPoint> measured = {};  ///< by case
  Best best = {};
  double middle = 0;               ///< of the measured points' log_slowness
  std::vector<Point> points = {};  ///< the measured ones first, then those of other arithmetics

  explicit Curve(std::span<const OperatorPoint> of_group);
  void add(const Curve& other, double apart);

  struct Neighbour {
    double squared = 0;
    const Point* point = nullptr;
  };
  using Neighbours = std::array<Neighbour, kNeighbours>;

  /// The nearest first; how many there are.
  std::size_t nearest(const OperatorPlace& place, std::size_t skipped, Neighbours& found) const {
    std::size_t count = 0;
    for (std::size_t i = 0; i < points.size(); ++i) {
      if (i == skipped) continue;
      const double enough = count == kNeighbours ? found[count - 1].squared : INFINITY;
      const double squared =
          squared_distance(place, points[i].place, enough) + points[i].apart * points[i].apart;
      if (squared >= enough) continue;
      if (count < kNeighbours) ++count;
      std::size_t at = count - 1;
      for (; at > 0 && found[at - 1].squared > squared; --at) found[at] = found[at - 1];
      found[at] = {squared, &points[i]};
    }
    return count;
  }

  [[nodiscard]] std::optional<Prediction> predict(const OperatorCase& c, std::size_t skipped = kNobody) const;
};

/// Kriging: the mean, given the neighbours, of efficiencies that are alike where cases are (Rasmussen and
/// Williams, Gaussian Processes for Machine Learning, 2006, section 2.2).
std::optional<Prediction> OperatorCurves::Curve::predict(const OperatorCase& c, std::size_t skipped) const {
  Neighbours found;
  const std::size_t count = nearest(place_of(c), skipped, found);
  if (count == 0) return std::nullopt;
  Matrix alike;
  Vector to_target, slowness;
  for (std::size_t i = 0; i < count; ++i) {
    const Point& one = *found[i].point;
    for (std::size_t j = 0; j < i; ++j) {
      const Point& other = *found[j].point;
      const double apart = one.apart - other.apart;
      alike[i][j] = likeness(squared_distance(one.place, other.place) + apart * apart) + kLevel;
    }
    alike[i][i] = 1 + kLevel + kNoise;
    to_target[i] = likeness(found[i].squared) + kLevel;
    slowness[i] = one.log_slowness - middle;
  }
  factorize(alike, count);
  solve_lower(alike, count, to_target);
  solve_lower(alike, count, slowness);
  const double mean = middle + dot(to_target, slowness, count);
  const double variation = dot(slowness, slowness, count) / static_cast<double>(count);
  const double unknown = std::max(0.0, 1 + kLevel + kNoise - dot(to_target, to_target, count));
  Prediction prediction{best.expected(c) * std::exp(mean),
                        std::hypot(std::sqrt(variation * unknown), kLeastError)};
  return prediction;
}

OperatorCurves::Curve::Curve(std::span<const OperatorPoint> of_group) : measured(of_group) {
  for (const OperatorPoint& point : measured) best.see(point);
  std::vector<double> slowness;
  slowness.reserve(measured.size());
  points.reserve(measured.size());
  for (const OperatorPoint& point : measured) {
    slowness.push_back(std::log(point.seconds / best.expected(point.what)));
    points.push_back({place_of(point.what), 0, slowness.back()});
  }
  std::ranges::nth_element(slowness, slowness.begin() + static_cast<std::ptrdiff_t>(slowness.size() / 2));
  middle = slowness[slowness.size() / 2];
}

void OperatorCurves::Curve::add(const Curve& other, double apart) {
  for (std::size_t i = 0; i < other.measured.size(); ++i) {
    points.push_back(other.points[i]);
    points.back().apart = apart;
  }
}

/// The points of one group, which are never none, and the curve through them once it was asked for.
struct OperatorCurves::Group {
  std::span<const OperatorPoint> measured;
  mutable std::once_flag once = {};
  mutable std::optional<Curve> curve = {};

  [[nodiscard]] const OperatorCase& what() const { return measured.front().what; }
};

struct OperatorCurves::Groups {
  std::vector<OperatorPoint> points;  ///< by case, so that groups are neighbours
  std::deque<Group> groups = {};      ///< by class, direction, arithmetic; they do not move

  [[nodiscard]] const Curve& curve(const Group& group) const {
    std::call_once(group.once, [&] { group.curve = prepared(group); });
    return *group.curve;
  }

  /// Points of other arithmetics are placed by what is expected in theirs.
  [[nodiscard]] Curve prepared(const Group& group) const {
    Curve curve(group.measured);
    const OperatorCase& what = group.what();
    for (const Group& other : groups) {
      if (&other == &group || other.what().operator_class != what.operator_class ||
          other.what().direction != what.direction)
        continue;
      if (const auto apart = distance_of(what.operator_class, what.arithmetic, other.what().arithmetic))
        curve.add(Curve(other.measured), *apart);
    }
    return curve;
  }
};

OperatorCurves::OperatorCurves(std::span<const OperatorPoint> points) {
  const auto groups = std::make_shared<Groups>(std::vector(points.begin(), points.end()));
  if (!std::ranges::is_sorted(groups->points, {}, &OperatorPoint::what))
    std::ranges::stable_sort(groups->points, {}, &OperatorPoint::what);
  for (std::span<const OperatorPoint> rest = groups->points; !rest.empty();) {
    const auto end = std::ranges::find_if_not(
        rest, [&](const OperatorPoint& point) { return same_group(point.what, rest.front().what); });
    const auto count = static_cast<std::size_t>(end - rest.begin());
    groups->groups.emplace_back(rest.first(count));
    rest = rest.subspan(count);
  }
  groups_ = groups;
}

const OperatorCurves::Curve* OperatorCurves::curve_of(const OperatorCase& c) const {
  const auto group =
      std::ranges::find_if(groups_->groups, [&](const Group& g) { return same_group(g.what(), c); });
  return group == groups_->groups.end() ? nullptr : &groups_->curve(*group);
}

std::optional<Prediction> OperatorCurves::predict(const OperatorCase& c) const {
  const Curve* curve = curve_of(c);
  return curve == nullptr ? std::nullopt : curve->predict(c);
}

std::optional<double> OperatorCurves::best_rate(const OperatorCase& c) const {
  const Curve* curve = curve_of(c);
  return curve == nullptr || curve->best.flops_per_second <= 0 ? std::nullopt
                                                               : std::optional(curve->best.flops_per_second);
}

std::optional<double> OperatorCurves::workspace(const OperatorCase& c, Near near) const {
  const Curve* curve = curve_of(c);
  if (curve == nullptr) return std::nullopt;
  const auto exact = std::ranges::lower_bound(curve->measured, c, {}, &OperatorPoint::what);
  if (exact != curve->measured.end() && exact->what == c && exact->workspace) return exact->workspace;
  if (near == Near::same) return std::nullopt;
  const OperatorPlace place = place_of(c);
  const OperatorPoint* nearest = nullptr;
  double least = kAlike * kAlike;
  for (std::size_t i = 0; i < curve->measured.size(); ++i) {
    const OperatorPoint& point = curve->measured[i];
    if (!point.workspace) continue;
    const double squared = squared_distance(place, curve->points[i].place, least);
    if (squared >= least) continue;
    least = squared;
    nearest = &point;
  }
  if (nearest == nullptr) return std::nullopt;
  const double bytes = work_of(nearest->what).bytes();
  return bytes > 0 ? std::optional(*nearest->workspace / bytes * work_of(c).bytes()) : std::nullopt;
}

std::vector<OperatorCase> OperatorCurves::slower_than_alike(double factor) const {
  std::vector<OperatorCase> slow;
  for (const Group& group : groups_->groups) {
    const Curve& curve = groups_->curve(group);
    for (std::size_t i = 0; i < curve.measured.size(); ++i) {
      const OperatorPoint& point = curve.measured[i];
      const auto predicted = curve.predict(point.what, i);
      if (predicted && point.seconds > factor * predicted->seconds) slow.push_back(point.what);
    }
  }
  return slow;
}

std::vector<ClassFit> OperatorCurves::fits() const {
  std::vector<ClassFit> fits;
  for (const Group& group : groups_->groups) {
    const Curve& curve = groups_->curve(group);
    ClassFit fit{group.what().operator_class, group.what().direction, group.what().arithmetic,
                 static_cast<std::int64_t>(curve.measured.size())};
    double efficiency = 0;
    std::vector<double> errors;
    for (std::size_t i = 0; i < curve.measured.size(); ++i) {
      const OperatorPoint& point = curve.measured[i];
      efficiency += std::log(curve.best.floor(point.what) / point.seconds);
      if (const auto predicted = curve.predict(point.what, i))
        errors.push_back(std::fabs(std::log(predicted->seconds / point.seconds)));
    }
    fit.efficiency = std::exp(efficiency / static_cast<double>(curve.measured.size()));
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
