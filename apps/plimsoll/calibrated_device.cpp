#include "calibrated_device.hpp"

#include <fmt/format.h>

#include "base/printable.hpp"
#include "base/user_directories.hpp"
#include "hardware/catalogue.hpp"
#include "hardware/ceilings.hpp"
#include "hardware/device_file.hpp"

namespace plimsoll {
namespace {

using hardware::Calibration;
using hardware::Device;

Result<Calibration> calibration_in(const std::filesystem::path& file) {
  Result<Device> measured = hardware::load_file(file);
  PLIMSOLL_TRY(measured);
  if (!measured->calibration)
    return std::unexpected(Error{.message = fmt::format("{} has no calibration", file.string()),
                                 .hint = "`plimsoll probe --calibrate -o FILE` writes one."});
  return *std::move(measured->calibration);
}

double cores_of(const Device& device) {
  return device.multiprocessors ? device.multiprocessors->value : 0;
}

/// The one that was taken on this machine; nothing where there is none, or none of this device.
Result<std::optional<Calibration>> own_calibration(const Device& device, std::string& note) {
  const auto file = own_calibration_file(device);
  std::error_code ignored;
  if (!file || !std::filesystem::exists(*file, ignored)) return std::nullopt;
  Result<Device> measured = hardware::load_file(*file);
  if (!measured) {
    Error error = std::move(measured).error();
    error.hint =
        "it was taken by `plimsoll probe --calibrate`: take it again, remove the file, or give "
        "--calibration none";
    return std::unexpected(std::move(error));
  }
  if (measured->name != device.name || cores_of(*measured) != cores_of(device)) {
    note = fmt::format("{} was taken of another device: {}", file->string(), measured->name);
    return std::nullopt;
  }
  return std::move(measured->calibration);
}

/// A processor's datasheet has no bandwidth of its memory; its calibration does.
void add_measured_rates(Device& device) {
  if (device.memory_bandwidth || !device.calibration) return;
  for (const char* name : {"memory-triad", "memory-read"})
    if (const auto* ceiling = hardware::ceiling_named(device.calibration->ceilings, name)) {
      device.memory_bandwidth = ceiling->figure;
      return;
    }
}

}  // namespace

std::optional<std::filesystem::path> own_calibration_file(const Device& device) {
  const auto data = user_data_directory();
  if (!data || device.id.empty()) return std::nullopt;
  return *data / "calibrations" / (device.id + ".json");
}

Result<CalibratedDevice> with_calibration(Device device, const std::string& calibration,
                                          bool of_this_machine) {
  CalibratedDevice out{std::move(device)};
  std::optional<Calibration> taken;
  if (calibration == "none") {
    out.device.calibration.reset();
    return out;
  }
  if (!calibration.empty()) {
    Result<Calibration> named = calibration_in(calibration);
    PLIMSOLL_TRY(named);
    taken = *std::move(named);
  } else if (of_this_machine) {
    Result<std::optional<Calibration>> own = own_calibration(out.device, out.note);
    PLIMSOLL_TRY(own);
    taken = *std::move(own);
  }
  if (!taken) {
    Result<std::optional<Calibration>> known = hardware::calibration_of(out.device);
    PLIMSOLL_TRY(known);
    taken = *std::move(known);
  }
  out.device.calibration = std::move(taken);
  add_measured_rates(out.device);
  if (out.device.calibration && !out.device.calibration->points.empty()) {
    out.curves = std::make_shared<const hardware::OperatorCurves>(out.device.calibration->points);
    out.device.calibration->points = {};  // the curves have them, and devices are copied
  }
  return out;
}

std::vector<std::shared_ptr<const hardware::OperatorCurves>> curves_of_gpus(
    const hardware::ThisMachine* machine) {
  std::vector<std::shared_ptr<const hardware::OperatorCurves>> out;
  if (machine == nullptr) return out;
  for (const Device& gpu : machine->gpus) {
    Result<CalibratedDevice> known = with_calibration(gpu, {}, true);
    out.push_back(known ? std::move(known->curves) : nullptr);
  }
  return out;
}

}  // namespace plimsoll
