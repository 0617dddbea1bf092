#include "estimate/cost.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace plimsoll::estimate {
namespace {

constexpr double kJoulesPerKilowattHour = 3.6e6;

std::optional<FlopsPerSecond> catalogue_rate(const hardware::Offer& offer, hardware::Arithmetic arithmetic,
                                             std::span<const hardware::Device> devices) {
  const auto device = std::ranges::find(devices, offer.device, &hardware::Device::id);
  if (device == devices.end()) return std::nullopt;
  const auto peak = hardware::peak_rate(*device, arithmetic);
  return peak ? std::optional(*peak * static_cast<double>(offer.devices)) : std::nullopt;
}

}  // namespace

std::optional<HourlyRate> hourly_rate_of(const hardware::Offer& offer) {
  const auto hourly = hardware::hourly(offer);
  if (!hourly) return std::nullopt;
  HourlyRate rate{*hourly / static_cast<double>(offer.devices), offer.name, offer.source, offer.date};
  if (offer.devices > 1) rate.basis += fmt::format(" / {}", offer.devices);
  rate.basis += fmt::format(", {}", name(offer.terms));
  if (offer.years > 0) {
    rate.basis += fmt::format(" for {} years, spread over every hour of them", offer.years);
    rate.provenance = Provenance::assumed;
  }
  if (!offer.region.empty()) rate.basis += ", " + offer.region;
  return rate;
}

Costs costs(const HourlyRate& rate, double devices, Seconds time, std::int64_t batch,
            std::optional<double> steps_per_epoch, double epochs) {
  Costs out;
  out.per_pass = rate.per_device * time * devices;
  out.per_million = out.per_pass * (1e6 / static_cast<double>(std::max<std::int64_t>(1, batch)));
  if (steps_per_epoch) {
    out.per_epoch = out.per_pass * *steps_per_epoch;
    out.whole = *out.per_epoch * epochs;
  }
  return out;
}

Footprint footprint(Joules energy, const hardware::Overhead& overhead, const hardware::Grid* grid) {
  Footprint out{.device = energy,
                .kilowatt_hours = energy.value() * overhead.pue / kJoulesPerKilowattHour,
                .basis = fmt::format("PUE {:g} ({})", overhead.pue, overhead.name)};
  if (grid != nullptr) {
    out.carbon = Kilograms(out.kilowatt_hours * grid->grams_per_kwh / 1000);
    out.basis += fmt::format(", {} g CO2e per kWh in {} ({})", grid->grams_per_kwh, grid->iso, grid->year);
  }
  return out;
}

std::vector<MoneyPerRate> money_per_rate(std::span<const hardware::Offer> offers,
                                         std::span<const hardware::Device> devices) {
  std::vector<MoneyPerRate> rows;
  for (const hardware::Offer& offer : offers)
    for (int i = 0; i < hardware::kArithmetics; ++i) {
      const auto arithmetic = static_cast<hardware::Arithmetic>(i);
      const auto& stated = offer.stated[static_cast<std::size_t>(i)];
      const bool lists_rates = std::ranges::any_of(offer.stated, [](const auto& r) { return r.has_value(); });
      // A list that states its rates is taken at its word: mixing them with a catalogue's would compare two
      // years.
      const auto rate = lists_rates ? stated : catalogue_rate(offer, arithmetic, devices);
      if (!rate) continue;
      const double money = offer.price ? offer.price->value() : offer.per_hour->value();
      rows.push_back({&offer, arithmetic, *rate, stated.has_value(), money / (rate->value() / 1e12),
                      !offer.price.has_value()});
    }
  return rows;
}

}  // namespace plimsoll::estimate
