#pragma once
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "command_line.hpp"
#include "job/job.hpp"
#include "measure/measurement.hpp"
#include "measure/weights.hpp"
#include "model_source.hpp"

namespace plimsoll {

/// "cpu" or "cuda:N", where the engine runs, as a person writes it: cpu, cuda, cuda:1.
[[nodiscard]] Result<std::string> engine_device(const std::string& word);

/// The options of `plimsoll measure`, and what they come to.
struct MeasureOptions {
  std::vector<std::string> models;
  BindingOptions binding;
  std::vector<std::int64_t> batches;
  std::vector<std::string> devices;
  network::Setting setting;
  job::Execution execution;
  job::Protocol protocol;
  measure::WeightsRequest weights;
  std::optional<double> energy_seconds;
  std::string scene, patch;
  double timeout = 3600;
  double silence = 300;
  bool together = false;
  bool json = false;
  bool csv = false;

  void add_to(CommandLine& command);
  /// "cpu" and "cuda:N"; `otherwise` where none is named.
  [[nodiscard]] Result<std::vector<std::string>> checked_devices(std::string_view otherwise) const;
  [[nodiscard]] Result<std::optional<measure::Scene>> checked_scene() const;
  /// The protocol with the scenario that --scenario, --qps, --queries and --scene mean together.
  [[nodiscard]] Result<job::Protocol> checked_protocol(const std::optional<measure::Scene>& of) const;

 private:
  void add_run_options(CommandLine& command);
  void add_protocol_options(CommandLine& command);
  void add_scenario_options(CommandLine& command);
};

}  // namespace plimsoll
