#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "learn/study.hpp"
#include "report/table.hpp"

namespace plimsoll::report {

/// How long a step of a training takes on a device, 95 %.
struct StepOn {
  std::string device;
  std::string beside = {};  ///< the jobs that share it, and how; empty: alone
  learn::Interval seconds = {};
};
/// What a training is expected to take there: the time of one more run, four times in five.
struct ExpectedOn {
  std::string setup;
  StepOn step;
  learn::Interval steps = {}, seconds = {};
};

/// Times to a target, with what they were made of: as text, JSON and a page.
struct TtaReport {
  std::vector<learn::Setup> setups;
  learn::Study study;
  learn::StudyOptions options;
  /// How evaluation is counted, where runs were recorded: "included", "excluded"; empty: nobody knows.
  std::string evaluation = {};
  std::vector<ExpectedOn> expected = {};  ///< by set-up and device
  std::string other_metric = {};          ///< of generalisation, where it was looked at
  std::vector<std::string> notes = {};    ///< what else must be said: sentences, printable
};

[[nodiscard]] std::string tta_text(const TtaReport& report, const TextStyle& style);
[[nodiscard]] nlohmann::ordered_json tta_json(const TtaReport& report);
/// Learning curves, survival curves and the spread of times, with the tables below them.
[[nodiscard]] std::string tta_page(const TtaReport& report);

}  // namespace plimsoll::report
