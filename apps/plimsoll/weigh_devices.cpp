#include "weigh_devices.hpp"

#include <fmt/format.h>

#include "estimate/floor.hpp"
#include "hardware/catalogue.hpp"
#include "hardware/this_machine.hpp"
#include "plan/several.hpp"
#include "program/lowering.hpp"
#include "weigh_measurement.hpp"

namespace plimsoll {
namespace {

using hardware::Device;
using hardware::DeviceKind;

constexpr double kPlenty = 0.8;  ///< of the capacity; what needs less is not tight

/// A GPU of this machine has what its users leave.
Result<WeighTarget> target_here(Device device, std::optional<unsigned> gpu, const WeighOptions& options,
                                const GpuWatch& watch) {
  std::optional<GpuUse> use;
  if (gpu) {
    use = watch.use(*gpu);
    leave_to_users(device, *use);
  }
  Result<CalibratedDevice> calibrated = with_calibration(std::move(device), options.calibration, true);
  PLIMSOLL_TRY(calibrated);
  return WeighTarget{*std::move(calibrated), true, true, std::move(use)};
}

Result<WeighTarget> target_named(const std::string& name, const WeighOptions& options,
                                 const GpuWatch& watch) {
  Result<Device> device = hardware::device_named(name);
  PLIMSOLL_TRY(device);
  const bool gpu = device->kind == DeviceKind::gpu;
  if (hardware::names_this_machine(name))
    return target_here(*std::move(device), gpu ? std::optional(0U) : std::nullopt, options, watch);
  Result<CalibratedDevice> calibrated = with_calibration(*std::move(device), options.calibration);
  PLIMSOLL_TRY(calibrated);
  return WeighTarget{*std::move(calibrated), false, true};
}

/// Where nobody named any.
Result<std::vector<WeighTarget>> usual_targets(const WeighOptions& options, const GpuWatch& watch) {
  const auto& catalogue = hardware::built_in_catalogue();
  PLIMSOLL_TRY(catalogue);
  const Result<hardware::ThisMachine> machine = hardware::this_machine();
  PLIMSOLL_TRY(machine);
  std::vector<WeighTarget> out;
  for (unsigned number = 0; number < machine->gpus.size(); ++number) {
    Result<WeighTarget> gpu = target_here(machine->gpus[number], number, options, watch);
    PLIMSOLL_TRY(gpu);
    out.push_back(*std::move(gpu));
  }
  // --calibration is of the GPU where there is one.
  WeighOptions of_cpu = options;
  if (!out.empty() && of_cpu.calibration != "none") of_cpu.calibration.clear();
  Result<WeighTarget> cpu = target_here(machine->cpu, std::nullopt, of_cpu, watch);
  PLIMSOLL_TRY(cpu);
  cpu->in_full = out.empty();
  out.push_back(*std::move(cpu));
  for (const Device* device : catalogue->well_known()) {
    Result<CalibratedDevice> known =
        with_calibration(*device, options.calibration == "none" ? "none" : std::string());
    PLIMSOLL_TRY(known);
    out.push_back({*std::move(known), false, false});
  }
  return out;
}

/// Only a calibration tells how fast a CPU is: no datasheet has the bandwidth of its memory.
std::string why_no_time(const WeighTarget& target, const Error& error) {
  if (target.here && target.calibrated.device.kind == DeviceKind::cpu && !target.calibrated.curves)
    return fmt::format(
        "`plimsoll probe cpu --calibrate` measures what this machine takes, once, in a few minutes{}",
        has_engine() ? "" : " (it needs `make engine`)");
  return error.text();
}

}  // namespace

Result<std::vector<WeighTarget>> weigh_targets(const WeighOptions& options, const GpuWatch& watch) {
  if (options.devices.empty()) return usual_targets(options, watch);
  std::vector<WeighTarget> out;
  for (const std::string& name : options.devices) {
    Result<WeighTarget> target = target_named(name, options, watch);
    PLIMSOLL_TRY(target);
    out.push_back(*std::move(target));
  }
  return out;
}

const Result<program::Program>& Scales::program_for(const program::Platform& platform) {
  for (const auto& [known, program] : programs_)
    if (known == platform) return program;
  programs_.emplace_back(platform,
                         program::lower(batches_.network(), shapes_, options_.inspect.setting, platform));
  return programs_.back().second;
}

Status Scales::add_room(report::WeighedDevice& row, const estimate::Target& target) {
  const network::Setting& setting = options_.inspect.setting;
  const std::int64_t batch = batches_.batch_in(shapes_);
  const auto again = [&](std::int64_t n) { return batches_.shapes(n == batch ? 0 : n); };
  const bool fits = row.memory->fits.value_or(true);
  // A device that is only named in passing, and has plenty, need not tell how much: the search is the dearest
  // part of the answer.
  const bool every_figure = options_.json || options_.floors || !options_.html.empty();
  const bool plenty = row.memory->capacity && row.memory->minimum_device() / *row.memory->capacity < kPlenty;
  if (!row.in_full && plenty && !every_figure) return {};
  if (auto largest = estimate::largest_batch(batches_.network(), again, setting, target))
    row.largest = *largest;
  if (fits) return {};
  auto remedies = estimate::remedies(batches_.network(), again, batch, setting, target);
  PLIMSOLL_TRY(remedies);
  row.remedies = *std::move(remedies);
  if (row.in_full && row.device.kind == DeviceKind::gpu)
    if (auto several = plan::several_devices(batches_.network(), again, batch, setting, target))
      row.several = *std::move(several);
  return {};
}

Result<report::WeighedDevice> Scales::weigh(const WeighTarget& target) {
  const Device& device = target.calibrated.device;
  report::WeighedDevice row{.device = device,
                            .floors = estimate::floors(needs_, device, options_.inspect.setting.precision),
                            .here = target.here,
                            .in_full = target.in_full,
                            .use = target.use};
  if (!target.calibrated.note.empty()) row.notes.push_back(target.calibrated.note);
  const network::Setting& setting = options_.inspect.setting;
  const estimate::Target place{&row.device, target.calibrated.curves.get()};
  const Result<program::Program>& program = program_for(place.platform(setting));
  if (!program) return std::unexpected(Error(program.error()).within(options_.model));
  auto memory = estimate::estimate_memory(batches_.network(), *program, setting, device);
  if (!memory) return std::unexpected(std::move(memory).error().within(options_.model));
  row.memory = *std::move(memory);
  PLIMSOLL_TRY(add_room(row, place));
  if (auto time = estimate::estimate_time(*program, setting, place))
    row.time = *std::move(time);
  else
    row.no_time = why_no_time(target, time.error());
  return row;
}

}  // namespace plimsoll
