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

ChosenDevice chosen_slice(unsigned parent, const nvml::MigInstance& instance) {
  ChosenDevice out{
      .uuid = instance.uuid,
      .slice = SlicePlace{parent, instance.number, instance.gpu_instance, instance.compute_instance},
      .name = instance.name};
  if (instance.memory) out.total = instance.memory->total;
  return out;
}

std::unexpected<Error> no_such_slice(const std::string& name, std::size_t there) {
  return std::unexpected(
      Error{fmt::format("there is no MIG slice '{}': this machine has {}", printable(name), there),
            {},
            "`nvidia-smi -L` lists them.",
            Error::Kind::machine_lacks});
}

/// By the beginning of its UUID, or as PARENT:NUMBER.
Result<ChosenDevice> choose_slice(const nvml::Library* nvml, const std::string& name) {
  const bool by_uuid = name.starts_with("MIG-");
  std::vector<ChosenDevice> all;
  bool told = nvml != nullptr;
  for (unsigned i = 0; nvml != nullptr && i < nvml->device_count().value_or(0); ++i) {
    const auto instances = nvml->mig_instances(i);
    told = told && instances;
    for (const nvml::MigInstance& instance : instances.value_or(std::vector<nvml::MigInstance>{}))
      all.push_back(chosen_slice(i, instance));
  }
  std::optional<ChosenDevice> found;
  for (const ChosenDevice& slice : all) {
    if (by_uuid ? !slice.uuid.starts_with(name)
                : fmt::format("{}:{}", slice.slice->parent, slice.slice->number) != name)
      continue;
    if (slice.uuid == name) return slice;
    if (found) return fail("'{}' is the beginning of several MIG slices' UUIDs", printable(name));
    found = slice;
  }
  if (found) return *found;
  // CUDA may know one that NVML does not tell of.
  if (by_uuid && !told) return ChosenDevice{.uuid = name};
  return no_such_slice(name, all.size());
}

Result<ChosenDevice> choose(const nvml::Library* nvml, const std::string& name) {
  if (name.starts_with("MIG-") || name.contains(':')) return choose_slice(nvml, name);
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

}  // namespace plimsoll::running
