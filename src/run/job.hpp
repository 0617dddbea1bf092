#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/units.hpp"
#include "run/outcome.hpp"

namespace plimsoll::running {

/// How the jobs of a workload share their device.
enum class Sharing { naive, mps };
[[nodiscard]] std::string_view name(Sharing sharing);

/// Names and values for a process's environment.
using Variables = std::vector<std::pair<std::string, std::string>>;

/// Clocks count no further without care.
inline constexpr Seconds kLongestTimeLimit{10 * 365 * 86400.0};

/// What is to be run: a command, where, and the limits within which. What became of it is not part of it.
struct JobSpec {
  std::vector<std::string> command;
  std::string experiment = "Default";
  std::string workload = {};  ///< jobs of one experiment and workload run together
  std::string name = {};
  std::filesystem::path directory = {};  ///< to run in; empty: this process's
  Variables environment = {};            ///< added for it
  std::vector<std::string> devices =
      {};  ///< a GPU's number or UUID, a MIG device's UUID; empty: no choice made
  Sharing sharing = Sharing::naive;
  std::optional<double> mps_percentage = {};  ///< of the SMs, 0 to 100
  std::optional<Bytes> mps_memory = {};       ///< per device
  std::optional<Bytes> need = {};             ///< GPU memory, as the user says
  std::vector<std::string> estimate = {};     ///< arguments of `plimsoll estimate` that tell the need
  std::vector<std::string> after = {};  ///< jobs of its workload that must have ended, however, before it
  std::optional<Seconds> start = {};    ///< after its workload began, at the earliest
  std::optional<Seconds> time_limit = {};
  std::optional<std::int64_t> epoch_limit = {};
  std::vector<std::pair<std::string, std::string>> params = {};
  std::vector<std::pair<std::string, std::string>> tags = {};
  std::vector<std::string> metric_patterns = {};
  std::vector<std::filesystem::path> artifacts = {};
  friend bool operator==(const JobSpec&, const JobSpec&) = default;
};

}  // namespace plimsoll::running
