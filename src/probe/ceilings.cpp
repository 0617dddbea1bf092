#include "probe/ceilings.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "cuda/study_sizes.hpp"

namespace plimsoll::probe {
namespace {

/// Working sets from this on are memory's own, whatever caches a device has, unless it has larger ones.
constexpr double kBeyondCaches = 0x1p28;
constexpr std::string_view kOneThread = "-one-thread";

bool is_time(std::string_view unit) {
  return unit == "s";
}

double finite_or_zero(double value) {
  return std::isfinite(value) ? value : 0;
}

}  // namespace

Median time_of(const std::vector<double>& samples) {
  const Quantile median = median_of(samples, kConfidence);
  const auto [least, most] = std::ranges::minmax(samples);
  const double width = median.low && median.high ? *median.high - *median.low : most - least;
  return {median.value, median.value > 0 ? finite_or_zero(width / 2 / median.value) : 0};
}

std::optional<Median> value_of(const Rate& rate) {
  if (rate.samples.empty()) return std::nullopt;
  if (rate.unit == "W" || rate.unit.starts_with("J/")) {
    const double whole = rate.unit == "W" ? std::accumulate(rate.samples.begin(), rate.samples.end(), 0.0)
                                          : rate.amount * static_cast<double>(rate.samples.size());
    if (!rate.joules || !(whole > 0)) return std::nullopt;
    return Median{*rate.joules / whole, 0};
  }
  const Median time = time_of(rate.samples);
  if (is_time(rate.unit)) return time;
  if (!(time.value > 0)) return std::nullopt;
  return Median{rate.amount / time.value, time.spread};
}

std::optional<Median> flops_of(const MatrixProduct& product) {
  return value_of({.name = {},
                   .unit = "FLOP/s",
                   .amount = cuda::square_product_flops(product.size),
                   .at = {},
                   .samples = product.samples});
}

const Part* part_of(const VectorAdd& add, std::string_view name) {
  const auto found = std::ranges::find(add.parts, name, &Part::name);
  return found == add.parts.end() || found->samples.empty() ? nullptr : &*found;
}

std::optional<Median> bandwidth_of(const VectorAdd& add) {
  const Part* const kernel = part_of(add, "kernel");
  if (kernel == nullptr) return std::nullopt;
  return value_of({.name = {},
                   .unit = "B/s",
                   .amount = 3.0 * sizeof(float) * static_cast<double>(add.elements),
                   .at = {},
                   .samples = kernel->samples});
}

std::optional<double> peak_of(const hardware::Device& device, std::string_view rate,
                              std::optional<double> at) {
  const auto value = [](const std::optional<hardware::DeviceFigure>& figure) {
    return figure && figure->value > 0 ? std::optional(figure->value) : std::nullopt;
  };
  if (rate.ends_with(kOneThread)) return std::nullopt;
  if (rate.starts_with("product-")) {
    const auto arithmetic = hardware::arithmetic_named(rate.substr(std::string_view("product-").size()));
    return arithmetic ? value(device.peak_of(*arithmetic)) : std::nullopt;
  }
  if (rate.starts_with("memory-") || rate == "stream-triad") {
    const double beyond =
        device.l2_cache ? std::max(kBeyondCaches, 4 * device.l2_cache->value) : kBeyondCaches;
    return at && *at < beyond ? std::nullopt : value(device.memory_bandwidth);
  }
  if (rate == "load-power") return value(device.power);
  return std::nullopt;
}

std::vector<hardware::Ceiling> ceilings_of(const Findings& findings, const hardware::Device& device,
                                           std::string_view source, std::string_view date) {
  std::vector<hardware::Ceiling> out;
  for (const Rate& rate : findings.rates) {
    const std::optional<Median> value = value_of(rate);
    if (!value) continue;
    hardware::Ceiling ceiling{.name = rate.name,
                              .figure = {.value = value->value,
                                         .provenance = Provenance::measured,
                                         .source = std::string(source),
                                         .date = std::string(date)},
                              .unit = rate.unit,
                              .spread = value->spread,
                              .at = rate.at};
    if (const auto peak = peak_of(device, rate.name, rate.at)) ceiling.share_of_peak = value->value / *peak;
    out.push_back(std::move(ceiling));
  }
  return out;
}

bool on_curve(const hardware::Ceiling& ceiling) {
  int exponent = 0;
  return ceiling.at && *ceiling.at > 0 && std::frexp(*ceiling.at, &exponent) == 0.5;
}

}  // namespace plimsoll::probe
