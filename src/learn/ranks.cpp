#include "learn/ranks.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <utility>
#include <vector>

#include "base/statistics.hpp"
#include "learn/distributions.hpp"

namespace plimsoll::learn {
namespace {

constexpr std::size_t kExactBelow = 8;  ///< on one side, as scipy draws the line
constexpr std::size_t kMostPairs = 4'000'000;

/// P(U = 0), P(U = 1), … for two samples without ties. The ways to reach each sum are Gauss's polynomial,
/// made factor by factor, (1 - x^(other + k)) / (1 - x^k): whole numbers, exact in a double up to 8 of 370
/// values.
std::vector<double> distribution_of_u(std::size_t one, std::size_t other) {
  const std::size_t most = one * other;
  std::vector<double> ways(most + 1, 0.0);
  ways[0] = 1;
  const std::size_t few = std::min(one, other), many = std::max(one, other);
  for (std::size_t k = 1; k <= few; ++k) {
    for (std::size_t u = most; u >= many + k; --u) ways[u] -= ways[u - many - k];
    for (std::size_t u = k; u <= most; ++u) ways[u] += ways[u - k];
  }
  const double all = std::accumulate(ways.begin(), ways.end(), 0.0);
  for (double& way : ways) way /= all;
  return ways;
}

bool exact_for(std::size_t one, std::size_t other, bool ties) {
  return !ties && std::min(one, other) <= kExactBelow && one * other <= kMostPairs;
}

struct Ranks {
  double sum = 0;   ///< of the first's
  double ties = 0;  ///< t³ - t over all groups of equals
};

Ranks ranks_of(std::span<const double> one, std::span<const double> other) {
  std::vector<std::pair<double, bool>> all;
  for (const double value : one) all.emplace_back(value, true);
  for (const double value : other) all.emplace_back(value, false);
  std::ranges::sort(all);
  Ranks out;
  for (std::size_t i = 0; i < all.size();) {
    std::size_t end = i, own = 0;
    for (; end < all.size() && all[end].first == all[i].first; ++end) own += all[end].second ? 1 : 0;
    const auto equals = static_cast<double>(end - i);
    out.sum += static_cast<double>(own) * (static_cast<double>(i + 1 + end) / 2);
    out.ties += equals * equals * equals - equals;
    i = end;
  }
  return out;
}

/// How many of the sorted differences lie below the interval's lower end; nothing where there are too few.
std::optional<std::size_t> left_out(std::size_t one, std::size_t other, double tail) {
  if (exact_for(one, other, false)) {
    const std::vector<double> shares = distribution_of_u(one, other);
    double below = 0;
    std::size_t count = 0;
    while (count < shares.size() && below + shares[count] <= tail) below += shares[count++];
    return count == 0 ? std::nullopt : std::optional(count - 1);
  }
  const double a = static_cast<double>(one), b = static_cast<double>(other);
  const double place = a * b / 2 + normal_quantile(tail) * std::sqrt(a * b * (a + b + 1) / 12);
  if (place < 1) return std::nullopt;
  return static_cast<std::size_t>(place) - 1;
}

}  // namespace

std::optional<RankTest> mann_whitney(std::span<const double> one, std::span<const double> other) {
  if (one.empty() || other.empty()) return std::nullopt;
  const auto a = static_cast<double>(one.size()), b = static_cast<double>(other.size());
  const Ranks ranks = ranks_of(one, other);
  RankTest out{.statistic = ranks.sum - a * (a + 1) / 2};
  const double larger = std::max(out.statistic, a * b - out.statistic);
  if (exact_for(one.size(), other.size(), ranks.ties > 0)) {
    const std::vector<double> shares = distribution_of_u(one.size(), other.size());
    double above = 0;
    for (std::size_t u = shares.size(); u-- > static_cast<std::size_t>(larger);) above += shares[u];
    out.exact = true;
    out.p = std::min(1.0, 2 * above);
    return out;
  }
  const double n = a + b;
  const double spread = std::sqrt(a * b / 12 * (n + 1 - ranks.ties / (n * (n - 1))));
  // All are equal: no order is any evidence.
  if (!(spread > 0)) return out;
  const double z = (larger - a * b / 2 - 0.5) / spread;
  out.p = std::clamp(2 * normal_share_below(-z), 0.0, 1.0);
  return out;
}

double least_p(std::size_t one, std::size_t other) {
  double orders = 1;
  for (std::size_t i = 1; i <= std::min(one, other) && orders < 1e300; ++i)
    orders *= static_cast<double>(std::max(one, other) + i) / static_cast<double>(i);
  return std::min(1.0, 2 / orders);
}

std::optional<Interval> hodges_lehmann_ratio(std::span<const double> one, std::span<const double> other,
                                             double confidence) {
  const auto usable = [](double value) { return value > 0 && std::isfinite(value); };
  if (one.empty() || other.empty() || one.size() * other.size() > kMostPairs ||
      !std::ranges::all_of(one, usable) || !std::ranges::all_of(other, usable))
    return std::nullopt;
  std::vector<double> differences;
  for (const double value : one)
    for (const double against : other) differences.push_back(std::log(value) - std::log(against));
  std::ranges::sort(differences);
  Interval out{std::exp(median(differences))};
  if (const auto below = left_out(one.size(), other.size(), (1 - confidence) / 2)) {
    out.low = std::exp(differences[*below]);
    out.high = std::exp(differences[differences.size() - 1 - *below]);
  }
  return out;
}

}  // namespace plimsoll::learn
