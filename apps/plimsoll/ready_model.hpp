#pragma once
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "job/job.hpp"
#include "measure/measurement.hpp"
#include "measure/weights.hpp"
#include "model_source.hpp"

namespace plimsoll {

/// A model, bound to each batch, with its weights found: all that can be wrong with it is found before the
/// first engine is started.
struct ReadyModel {
  LoadedModel loaded;
  measure::Weights weights;
  struct Bound {
    std::int64_t batch;
    network::Binding binding;
  };
  std::vector<Bound> batches;
  std::vector<std::string> notes;
};

/// What is to be made ready.
struct ReadyRequest {
  std::string model;
  BindingOptions binding;
  std::vector<std::int64_t> batches;  ///< empty: as the model says, or assumed
  network::Setting setting;
  std::uint64_t seed = 0;  ///< of random weights
  measure::WeightsRequest weights;
  std::optional<measure::Scene> scene = {};
};
[[nodiscard]] Result<ReadyModel> make_ready(const ReadyRequest& request);

/// One row's job: the model at one batch.
[[nodiscard]] job::Job job_for(const ReadyModel& model, const ReadyModel::Bound& bound,
                               const std::string& device, const network::Setting& setting,
                               const job::Execution& execution, const job::Protocol& protocol);

}  // namespace plimsoll
