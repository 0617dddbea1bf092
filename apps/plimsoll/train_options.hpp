#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "base/error.hpp"
#include "command_line.hpp"
#include "dataset/dataset.hpp"
#include "intake/prepared.hpp"
#include "job/job.hpp"
#include "ready_model.hpp"

namespace plimsoll {

/// The options of `plimsoll train`.
struct TrainOptions {
  std::string model;
  intake::Request data;
  intake::Request other;  ///< to test the trained network on
  std::string image_size;
  std::string hold_out;
  std::string target;
  std::string device;
  BindingOptions binding;
  network::Setting setting;
  job::Execution execution;
  job::Learning learning;
  job::Data learned = {};
  measure::WeightsRequest weights;
  bool normalize = false;
  bool go_on = false;
  std::string save;
  std::string store, experiment, name;
  bool no_track = false;
  bool json = false;

  void add_to(CommandLine& command);
};

/// A training whose model, data and options were found to go together.
struct ReadyTraining {
  ReadyModel model;
  job::Job job;
  std::string label;  ///< of the model, in words
  std::int64_t examples = 0, test_examples = 0, other_examples = 0;
  std::optional<std::int64_t> classes;
  std::vector<std::string> class_names;
};

/// Prepares the data and checks everything that can be wrong before a step is made. `has_gpu`: what to train
/// on where nobody says.
[[nodiscard]] Result<ReadyTraining> make_ready(const TrainOptions& options, bool has_gpu,
                                               const intake::OnProgress& progress);

}  // namespace plimsoll
