#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "diagnose/run_figures.hpp"
#include "diagnose/verdict.hpp"

namespace plimsoll::diagnose {

/// Something that would raise what the GPU does or shorten the training, with what it should bring.
struct Improvement {
  std::string id;     ///< "loader-workers"; what `plimsoll advise --set` names
  std::string title;  ///< "More workers for the loader"
  std::string why;    ///< with the run's own figures
  std::string rule;   ///< how the gain follows from them
  /// Times as fast: reckoned, not measured. Absent where nothing that was sampled says it.
  std::optional<double> gain = {}, low = {}, high = {};
  bool of_gpu = false;  ///< the gain is of what the GPU does in all, not of this run
};

/// What a change that was made of it should bring. A batch that is so many times as large brings no more than
/// that, and all of it until the SMs or the memory are full: then its rule's bound holds.
[[nodiscard]] std::optional<double> gain_of_change(const Improvement& improvement, double samples_of_step);

/// Of the GPU, from its description; what is unknown is not reckoned with.
struct GpuRatios {
  std::optional<double> half_over_single = {};  ///< peak of bf16 or fp16 tensor cores over plain FP32
};

/// The largest gain first, those without a figure last. Empty where the run is well set up, as far as was
/// sampled, or nothing is known.
[[nodiscard]] std::vector<Improvement> improvements_of(const RunFigures& figures, const Verdict& verdict,
                                                       const GpuRatios& ratios);

}  // namespace plimsoll::diagnose
