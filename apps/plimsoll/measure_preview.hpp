#pragma once
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/figure.hpp"
#include "estimate/figures.hpp"
#include "hardware/this_machine.hpp"
#include "ready_model.hpp"
#include "report/table.hpp"

namespace plimsoll {

/// What `plimsoll measure` would run, with what is estimated of it: its answer where there is no engine.
struct PreviewedRow {
  std::string model, device;
  std::int64_t batch = 0;
  Figure allocated = estimate::memory_figure("peak allocated", std::nullopt);
  Figure time = {.unit = Unit::seconds};  ///< of a pass or a step, on a device that a time can be told of
};

/// `machine` is null where it could not be looked at: then nothing is estimated.
[[nodiscard]] std::vector<PreviewedRow> preview_rows(const std::vector<ReadyModel>& models,
                                                     const std::vector<std::string>& devices,
                                                     const network::Setting& setting,
                                                     const hardware::ThisMachine* machine);

[[nodiscard]] report::Table preview_table(const std::vector<PreviewedRow>& rows);
[[nodiscard]] nlohmann::ordered_json preview_json(const std::vector<PreviewedRow>& rows,
                                                  const Error& lacking);

}  // namespace plimsoll
