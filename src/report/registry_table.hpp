#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/units.hpp"
#include "report/table.hpp"
#include "store/registry.hpp"

namespace plimsoll::report {

/// What a pass over one batch takes of a device, as `weigh` says it; what is not known is absent.
struct VersionOnDevice {
  std::string device;
  bool here = false;  ///< of this machine
  std::optional<Bytes> memory = {};
  std::optional<bool> fits = {};
  std::optional<Seconds> time = {}, low = {}, high = {};  ///< 95 %
  std::string basis = {};                                 ///< of the time: "calibrated", "datasheet"
  std::string no_time = {};                               ///< why there is none
};

/// What is in a version's file.
struct VersionContents {
  std::string path;
  std::int64_t parameters = 0;
  Bytes weights;
  std::optional<Flops> flops = {};  ///< of a pass over one example, where the file says what is computed
  std::int64_t batch = 1;           ///< of what is said of devices
  std::vector<VersionOnDevice> devices = {};
};

/// A version with its file, where that is on this machine and can be read.
struct WeighedVersion {
  store::ModelVersion version;
  std::optional<VersionContents> contents = {};
  std::string problem = {};  ///< why not, where there is a file
};

/// A line per model.
[[nodiscard]] Table registry_table(std::span<const store::RegisteredModel> models);
[[nodiscard]] nlohmann::ordered_json registered_json(const store::RegisteredModel& model);

/// All that is kept of one model, the newest version first.
[[nodiscard]] std::string registered_details(const store::RegisteredModel& model,
                                             std::span<const WeighedVersion> versions,
                                             const TextStyle& style);
/// All that is kept of one version, and what it takes of devices.
[[nodiscard]] std::string version_details(const WeighedVersion& weighed, const TextStyle& style);
[[nodiscard]] nlohmann::ordered_json version_json(const WeighedVersion& weighed);

}  // namespace plimsoll::report
