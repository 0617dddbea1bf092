#pragma once
#include <cstdint>
#include <string>

#include "base/error.hpp"
#include "inspect_model.hpp"
#include "network/inference.hpp"

namespace plimsoll {

/// A network read once and inferred for one batch after another.
class Batches {
 public:
  static Result<Batches> load(const std::string& model, const InspectOptions& options);

  /// batch 0: as the options say, or assumed.
  [[nodiscard]] Result<network::Shapes> shapes(std::int64_t batch) const;
  /// The batch that the shapes were inferred for: the first extent of the first input.
  [[nodiscard]] std::int64_t batch_in(const network::Shapes& shapes) const;
  [[nodiscard]] const LoadedModel& loaded() const { return loaded_; }
  [[nodiscard]] const network::Network& network() const { return loaded_.network; }

 private:
  Batches(std::string model, const InspectOptions& options, LoadedModel loaded)
      : model_(std::move(model)), options_(options), loaded_(std::move(loaded)) {}
  std::string model_;
  InspectOptions options_;
  LoadedModel loaded_;
};

}  // namespace plimsoll
