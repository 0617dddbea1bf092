#pragma once
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "plan/schedule/engine.hpp"
#include "report/table.hpp"

namespace plimsoll::report {

/// What each policy made of the same jobs.
struct PolicyReport {
  std::string device;
  std::size_t gpus = 1;
  std::vector<std::string> jobs = {};  ///< their names
  double bound = 0;                    ///< s, below which no makespan can be
  struct Row {
    std::string name, words;
    plan::schedule::Outcome outcome;
  };
  std::vector<Row> rows = {};
};

[[nodiscard]] std::string policy_text(const PolicyReport& report, const TextStyle& style);
[[nodiscard]] nlohmann::ordered_json policy_json(const PolicyReport& report);

}  // namespace plimsoll::report
