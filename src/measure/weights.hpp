#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/files.hpp"
#include "job/job.hpp"
#include "onnx/model.hpp"

namespace plimsoll::measure {

/// Where the contents of a network's weights come from, ready for a job.
struct Weights {
  std::vector<std::string> files;
  std::vector<job::WeightLocation> locations;
  bool random = false;  ///< those of parameters without a location are drawn
  std::string source;   ///< "random", "the model", "FILE.safetensors"
  std::vector<std::string> notes;
  std::optional<TemporaryDirectory> gathered;  ///< holds those that were in no one piece of a file
};

struct WeightsRequest {
  std::filesystem::path file;  ///< --weights; empty: none
  bool random = false;         ///< --random-weights
};

/// `model` is null for a network of the zoo, which has no weights but random ones. Contents are looked for in
/// the safetensors file by name, types and shapes checked, then in the model. Where neither has one that is
/// not known otherwise, and random ones were not asked for, it fails and says so.
[[nodiscard]] Result<Weights> find_weights(const network::Network& network, onnx::Model* model,
                                           const WeightsRequest& request);

}  // namespace plimsoll::measure
