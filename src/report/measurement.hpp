#pragma once
#include <span>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "measure/measurement.hpp"
#include "report/table.hpp"

namespace plimsoll::report {

/// One row per model and device: memory (time) to load, then to run at each batch.
[[nodiscard]] Table measurement_table(std::span<const measure::Measurement> measurements);

/// One row per batch of one model on one device: the median with its interval, memory, energy, estimate.
[[nodiscard]] Table batches_table(const measure::Measurement& measurement);
/// Latencies of a scenario, a column per batch and a row per percentile.
[[nodiscard]] Table latencies_table(const measure::Measurement& measurement);
/// Time by layer, in the order in which they ran.
[[nodiscard]] Table layers_table(const job::Layers& layers);
/// One row per model, device and batch in SI units, for other programs.
[[nodiscard]] Table measurement_csv(std::span<const measure::Measurement> measurements);

/// "asked for 2.00 GiB; 1.00 GiB of 140 GiB were free; …" with who else is on the GPU.
[[nodiscard]] std::string does_not_fit_text(const measure::Row& row);

/// The whole answer for people.
[[nodiscard]] std::string measurement_text(std::span<const measure::Measurement> measurements,
                                           const TextStyle& style);

/// One measurement as the machine-readable answer; what is not known is null.
[[nodiscard]] nlohmann::ordered_json to_json(const measure::Measurement& measurement);

}  // namespace plimsoll::report
