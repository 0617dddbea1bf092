#pragma once
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "report/table.hpp"
#include "store/run.hpp"

namespace plimsoll::report {

/// One thing that is compared, with a value per run; nothing where a run has none.
struct ComparedRow {
  enum class Kind { param, fact, metric, tag };
  using Value = std::optional<std::variant<double, std::string>>;
  Kind kind = Kind::fact;
  std::string name;  ///< of the param, metric or tag; of a fact "outcome", "duration"
  std::string unit = {};
  std::vector<Value> values = {};
  [[nodiscard]] bool differs() const;
};

/// First the parameters that differ, then how the runs ended, how long they took, what they used and the
/// latest values of their own metrics. `all`: also the parameters that agree, tags, and what was sampled of
/// the hardware.
[[nodiscard]] std::vector<ComparedRow> compare_runs(std::span<const store::Run> runs, bool all);

/// Numbers of the later runs with their change against the first: "0.25 (-50 %)".
[[nodiscard]] Table comparison_table(std::span<const store::Run> runs, std::span<const ComparedRow> rows);
[[nodiscard]] nlohmann::ordered_json comparison_json(std::span<const store::Run> runs,
                                                     std::span<const ComparedRow> rows);

}  // namespace plimsoll::report
