#include "mig_device.hpp"

#include <vector>

#include <fmt/ranges.h>

#include "hardware/this_machine.hpp"

namespace plimsoll {

Result<MigDevice> mig_device_named(const std::string& name) {
  auto device = hardware::device_named(name);
  PLIMSOLL_TRY(device);
  const hardware::MigTable* table = hardware::mig_table(*device);
  if (table == nullptr) {
    std::vector<std::string> families;
    for (const hardware::MigTable& known : hardware::mig_tables()) families.push_back(known.family);
    return std::unexpected(Error{fmt::format("{} cannot be cut into MIG instances", device->name), "--device",
                                 fmt::format("MIG is known of {}", fmt::join(families, ", "))});
  }
  return MigDevice{*std::move(device), table};
}

}  // namespace plimsoll
