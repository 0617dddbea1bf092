#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "diagnose/recording.hpp"
#include "diagnose/run_figures.hpp"
#include "diagnose/series_catalogue.hpp"
#include "diagnose/thresholds.hpp"

namespace plimsoll::diagnose {

/// What kept the run from being quicker.
enum class Limiter {
  unknown,          ///< too little was sampled to say
  gpu_unused,       ///< it had a GPU and did not use it
  input_processor,  ///< the GPU waits for the processor's cores, all busy
  input_storage,    ///< the GPU waits for storage
  one_thread,       ///< the GPU waits for one busy thread
  waits,            ///< the GPU waits, and nothing sampled says for what
  launches,         ///< kernels follow each other, but each is small: the launching is the limit
  small_kernels,    ///< the same, and the processor is not busy with it
  gpu_bandwidth,    ///< the GPU's memory
  gpu_compute,      ///< the GPU's arithmetic
  mixed,            ///< nothing stands out
  processor,        ///< without a GPU: all cores are busy
  storage,          ///< without a GPU: storage
  host_memory,      ///< without a GPU: memory is short
};
[[nodiscard]] std::string_view name(Limiter limiter);   ///< "input-processor"
[[nodiscard]] std::string_view title(Limiter limiter);  ///< "Bound by its input: the processor"

/// A figure that a statement rests on, and the line that it is held against.
struct Evidence {
  std::string label;
  double value = 0;
  Shown shown = Shown::share;
  const Threshold* threshold = nullptr;  ///< may be null
};

struct Finding {
  std::string id;     ///< for programs: "memory-near-limit"
  std::string title;  ///< a few words
  std::string text;   ///< sentences with the figures
  std::vector<Evidence> evidence = {};
  std::vector<std::string> advice = {};  ///< what to try, each a sentence
};

/// What was paid for and not used. Absent is unknown.
struct Waste {
  std::optional<double> gpu_seconds = {};   ///< that were sampled, of all the run's GPUs
  std::optional<double> idle_seconds = {};  ///< of those near-idle
  std::optional<double> idle_before, idle_between, idle_after;
  std::optional<double> joules = {};       ///< of the run's GPUs, everything
  std::optional<double> idle_joules = {};  ///< while near-idle
  std::string text;
};

struct Verdict {
  Limiter limiter = Limiter::unknown;
  std::optional<Finding> outcome = {};  ///< why it ended, where that was before its time
  Finding main;
  std::vector<Finding> findings = {};  ///< what else is worth knowing
  Waste waste;
  /// Utilization and SM activity side by side, and what the difference means; nothing where one is unknown.
  std::optional<Finding> utilization = {};
};

[[nodiscard]] Verdict verdict_of(const Recording& recording, const RunFigures& figures);

}  // namespace plimsoll::diagnose
