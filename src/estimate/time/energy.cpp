#include "estimate/time/energy.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include <fmt/format.h>

#include "estimate/profile/roofline.hpp"
#include "hardware/ceilings.hpp"

namespace plimsoll::estimate {
namespace {

using hardware::Arithmetic;
using hardware::Ceiling;
using hardware::ceiling_named;

// Power over idle grows with the share of a ceiling that is reached, to this exponent. From the power that
// three trainings drew on an H200, at 13 to 54 % of SM activity (docs/time.md).
constexpr double kExponent = 0.45;
// A kernel that streams two-byte values computes twice as often per byte as a triad of floats: sums of bf16
// values drew 453 W over idle on an H200, the triad 334 W at the same rate (bench/device/power_limit.py).
constexpr double kHalfStream = 1.36;

// Standard deviation of log(power true / predicted), where the time is right: of networks on the H200 by its
// calibration, and where a board's limit stands for all that it draws (docs/time.md).
constexpr double kPowerError = 0.13, kPowerDatasheetError = 0.25;
constexpr double kPowerNormal95 = 1.96;
// To see how much of the time's error is the energy's: joules if all took this much longer.
constexpr double kLonger = 1.01;

// Where only the board's limit is known, as an H200's calibration has them: what is drawn idle, at full
// bandwidth and at full rate, as shares of the limit; and what of the datasheet's peaks is reached then.
constexpr double kIdleShare = 0.17, kMemoryShare = 0.48, kProductShare = 0.82;
constexpr double kReachedBandwidth = 0.86, kReachedRate = 0.7;

bool on_vector_units(Arithmetic arithmetic) {
  return arithmetic == Arithmetic::fp32 || arithmetic == Arithmetic::fp64;
}

}  // namespace

double EnergyMeter::Load::power_at(double reached) const {
  return rate > 0 && reached > 0 ? watts * std::pow(std::min(reached / rate, 1.0), kExponent) : 0;
}

EnergyMeter::EnergyMeter(const hardware::Device& device, bool calibrated) : device_(device) {
  if (device.power) most_ = device.power->value;
  if (calibrated && device.calibration) calibrate(*device.calibration);
  if (!idle_) take_datasheet();
}

void EnergyMeter::calibrate(const hardware::Calibration& calibration) {
  const Ceiling* idle = ceiling_named(calibration.ceilings, "idle-power");
  if (idle == nullptr) return;
  // "energy-product-bf16" in J/FLOP at the rate of "product-bf16", and so on.
  const auto load = [&](std::string_view name) -> std::optional<Load> {
    const Ceiling* energy = ceiling_named(calibration.ceilings, fmt::format("energy-{}", name));
    const Ceiling* rate = ceiling_named(calibration.ceilings, name);
    if (energy == nullptr || rate == nullptr) return std::nullopt;
    double watts = energy->figure.value * rate->figure.value;
    if (most_) watts = std::min(watts, *most_);
    return Load{std::max(watts - idle->figure.value, 0.0), rate->figure.value};
  };
  const auto memory = load("memory-triad"), matrix = load("product-bf16"), vector = load("product-fp32");
  if (!memory || !matrix) return;
  idle_ = idle->figure.value;
  calibrated_ = true;
  memory_ = *memory;
  matrix_ = *matrix;
  vector_ = vector.value_or(*matrix);
  if (const auto peak = rate_of(device_, Arithmetic::bf16)) reached_ = matrix_.rate / *peak;
}

void EnergyMeter::take_datasheet() {
  if (!most_ || !device_.memory_bandwidth) return;
  idle_ = kIdleShare * *most_;
  reached_ = kReachedRate;
  memory_ = {kMemoryShare * *most_, kReachedBandwidth * device_.memory_bandwidth->value};
  matrix_ = {kProductShare * *most_, 0};
  vector_ = {kProductShare * *most_, 0};
  if (const auto rate = rate_of(device_, Arithmetic::bf16)) matrix_.rate = reached_ * *rate;
  if (const auto rate = rate_of(device_, Arithmetic::fp32)) vector_.rate = reached_ * *rate;
}

/// Matrix units draw the same power in every format: a slower one's full rate is as much lower.
std::optional<double> EnergyMeter::product_rate(Arithmetic arithmetic) const {
  if (arithmetic == Arithmetic::fp32) return vector_.rate;
  const auto peak = rate_of(device_, arithmetic);
  return peak ? std::optional(*peak * reached_) : std::nullopt;
}

double EnergyMeter::joules_of(const hardware::OperatorWork& work, Arithmetic arithmetic, double seconds,
                              double idle_seconds) const {
  const double busy = seconds - idle_seconds;
  if (busy <= 0) return *idle_ * seconds;
  const Load& units = on_vector_units(arithmetic) ? vector_ : matrix_;
  double watts = memory_.power_at(work.bytes() / busy);
  if (work.macs == 0 && (arithmetic == Arithmetic::bf16 || arithmetic == Arithmetic::fp16))
    watts *= kHalfStream;
  if (const auto rate = product_rate(arithmetic))
    watts += Load{units.watts, *rate}.power_at(work.flops_at_peak() / busy);
  if (most_) watts = std::min(watts, *most_ - *idle_);
  return *idle_ * seconds + watts * busy;
}

void EnergyMeter::add(const hardware::OperatorWork& work, Arithmetic arithmetic, Seconds seconds,
                      Seconds waiting, double times) {
  if (!idle_ || seconds <= Seconds()) return;
  const double idle = (waiting + kernel_gap(device_)).value();
  joules_ += times * joules_of(work, arithmetic, seconds.value(), idle);
  longer_joules_ += times * joules_of(work, arithmetic, kLonger * seconds.value(), kLonger * idle);
}

std::optional<Watts> EnergyMeter::idle() const {
  return idle_ ? std::optional(Watts(*idle_)) : std::nullopt;
}

std::optional<EnergyEstimate> EnergyMeter::estimate(Seconds seconds, Seconds high) const {
  if (!idle_) return std::nullopt;
  EnergyEstimate out{Joules(joules_), Joules(joules_), Joules(joules_)};
  if (joules_ <= 0 || seconds <= Seconds()) return out;
  // A pass that takes longer draws less power meanwhile, since as much is done: about two thirds of the
  // time's error are the energy's.
  const double of_time = std::log(longer_joules_ / joules_) / std::log(kLonger);
  const double of_power = kPowerNormal95 * (calibrated_ ? kPowerError : kPowerDatasheetError);
  const double apart = std::hypot(of_time * std::log(high / seconds), of_power);
  out.low = out.joules * std::exp(-apart);
  out.high = out.joules * std::exp(apart);
  if (most_) out.high = std::max(out.joules, std::min(out.high, Watts(*most_) * high));
  return out;
}

}  // namespace plimsoll::estimate
