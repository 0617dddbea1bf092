#pragma once
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "diagnose/improvements.hpp"
#include "report/table.hpp"

namespace plimsoll::report {

/// The peaks of the GPU that the run was on, by its name in the catalogue.
[[nodiscard]] diagnose::GpuRatios gpu_ratios(const diagnose::RunFigures& figures);

/// What would make a run faster, each with its gain and why; a sentence where there is nothing.
[[nodiscard]] std::string advice_text(std::span<const diagnose::Improvement> improvements,
                                      const TextStyle& style);
/// A list for a page; empty where there is nothing.
[[nodiscard]] std::string advice_html(std::span<const diagnose::Improvement> improvements);
[[nodiscard]] nlohmann::ordered_json advice_json(std::span<const diagnose::Improvement> improvements);

/// What was tried: a run with one thing changed, against the one without.
struct Trial {
  std::string id;    ///< of the improvement
  std::string run;   ///< of the one with it
  std::string made;  ///< "--batch-size 256"
  std::optional<double> predicted = {};
  std::optional<double> measured = {};  ///< samples a second over those of the run without; absent: not known
  std::string problem = {};             ///< why nothing was measured
};
[[nodiscard]] std::string trials_text(std::span<const Trial> trials, const TextStyle& style);
[[nodiscard]] nlohmann::ordered_json trials_json(std::span<const Trial> trials);

}  // namespace plimsoll::report
