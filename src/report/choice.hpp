#pragma once
#include <optional>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "base/figure.hpp"
#include "plan/choose.hpp"
#include "plan/imaging.hpp"
#include "report/table.hpp"

namespace plimsoll::report {

/// A choice of device, ready to be shown. A view: all it names must outlive it.
struct ChoiceReport {
  std::string model;
  const plan::Question& question;
  const plan::Imaging& imaging;
  const plan::Choice& choice;
  bool all = false;    ///< every form on every device; else the best of each device that is not ruled out
  bool why = false;    ///< every standing with its figures and sources; else the recommended one's
  bool named = false;  ///< the devices were named: each is shown, also one that its own figures rule out
};

/// The answer in a sentence, what was asked, a table of the devices, and the reasons.
[[nodiscard]] std::string choice_text(const ChoiceReport& report, const TextStyle& style);
/// One row per form and device, all limits as columns, in SI base units.
[[nodiscard]] std::string choice_csv(const ChoiceReport& report);
[[nodiscard]] nlohmann::ordered_json choice_json(const ChoiceReport& report);

/// A figure of an aspect in people's units, with its bound: "<= 5 W".
[[nodiscard]] std::string aspect_text(plan::Aspect aspect, double value);
[[nodiscard]] std::string aspect_text(plan::Aspect aspect, const plan::Known& known);
/// The unit of an aspect's figures in JSON and CSV.
[[nodiscard]] std::optional<Unit> aspect_unit(plan::Aspect aspect);

}  // namespace plimsoll::report
