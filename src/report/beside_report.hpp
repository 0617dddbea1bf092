#pragma once
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/units.hpp"
#include "report/table.hpp"
#include "share/beside.hpp"

namespace plimsoll::report {

/// One of those that share.
struct SharingWorkload {
  std::string name;
  Seconds alone;  ///< its step
  Bytes minimum;  ///< on the device, with which it runs
  bool measured = false;
};

/// What a group does in one or several ways of sharing.
struct BesideReport {
  std::string device;
  std::vector<SharingWorkload> workloads = {};
  std::vector<share::Beside> ways = {};  ///< the first is the one that is told whole
  std::optional<std::string> why = {};   ///< it was chosen, in words
  Bytes minimum = {};                    ///< of all together
  std::optional<Bytes> capacity = {};
  std::optional<bool> fits = {};  ///< in the first way
};

[[nodiscard]] std::string beside_text(const BesideReport& report, const TextStyle& style);
[[nodiscard]] nlohmann::ordered_json beside_json(const BesideReport& report);

/// "waits for the others' blocks 38 %, bandwidth 9 %": what makes a step longer, the most first.
[[nodiscard]] std::string cause_words(const share::Causes& causes);

}  // namespace plimsoll::report
