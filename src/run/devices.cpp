#include "run/devices.hpp"

#include <charconv>

#include "base/printable.hpp"

namespace plimsoll::running {
namespace {

ChosenDevice device_number(const nvml::Library& nvml, unsigned number) {
  ChosenDevice out;
  out.number = number;
  out.uuid = nvml.uuid(number).value_or(fmt::format("{}", number));
  out.name = nvml.name(number).value_or("");
  if (const auto memory = nvml.memory(number)) out.total = memory->total;
  return out;
}

Result<ChosenDevice> choose(const nvml::Library* nvml, const std::string& name) {
  if (name.starts_with("MIG-")) return ChosenDevice{.uuid = name};
  if (nvml == nullptr)
    return std::unexpected(Error{fmt::format("there is no GPU '{}': this machine has none", printable(name)),
                                 {},
                                 "Leave the device out to run without one.",
                                 Error::Kind::machine_lacks});
  const unsigned count = nvml->device_count().value_or(0);
  unsigned number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (error == std::errc() && end == name.data() + name.size() && number < count)
    return device_number(*nvml, number);
  std::optional<ChosenDevice> found;
  if (name.starts_with("GPU-"))
    for (unsigned i = 0; i < count; ++i)
      if (nvml->uuid(i).value_or("").starts_with(name)) {
        if (found) return fail("'{}' is the beginning of several GPUs' UUIDs", printable(name));
        found = device_number(*nvml, i);
      }
  if (found) return *found;
  return std::unexpected(
      Error{fmt::format("there is no GPU '{}': this machine has {}", printable(name), count),
            {},
            "`plimsoll top --once` lists them.",
            Error::Kind::machine_lacks});
}

}  // namespace

Result<std::vector<ChosenDevice>> choose_devices(const nvml::Library* nvml,
                                                 const std::vector<std::string>& names) {
  std::vector<ChosenDevice> out;
  for (const std::string& name : names) {
    Result<ChosenDevice> device = choose(nvml, name);
    if (!device) return std::unexpected(std::move(device).error());
    out.push_back(*std::move(device));
  }
  return out;
}

std::vector<ChosenDevice> visible_devices(const nvml::Library* nvml,
                                          const std::optional<std::string>& visible) {
  std::vector<ChosenDevice> out;
  if (nvml == nullptr) return out;
  if (!visible) {
    for (unsigned i = 0; i < nvml->device_count().value_or(0); ++i) out.push_back(device_number(*nvml, i));
    return out;
  }
  // As CUDA reads it: up to the first entry that names no device.
  std::string_view rest = *visible;
  while (!rest.empty()) {
    const auto end = std::min(rest.find(','), rest.size());
    const auto device = choose(nvml, std::string(rest.substr(0, end)));
    if (!device) break;
    out.push_back(*device);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return out;
}

std::string device_list(const std::vector<ChosenDevice>& devices) {
  std::string out;
  for (const ChosenDevice& device : devices) out += (out.empty() ? "" : ",") + device.uuid;
  return out;
}

Admission admit(const std::optional<Need>& need, const std::optional<Room>& room) {
  if (!need || !room) return Admission::start;
  if (need->bytes > room->total) return Admission::never;
  return need->bytes <= room->free - room->promised ? Admission::start : Admission::wait;
}

}  // namespace plimsoll::running
