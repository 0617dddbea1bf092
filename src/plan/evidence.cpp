#include "plan/evidence.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/text.hpp"

namespace plimsoll::plan {
namespace {

using hardware::Arithmetic;
using hardware::Bound;
using hardware::Device;
using hardware::DeviceFigure;
using hardware::Latency;

/// Patches that a large GPU is given at once where nothing limits it; more changes its time per patch little.
constexpr std::int64_t kManyAtOnce = 64;

ImageTime of_image(const Known& pass, std::int64_t batch, std::int64_t patches) {
  const double passes = std::ceil(static_cast<double>(patches) / static_cast<double>(batch));
  ImageTime out{.pass = pass, .image = pass, .batch = batch};
  if (passes > 1) out.image = times(pass, passes, fmt::format("times {} passes an image", passes));
  return out;
}

bool is_of(const Latency& latency, const std::string& network, Arithmetic arithmetic) {
  return latency.network == network && latency.arithmetic == arithmetic;
}

DeviceFigure with_conditions(const Latency& latency) {
  DeviceFigure figure = latency.seconds;
  if (!latency.conditions.empty()) figure.source += " (" + latency.conditions + ")";
  return figure;
}

/// Measured elsewhere on the same core: cycles stay, the clock does not. Memories and wait states are taken
/// to be alike, so the result is derived, not measured.
std::optional<ImageTime> scaled(const Question& question, const std::string& network, const Device& device,
                                Arithmetic arithmetic, std::span<const Device> catalogue) {
  if (!device.board || device.board->core.empty() || !device.board->clock) return std::nullopt;
  for (const Device& other : catalogue) {
    if (other.id == device.id || !other.board || other.board->core != device.board->core ||
        !other.board->clock)
      continue;
    for (const Latency& latency : other.board->latencies) {
      if (!is_of(latency, network, arithmetic) || latency.seconds.bound != Bound::exact) continue;
      const double theirs = other.board->clock->value;
      const double ours = device.board->clock->value;
      DeviceFigure figure = latency.seconds;
      figure.value *= theirs / ours;
      figure.provenance = Provenance::assumed;
      figure.source =
          fmt::format("derived: {:g} ms on {} ({}) x {:g} / {:g} MHz", latency.seconds.value * 1e3, other.id,
                      latency.seconds.source, theirs / 1e6, ours / 1e6);
      return of_image(known(std::move(figure)), latency.batch, question.patches);
    }
  }
  return std::nullopt;
}

std::optional<ImageTime> estimated(const Question& question, std::size_t variant, const Device& device,
                                   Arithmetic arithmetic, const Estimators& estimators) {
  if (!estimators.pass) return std::nullopt;
  const std::int64_t batch = batch_for(device, question.patches);
  const Result<Pass> pass = estimators.pass(variant, device, arithmetic, batch);
  if (!pass) return std::nullopt;
  DeviceFigure figure{pass->time.value(), pass->provenance, pass->source};
  ImageTime out =
      of_image(known(std::move(figure), pass->low.value(), pass->high.value()), batch, question.patches);
  if (pass->energy) {
    const double passes = out.image.figure.value / out.pass.figure.value;
    out.energy = times(known({pass->energy->value(), pass->provenance, pass->source},
                             pass->low_energy.value_or(*pass->energy).value(),
                             pass->high_energy.value_or(*pass->energy).value()),
                       passes);
  }
  return out;
}

std::optional<ImageTime> floor_of(const Question& question, std::size_t variant, const Device& device,
                                  Arithmetic arithmetic, const Estimators& estimators) {
  const auto peak = hardware::peak_rate(device, arithmetic);
  if (!peak || !estimators.work) return std::nullopt;
  const DeviceFigure& sheet = *device.peak_of(arithmetic);
  DeviceFigure figure{
      (estimators.work(variant) / *peak).value(), sheet.provenance,
      fmt::format("floor: its operations at the peak rate of {} ({})", text(*peak), sheet.source), sheet.date,
      Bound::more_than};
  return of_image(known(std::move(figure)), 1, question.patches);
}

}  // namespace

std::int64_t batch_for(const Device& device, std::int64_t patches) {
  std::int64_t most = device.kind == hardware::DeviceKind::gpu ? kManyAtOnce : 1;
  if (device.board && device.board->most_at_once) most = *device.board->most_at_once;
  return std::clamp<std::int64_t>(patches, 1, std::max<std::int64_t>(1, most));
}

std::vector<ImageTime> image_times(const Question& question, std::size_t variant, const Device& device,
                                   Arithmetic arithmetic, std::span<const Device> catalogue,
                                   const Estimators& estimators) {
  const std::string& network = question.variants[variant].name;
  std::vector<ImageTime> out;
  std::vector<ImageTime> bounds;
  if (device.board)
    for (const Latency& latency : device.board->latencies)
      if (is_of(latency, network, arithmetic))
        (latency.seconds.bound == Bound::exact ? out : bounds)
            .push_back(of_image(known(with_conditions(latency)), latency.batch, question.patches));
  if (auto derived = scaled(question, network, device, arithmetic, catalogue))
    out.push_back(*std::move(derived));
  out.insert(out.end(), bounds.begin(), bounds.end());
  if (!out.empty() && out.front().image.figure.bound == Bound::exact) return out;
  if (auto guess = estimated(question, variant, device, arithmetic, estimators))
    out.push_back(*std::move(guess));
  if (auto floor = floor_of(question, variant, device, arithmetic, estimators))
    out.push_back(*std::move(floor));
  return out;
}

std::optional<Known> peak_power(const Device& device) {
  if (device.board && device.board->peak_power) return known(*device.board->peak_power);
  if (device.power) return known(*device.power);
  return std::nullopt;
}

std::optional<Known> energy_ceiling(const Device& device, const Known& image) {
  if (!std::isfinite(image.high)) return std::nullopt;
  std::optional<Known> power = peak_power(device);
  // A board known only to draw more than something still keeps below the limit that its maker states.
  if (power && !std::isfinite(power->high) && device.power) power = known(*device.power);
  if (!power || !std::isfinite(power->high)) return std::nullopt;
  return known({power->high * image.high,
                std::max(power->figure.provenance, image.figure.provenance),
                "peak power times the time of an image: a ceiling",
                {},
                Bound::at_most});
}

}  // namespace plimsoll::plan
