#pragma once
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/units.hpp"
#include "hardware/this_machine.hpp"
#include "ready_model.hpp"
#include "report/table.hpp"

namespace plimsoll {

/// What `plimsoll measure` would run, with what is estimated of it: its answer where there is no engine.
struct PlannedRow {
  std::string model, device;
  std::int64_t batch = 0;
  std::optional<Bytes> allocated = {};  ///< at the peak
  std::optional<Seconds> time = {};     ///< of a pass or a step, on a device that a time can be told of
};

/// `machine` is null where it could not be looked at: then nothing is estimated.
[[nodiscard]] std::vector<PlannedRow> planned_rows(const std::vector<ReadyModel>& models,
                                                   const std::vector<std::string>& devices,
                                                   const network::Setting& setting,
                                                   const hardware::ThisMachine* machine);

[[nodiscard]] report::Table plan_table(const std::vector<PlannedRow>& rows);
[[nodiscard]] nlohmann::ordered_json plan_json(const std::vector<PlannedRow>& rows, const Error& lacking);

}  // namespace plimsoll
