#pragma once
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "plan/merge/plan.hpp"
#include "report/merge_training.hpp"
#include "report/table.hpp"

namespace plimsoll::report {

/// Of the layers whose share of the memory is told.
inline constexpr double kHeaviestShare = 0.15;

/// What models can have in common, ready to be shown.
struct MergeReport {
  const std::vector<plan::merge::Model>& models;
  plan::merge::Scope scope;
  plan::merge::Method method = plan::merge::Method::plimsoll;
  plan::merge::Plan plan;
  /// Were tensors shared that hold the same numbers already; nothing where the contents are not known.
  std::optional<plan::merge::Totals> identical = {};
  std::string written = {};                          ///< the folder, where models were written
  bool trained = true;                               ///< and whether they are as good as they were
  std::optional<MergeTrainingReport> training = {};  ///< where models were trained together
  std::vector<std::string> notes = {};
};

/// `all`: every group, not only the first ones.
[[nodiscard]] std::string merge_text(const MergeReport& report, bool all, const TextStyle& style);
[[nodiscard]] nlohmann::ordered_json merge_json(const MergeReport& report);
/// Models side by side, a bar for each layer as wide as its bytes, shared layers joined. One HTML file that
/// needs nothing else.
[[nodiscard]] std::string merge_page(const MergeReport& report);
[[nodiscard]] Table merge_table(const MergeReport& report, std::size_t most);
/// "saved 49.0 %: 1.00 GiB apart, 522 MiB together"
[[nodiscard]] std::string merge_title(const MergeReport& report);

}  // namespace plimsoll::report
