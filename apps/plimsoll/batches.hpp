#pragma once
#include <cstdint>
#include <string>

#include "base/error.hpp"
#include "inspect_model.hpp"
#include "network/batch.hpp"

namespace plimsoll {

/// A network read once and inferred for one batch after another.
class Batches {
 public:
  static Result<Batches> load(const std::string& model, const InspectOptions& options);

  /// batch 0: as the options say, or assumed.
  [[nodiscard]] Result<network::Shapes> shapes(std::int64_t batch) const;
  [[nodiscard]] std::int64_t batch_in(const network::Shapes& shapes) const {
    return network::batch_of(loaded_.network, shapes);
  }
  [[nodiscard]] const network::Network& network() const { return loaded_.network; }
  [[nodiscard]] const std::string& label() const { return loaded_.label; }
  [[nodiscard]] program::Counts count(const network::Shapes& shapes) const {
    return program::count(loaded_.network, shapes, options_.conventions);
  }
  /// A view for reports; all three must outlive it.
  [[nodiscard]] report::Inspection inspection(const network::Shapes& shapes,
                                              const program::Counts& counts) const {
    return {loaded_.label, loaded_.network, shapes, counts, options_.conventions, loaded_.notes};
  }
  [[nodiscard]] LoadedModel take() && { return std::move(loaded_); }

 private:
  Batches(std::string model, const InspectOptions& options, LoadedModel loaded)
      : model_(std::move(model)), options_(options), loaded_(std::move(loaded)) {}
  std::string model_;
  InspectOptions options_;
  LoadedModel loaded_;
};

}  // namespace plimsoll
