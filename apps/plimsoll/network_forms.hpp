#pragma once
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "base/error.hpp"
#include "batches.hpp"
#include "calibrated_device.hpp"
#include "plan/choose.hpp"
#include "program/program.hpp"

namespace plimsoll {

/// The forms of one network that a choice compares, one per depth multiplier, each read once; and what can be
/// estimated of them.
class NetworkForms {
 public:
  /// Without depths the model as it is. With them it must be of the zoo and take "alpha".
  static Result<NetworkForms> load(const std::string& model, const std::vector<double>& depths,
                                   const InspectOptions& options);

  /// Named as the catalogue names them, with the accuracies and memory needs that it knows.
  [[nodiscard]] const std::vector<plan::Variant>& variants() const { return variants_; }
  [[nodiscard]] std::vector<plan::Variant>& variants() { return variants_; }
  /// They refer to this object, which must outlive them.
  [[nodiscard]] plan::Estimators estimators() const;
  /// "3x224x224" of the first input without its batch; empty where it is none of images.
  [[nodiscard]] Result<std::vector<std::int64_t>> image_shape() const;
  /// A device of this machine: the calibration that was taken here is its own.
  void add_here(const std::string& device_id) { here_.insert(device_id); }

 private:
  struct Bound {
    network::Shapes shapes;
    program::Counts counts;
  };
  Result<const Bound*> bound(std::size_t form, std::int64_t batch) const;
  Result<const CalibratedDevice*> calibrated(const hardware::Device& device) const;
  Result<const program::Program*> program(std::size_t form, const hardware::Device& device,
                                          const network::Setting& setting, std::int64_t batch) const;
  Result<plan::Pass> pass(std::size_t form, const hardware::Device& device, hardware::Arithmetic arithmetic,
                          std::int64_t batch) const;
  Result<plan::Memory> memory(std::size_t form, const hardware::Device& device,
                              hardware::Arithmetic arithmetic, std::int64_t batch) const;

  std::vector<Batches> forms_;
  std::vector<plan::Variant> variants_;
  std::set<std::string> here_;
  // Devices ask for the same batches again and again.
  mutable std::map<std::pair<std::size_t, std::int64_t>, Bound> bound_;
  /// What was lowered already: many devices run the same program.
  struct Lowered {
    std::size_t form;
    std::int64_t batch;
    network::Precision precision;
    program::Platform platform;
    program::Program program;
  };
  mutable std::deque<Lowered> programs_;
  mutable std::map<std::string, CalibratedDevice> calibrated_;  ///< by the device's id
};

}  // namespace plimsoll
