#include "weigh_costs.hpp"

#include <cmath>

#include <fmt/format.h>

#include "base/text.hpp"
#include "estimate/training.hpp"
#include "hardware/carbon.hpp"
#include "hardware/prices.hpp"
#include "quantity.hpp"

namespace plimsoll {
namespace {

constexpr double kSteps = 1000, kInferences = 1e6;

}  // namespace

Result<report::WeighedWork> weighed_work(const WeighOptions& options, const report::Weighing& weighing) {
  const auto batch = static_cast<double>(std::max<std::int64_t>(weighing.batch, 1));
  const std::string samples = fmt::format("{}s", report::sample_word(weighing.inspection));
  if (weighing.setting.mode != network::Mode::train) {
    if (!options.dataset_size.empty()) return fail("--dataset-size is of use only with --mode train");
    return report::WeighedWork{std::ceil(kInferences / batch), fmt::format("a million {}", samples)};
  }
  if (options.dataset_size.empty()) return report::WeighedWork{kSteps, "1,000 steps"};
  const Result<double> size = parse_amount(options.dataset_size, "--dataset-size");
  PLIMSOLL_TRY(size);
  const auto steps = estimate::steps_of({.samples = *size, .batch = batch});
  PLIMSOLL_TRY(steps);
  return report::WeighedWork{steps->per_epoch.value_or(0),
                             fmt::format("an epoch of {} {}", report::grouped(std::llround(*size)), samples)};
}

Status add_costs(report::Weighing& weighing, const std::string& country) {
  const auto& offers = hardware::built_in_prices();
  PLIMSOLL_TRY(offers);
  const auto& carbon = hardware::built_in_carbon();
  PLIMSOLL_TRY(carbon);
  const hardware::Grid* grid = nullptr;
  if (!country.empty()) {
    const auto found = hardware::find_grid(*carbon, country);
    PLIMSOLL_TRY(found);
    grid = *found;
    weighing.country = grid->iso;
  }
  for (report::WeighedDevice& device : weighing.devices) {
    if (!device.time) continue;
    const hardware::Offer* offer = hardware::cheapest_per_device(*offers, device.device.id);
    if (offer == nullptr) continue;
    const auto rate = estimate::hourly_rate_of(*offer);
    if (!rate) continue;
    const Seconds time = device.time->seconds * weighing.work.passes;
    report::WeighedCost cost{offer->name, offer->devices, *rate, rate->per_device * time, time};
    auto overhead = hardware::find_overhead(*carbon, lower_case(offer->provider));
    if (!overhead) overhead = hardware::find_overhead(*carbon, "average");
    PLIMSOLL_TRY(overhead);
    if (device.time->joules)
      cost.footprint = estimate::footprint(*device.time->joules * weighing.work.passes, *overhead, grid);
    device.cost = std::move(cost);
  }
  return {};
}

}  // namespace plimsoll
