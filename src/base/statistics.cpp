#include "base/statistics.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace plimsoll {
namespace {

double median_of_sorted(std::span<const double> sorted) {
  if (sorted.empty()) return std::numeric_limits<double>::quiet_NaN();
  const std::size_t middle = sorted.size() / 2;
  return sorted.size() % 2 != 0 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

std::vector<double> sorted_copy(std::span<const double> samples) {
  std::vector<double> sorted(samples.begin(), samples.end());
  std::ranges::sort(sorted);
  return sorted;
}

std::optional<double> at_rank(std::span<const double> sorted, std::size_t rank) {
  return rank == 0 ? std::nullopt : std::optional(sorted[rank - 1]);
}

double log_of_binomial(double n, double k, double p) {
  // std::lgamma writes to a global; the arguments here are never negative, so what it writes is of no use.
  int sign = 0;
  const auto log_gamma = [&sign](double x) { return ::lgamma_r(x, &sign); };
  return log_gamma(n + 1) - log_gamma(k + 1) - log_gamma(n - k + 1) + k * std::log(p) +
         (n - k) * std::log1p(-p);
}

/// The largest k with P(Binomial(n, p) <= k) <= tail; nothing where even k = 0 has more. Summed from the far
/// end of the tail, where terms are so small that those before them do not matter.
std::optional<std::size_t> lower_tail(std::size_t n, double p, double tail) {
  const auto count = static_cast<double>(n);
  const double mean = count * p, deviation = std::sqrt(count * p * (1 - p));
  double k = std::max(0.0, std::floor(mean - 12 * deviation - 12));
  double term = std::exp(log_of_binomial(count, k, p)), sum = term;
  if (sum > tail) return std::nullopt;
  while (k < count) {
    term *= (count - k) / (k + 1) * (p / (1 - p));
    if (sum + term > tail) return static_cast<std::size_t>(k);
    sum += term;
    ++k;
  }
  return n;
}

std::vector<double> medians_of(std::span<const double> samples, std::size_t group) {
  std::vector<double> medians;
  for (std::size_t i = 0; i + group <= samples.size(); i += group)
    medians.push_back(median(samples.subspan(i, group)));
  return medians;
}

}  // namespace

double median(std::span<const double> samples) {
  return median_of_sorted(sorted_copy(samples));
}

RankInterval quantile_ranks(std::size_t samples, double quantile, double confidence) {
  if (samples == 0 || !(quantile > 0 && quantile < 1) || !(confidence > 0 && confidence < 1)) return {};
  const double tail = (1 - confidence) / 2;
  RankInterval ranks;
  // The quantile lies below sample l only where at most l - 1 samples are below it; above sample u only
  // where at most n - u are above it.
  if (const auto below = lower_tail(samples, quantile, tail)) ranks.low = *below + 1;
  if (const auto above = lower_tail(samples, 1 - quantile, tail)) ranks.high = samples - *above;
  return ranks;
}

Quantile quantile_of(std::span<const double> sorted, double quantile, double confidence) {
  const auto count = static_cast<double>(sorted.size());
  // Without the small step 0.9 × 10 would be the tenth, as 0.9 is a little more in binary.
  const auto rank =
      static_cast<std::size_t>(std::clamp(std::ceil(quantile * count - 1e-9 * count), 1.0, count));
  const RankInterval ranks = quantile_ranks(sorted.size(), quantile, confidence);
  return {sorted[rank - 1], at_rank(sorted, ranks.low), at_rank(sorted, ranks.high)};
}

Quantile median_of(std::span<const double> samples, double confidence) {
  const std::vector<double> sorted = sorted_copy(samples);
  const RankInterval ranks = quantile_ranks(sorted.size(), 0.5, confidence);
  return {median_of_sorted(sorted), at_rank(sorted, ranks.low), at_rank(sorted, ranks.high)};
}

std::optional<double> relative_width(const Quantile& quantile) {
  if (!quantile.low || !quantile.high || quantile.value == 0) return std::nullopt;
  return (*quantile.high - *quantile.low) / std::abs(quantile.value);
}

std::optional<std::size_t> warm_up(std::span<const double> samples) {
  constexpr std::size_t kLeast = 10, kGroup = 5, kFromHereInGroups = 50;
  if (samples.size() < kLeast) return std::nullopt;
  const std::size_t group = samples.size() < kFromHereInGroups ? 1 : kGroup;
  const std::vector<double> series = medians_of(samples, group);
  // Sums from the end, about the last value so that equal samples give no error at all by rounding.
  const double origin = series.back();
  double sum = 0, squares = 0, best = std::numeric_limits<double>::infinity();
  std::size_t dropped = 0;
  for (std::size_t i = series.size(); i-- > 0;) {
    sum += series[i] - origin;
    squares += (series[i] - origin) * (series[i] - origin);
    const auto left = static_cast<double>(series.size() - i);
    const double error = std::max(0.0, squares - sum * sum / left) / (left * left);
    if (i > series.size() / 2 || error > best) continue;
    best = error;
    dropped = i;
  }
  if (dropped == series.size() / 2) return std::nullopt;
  return dropped * group;
}

std::string_view name(Stopped reason) {
  constexpr std::array<std::string_view, 3> kNames = {"narrow", "time", "samples"};
  return kNames[static_cast<std::size_t>(reason)];
}

std::optional<Stopped> stop(std::span<const double> samples, double elapsed_seconds,
                            const StoppingRule& rule) {
  if (samples.empty()) return std::nullopt;
  if (samples.size() >= rule.most_samples) return Stopped::samples;
  if (samples.size() >= rule.least_samples) {
    const auto width = relative_width(median_of(samples, rule.confidence));
    if (width && *width <= rule.relative_width) return Stopped::narrow;
  }
  return elapsed_seconds >= rule.seconds ? std::optional(Stopped::time) : std::nullopt;
}

std::size_t next_look(std::size_t samples) {
  return samples + std::max<std::size_t>(1, samples / 20);
}

}  // namespace plimsoll
