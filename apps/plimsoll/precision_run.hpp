#pragma once
#include <optional>
#include <string>

#include "precision_engine.hpp"
#include "report/precision_report.hpp"

namespace plimsoll {

/// One network, of one width, that is to be measured in every format.
struct PrecisionSubject {
  std::optional<double> depth;
  std::string file;    ///< the ONNX file it was read from
  std::string output;  ///< where its int8 form goes; empty: nowhere
};

/// Measures everything that is asked of one network and adds it to the study. False: interrupted.
[[nodiscard]] Result<bool> measure_precisions(const PrecisionOptions& options,
                                              const PrecisionSubject& subject, PrecisionEngine& engine,
                                              report::PrecisionStudy& study);

/// Which of the examples to test on choices are made by, and which tell the accuracy: halves, drawn by the
/// seed.
struct Halves {
  std::vector<std::int64_t> selecting, held_out;
};
[[nodiscard]] Halves halves_of(std::int64_t examples, std::uint64_t seed);

}  // namespace plimsoll
