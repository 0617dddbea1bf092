#include "hardware/this_machine.hpp"

#include <algorithm>

#include "base/printable.hpp"
#include "base/text.hpp"
#include "hardware/cpu.hpp"

namespace plimsoll::hardware {
namespace {

/// "NVIDIA A10G" as an id: "nvidia-a10g".
std::string as_id(std::string_view name) {
  std::string id;
  for (const char c : lower_case(name)) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    if (plain)
      id += c;
    else if (!id.empty() && id.back() != '-')
      id += '-';
  }
  while (id.ends_with('-')) id.pop_back();
  return id.empty() ? "gpu" : id;
}

Device unlisted(const Catalogue& catalogue, const std::string& name) {
  Device device;
  device.id = as_id(name);
  device.name = name;
  device.vendor = "NVIDIA";
  const auto slice = name.find(" MIG ");
  const Device* whole =
      slice == name.npos ? nullptr : catalogue.reported_as(std::string_view(name).substr(0, slice));
  device.notes.push_back(
      whole != nullptr ? fmt::format("A MIG slice of {}: its rates are a part of that GPU's.", whole->id)
                       : "Not in the catalogue: only what the driver tells is known.");
  return device;
}

Device describe_gpu(const Catalogue& catalogue, const nvml::Library& library, unsigned index) {
  const std::string name = printable(library.name(index).value_or("NVIDIA GPU"), 96);
  const Device* listed = catalogue.reported_as(name);
  Device device = listed != nullptr ? *listed : unlisted(catalogue, name);
  const auto seen = [](double value, const char* what) {
    return DeviceFigure{value, Provenance::measured, what};
  };
  if (const auto memory = library.memory(index); memory && memory->total > Bytes(0)) {
    const Bytes reserved = memory->reserved.value_or(Bytes(0));
    device.memory = seen(static_cast<double>(memory->total.count()), "NVML, total");
    device.usable_memory = seen(static_cast<double>((memory->total - reserved).count()),
                                memory->reserved ? "NVML, total less reserved" : "NVML, total");
  }
  if (const auto capability = library.compute_capability(index)) device.compute_capability = *capability;
  if (const auto limit = library.enforced_power_limit(index); limit && *limit > Watts(0))
    device.power = seen(limit->value(), "NVML, enforced limit");
  return device;
}

}  // namespace

ThisMachine describe_machine(const Catalogue& catalogue, const nvml::Library* library,
                             const std::filesystem::path& root) {
  ThisMachine machine{.cpu = describe(read_cpu(root))};
  if (library == nullptr) return machine;
  const auto count = library->device_count();
  if (!count) machine.remarks.push_back(count.error().text());
  for (unsigned index = 0; index < count.value_or(0); ++index) {
    if (const auto name = library->name(index); !name) machine.remarks.push_back(name.error().text());
    machine.gpus.push_back(describe_gpu(catalogue, *library, index));
  }
  return machine;
}

Result<ThisMachine> this_machine() {
  const auto& catalogue = built_in_catalogue();
  if (!catalogue) return std::unexpected(catalogue.error());
  const auto library = nvml::open();
  ThisMachine machine = describe_machine(*catalogue, library ? library->get() : nullptr);
  if (!library) machine.remarks.push_back(library.error().text());
  return machine;
}

bool names_this_machine(std::string_view text) {
  const std::string asked = lower_case(text);
  return asked == "this" || asked == "this-cpu" || asked == "cpu";
}

Result<Device> device_named(std::string_view text) {
  const std::string asked = lower_case(text);
  if (names_this_machine(asked)) {
    auto machine = this_machine();
    if (!machine) return std::unexpected(std::move(machine).error());
    return asked == "this" ? machine->main_device() : machine->cpu;
  }
  if (asked.ends_with(".json") || asked.find('/') != asked.npos)
    return load_file(std::filesystem::path(text));
  const auto& catalogue = built_in_catalogue();
  if (!catalogue) return std::unexpected(catalogue.error());
  const auto found = catalogue->find(text);
  if (!found) return std::unexpected(found.error());
  return **found;
}

}  // namespace plimsoll::hardware
