#pragma once
#include <string>

#include "base/error.hpp"
#include "hardware/mig.hpp"

namespace plimsoll {

/// A device that can be cut into MIG instances.
struct MigDevice {
  hardware::Device device;
  const hardware::MigTable* table = nullptr;
};

/// What stands after --device; fails where it knows no MIG.
[[nodiscard]] Result<MigDevice> mig_device_named(const std::string& name);

}  // namespace plimsoll
