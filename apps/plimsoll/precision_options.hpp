#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "quantize/range.hpp"
#include "train_options.hpp"

namespace plimsoll {

/// The options of `plimsoll precision`.
struct PrecisionOptions {
  TrainOptions train;  ///< model, data, device, and how widths are trained
  std::vector<std::string> formats = {"fp32", "bf16", "fp16", "int8"};
  std::vector<double> depths;
  std::optional<double> loss;  ///< points
  std::string range = "best";
  bool reduced = false, no_layers = false, no_time = false;
  std::int64_t calibration = 512, sensitivity = 2000, batch = 1, rounds = 5;
  double seconds = 2;  ///< of one round
  std::optional<double> watts;
  std::string kernels;
  std::string keep, output;
  std::filesystem::path html;
  bool json = false, csv = false, published = false;

  void add_to(CommandLine& command);
  /// What the parser does not see: formats and options that do not go together.
  [[nodiscard]] Status check() const;
};

}  // namespace plimsoll
