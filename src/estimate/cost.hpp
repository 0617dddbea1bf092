#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/units.hpp"
#include "hardware/carbon.hpp"
#include "hardware/prices.hpp"

namespace plimsoll::estimate {

using Kilograms = Quantity<struct KilogramsTag>;

/// What an hour of one device costs, and who says so.
struct HourlyRate {
  MoneyPerHour per_device;
  std::string basis;  ///< "p5en.48xlarge / 8, on-demand, us-east, Linux"
  std::string source;
  std::string date;
  Provenance provenance = Provenance::datasheet;
};

/// Of one device of an offer: its share of the machine, whether the others have work or not. Absent where
/// the offer has no price by the hour.
[[nodiscard]] std::optional<HourlyRate> hourly_rate_of(const hardware::Offer& offer);

/// Money of passes on `devices` of them, at a rate that the reader was told.
struct Costs {
  Money per_pass;     ///< or per training step
  Money per_million;  ///< inferences, or samples seen in training
  std::optional<Money> per_epoch = {};
  std::optional<Money> whole = {};  ///< all epochs
};
/// `batch` samples in a pass of `time`. Steps are absent where how much data there is was not given.
[[nodiscard]] Costs costs(const HourlyRate& rate, double devices, Seconds time, std::int64_t batch,
                          std::optional<double> steps_per_epoch = {}, double epochs = 1);

/// What energy comes to at the wall of a data centre, and what the country's grid emits for it.
struct Footprint {
  Joules device;                         ///< what the device took
  double kilowatt_hours = 0;             ///< with the data centre's overhead
  std::optional<Kilograms> carbon = {};  ///< CO2e; absent without a country
  std::string basis;                     ///< the factors, in words
};
[[nodiscard]] Footprint footprint(Joules energy, const hardware::Overhead& overhead,
                                  const hardware::Grid* grid);

/// What a TFLOP/s of an arithmetic costs: the money of a term or purchase, or of an hour.
struct MoneyPerRate {
  const hardware::Offer* offer = nullptr;
  hardware::Arithmetic arithmetic = hardware::Arithmetic::fp32;
  FlopsPerSecond rate;       ///< of the whole machine
  bool stated = false;       ///< by the price list itself; else the catalogue's, times the devices
  double per_teraflops = 0;  ///< $ where the offer has a price, else $/h
  bool by_hour = false;
};
/// One row per offer and arithmetic for which a rate is known. `devices` is the catalogue.
[[nodiscard]] std::vector<MoneyPerRate> money_per_rate(std::span<const hardware::Offer> offers,
                                                       std::span<const hardware::Device> devices);

}  // namespace plimsoll::estimate
