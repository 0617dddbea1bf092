#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/statistics.hpp"
#include "learn/paired_loss.hpp"
#include "report/table.hpp"

namespace plimsoll::report {

/// A network at one width in one number format, as it was measured.
struct PrecisionForm {
  std::optional<double> depth = {};         ///< the width multiplier, where there are several
  std::string format;                       ///< "fp32", "int8"
  std::string file = {};                    ///< empty where none was written
  std::optional<std::string> missing = {};  ///< why there are no figures
  std::optional<std::int64_t> bytes = {};   ///< of the file, or of what its weights would take in this format
  std::int64_t parameters = 0;
  std::optional<std::int64_t> peak_bytes = {};
  std::optional<Quantile> seconds = {};
  std::vector<double> samples = {};    ///< medians of the rounds, in order
  std::optional<Quantile> speed = {};  ///< against fp32 of the same width, round by round
  std::optional<double> joules = {};
  std::string energy_source = {};
  std::optional<learn::Share> accuracy = {};   ///< of the examples held out
  std::optional<learn::PairedLoss> lost = {};  ///< against fp32 of the same width, of the same examples
  std::optional<learn::PairedLoss> lost_selecting = {};
  std::string library = {};               ///< of eight-bit kernels
  std::string range = {};                 ///< int8: the rule that chose the ranges
  std::optional<bool> kept_promise = {};  ///< --loss
  std::size_t eight_bit_layers = 0, layers = 0;
  std::int64_t eight_bit_parameters = 0;
  bool front_time = false, front_size = false, front_energy = false;
};

/// What one layer alone in eight bits costs.
struct PrecisionLayer {
  std::optional<double> depth = {};
  std::string name, kind;
  std::int64_t parameters = 0;
  double loss_rise = 0;  ///< of the mean cross-entropy, on the examples to decide by
  learn::PairedLoss lost;
  bool kept = false;  ///< in floating point
};

struct PrecisionTraining {
  double depth = 1;
  std::int64_t epochs = 0, examples = 0;
  std::optional<double> accuracy = {};
  double seconds = 0;
  bool found = false;  ///< it was there already
};

struct PrecisionStudy {
  std::string model = {}, data = {}, device = {}, processor = {}, engine = {};
  std::int64_t batch = 1, threads = 0;
  std::int64_t calibration = 0, selecting = 0, held_out = 0;
  std::optional<double> limit = {};  ///< --loss, as a share
  std::vector<PrecisionForm> forms = {};
  std::vector<PrecisionLayer> layers = {};
  std::vector<PrecisionTraining> trainings = {};
  std::vector<std::string> notes = {};
};

/// Marks which forms nothing beats, in time, size and energy, each against accuracy.
void mark_fronts(PrecisionStudy& study);

[[nodiscard]] Table precision_table(const PrecisionStudy& study);
[[nodiscard]] std::string precision_text(const PrecisionStudy& study, const TextStyle& style);
[[nodiscard]] std::string precision_csv(const PrecisionStudy& study);
[[nodiscard]] nlohmann::ordered_json precision_json(const PrecisionStudy& study);
/// A page of its own: pictures of accuracy against time, size and energy, and the tables.
[[nodiscard]] std::string precision_page(const PrecisionStudy& study);

}  // namespace plimsoll::report
