#include "hardware/catalogue.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>

#include <fmt/ranges.h>

#include "base/printable.hpp"
#include "base/suggest.hpp"
#include "base/text.hpp"
#include "hardware/calibration_file.hpp"

namespace plimsoll::hardware {
namespace {

std::string normalised(std::string_view name) {
  const auto first = name.find_first_not_of(" \t\n\r");
  if (first == name.npos) return {};
  name = name.substr(first, name.find_last_not_of(" \t\n\r") - first + 1);
  std::string key = lower_case(name);
  std::ranges::replace_if(key, [](char c) { return c == ' ' || c == '_'; }, '-');
  return key;
}

/// Drivers before 2021 left the vendor out.
std::string without_vendor(std::string key) {
  constexpr std::string_view vendor = "nvidia-";
  if (key.starts_with(vendor)) key.erase(0, vendor.size());
  return key;
}

bool begins(const Device& device, std::string_view key) {
  return device.id.size() > key.size() && device.id.starts_with(key) && device.id[key.size()] == '-';
}

bool is_called(const Device& device, const std::string& key) {
  const auto same = [&](const std::string& name) { return normalised(name) == key; };
  return device.id == key || std::ranges::any_of(device.aliases, same) ||
         std::ranges::any_of(device.reported_names, same);
}

std::string file_of(const Device& device) {
  return device.id + ".json";
}

/// Remembers every name and whose it is.
class NameRegister {
 public:
  Status add(const Device& device, const std::string& name, std::string_view field) {
    const auto [entry, fresh] = owners_.try_emplace(without_vendor(normalised(name)), device.id);
    if (fresh || (entry->second == device.id && field == "reported_names")) return {};
    return std::unexpected(Error{fmt::format("\"{}\" is taken by {}", name, entry->second),
                                 fmt::format("{}: {}", file_of(device), field)});
  }

 private:
  std::map<std::string, std::string> owners_;
};

Status check_names(const std::vector<Device>& devices) {
  NameRegister names;
  for (const Device& device : devices) PLIMSOLL_TRY(names.add(device, device.id, "id"));
  for (const Device& device : devices) {
    for (const std::string& alias : device.aliases) {
      PLIMSOLL_TRY(names.add(device, alias, "aliases"));
      for (const Device& other : devices)
        if (&other != &device && begins(other, normalised(alias)))
          return std::unexpected(Error{fmt::format("\"{}\" could be {} as well", alias, other.id),
                                       file_of(device) + ": aliases"});
    }
    for (const std::string& name : device.reported_names)
      PLIMSOLL_TRY(names.add(device, name, "reported_names"));
  }
  return {};
}

}  // namespace

Result<Catalogue> Catalogue::from(std::span<const EmbeddedFile> files) {
  std::vector<Device> devices;
  for (const EmbeddedFile& file : files) {
    auto device = parse_device(file.contents, file.name);
    if (!device) return std::unexpected(std::move(device).error());
    if (file_of(*device) != file.name)
      return std::unexpected(
          Error{fmt::format("\"{}\" is not the file's name", device->id), std::string(file.name) + ": id"});
    devices.push_back(*std::move(device));
  }
  std::ranges::sort(devices, {}, &Device::id);
  PLIMSOLL_TRY(check_names(devices));
  return Catalogue(std::move(devices));
}

Result<const Device*> Catalogue::find(std::string_view name) const {
  const std::string key = normalised(name);
  std::vector<const Device*> fitting;
  for (const Device& device : devices_) {
    if (is_called(device, key)) return &device;
    if (begins(device, key)) fitting.push_back(&device);
  }
  if (fitting.size() == 1) return fitting.front();

  std::vector<std::string> ids;
  for (const Device* device : fitting) ids.push_back(device->id);
  const std::string quoted = printable(key, 80);
  if (!ids.empty())
    return std::unexpected(Error{fmt::format("\"{}\" fits several devices: {}", quoted, fmt::join(ids, ", ")),
                                 {},
                                 fmt::format("Write which one, as in --device {}.", ids.front())});

  std::vector<std::string_view> names;
  for (const Device& device : devices_) {
    names.push_back(device.id);
    names.insert(names.end(), device.aliases.begin(), device.aliases.end());
  }
  std::string hint = did_you_mean(key, names);
  if (hint.empty()) hint = "`plimsoll devices` lists them; the path of a device file can be given, too.";
  return std::unexpected(Error{fmt::format("no device is called \"{}\"", quoted), {}, std::move(hint)});
}

const Device* Catalogue::reported_as(std::string_view name) const {
  const std::string key = without_vendor(normalised(name));
  for (const Device& device : devices_)
    for (const std::string& reported : device.reported_names)
      if (without_vendor(normalised(reported)) == key) return &device;
  return nullptr;
}

std::vector<const Device*> Catalogue::well_known() const {
  std::vector<const Device*> chosen;
  for (const Device& device : devices_)
    if (device.well_known) chosen.push_back(&device);
  std::ranges::sort(chosen, {}, [](const Device* device) {
    return std::tuple(device->year.value_or(std::numeric_limits<int>::max()), device->id);
  });
  return chosen;
}

const Result<Catalogue>& built_in_catalogue() {
  // A static because the files are part of the program: there is one answer, and it never changes.
  static const Result<Catalogue> catalogue = [] {
    auto loaded = Catalogue::from(embedded_devices());
    if (!loaded) loaded.error().kind = Error::Kind::internal;
    return loaded;
  }();
  return catalogue;
}

Result<std::optional<Calibration>> calibration_of(const Device& device) {
  if (device.calibration) return device.calibration;
  const std::span<const EmbeddedCalibration> files = embedded_calibrations();
  const auto file = std::ranges::find(files, file_of(device), &EmbeddedCalibration::name);
  if (file == files.end()) return std::nullopt;
  const auto json = parse_strictly(file->contents);
  if (!json) return std::unexpected(Error(json.error()).within(file->name));
  std::optional<Error> error;
  JsonSection top(*json, "", error);
  std::optional<Calibration> calibration = read_calibration(top, file->table);
  if (error) return std::unexpected(std::move(*error).within(file->name));
  return calibration;
}

}  // namespace plimsoll::hardware
