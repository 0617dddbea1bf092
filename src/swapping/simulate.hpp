#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "swapping/forecast.hpp"

namespace plimsoll::swapping {

/// What becomes of a frame that cannot be answered in time.
enum class Late : std::uint8_t { dropped, run };

struct Question {
  const Packed& packed;
  const Policy& policy;
  HostLink link;
  std::int64_t capacity = 0;  ///< blocks, at least least_capacity()
  Late late = Late::dropped;
  /// What is to come is known: its weights come before it does. Else those of frames that have arrived.
  bool foreseen = true;
  /// All that there is room for is there from the start; where there is room for all, nothing is moved.
  bool warm = false;
};

struct Frame {
  std::optional<Seconds> finish;  ///< nothing where it was dropped
  bool met = false;
};
struct Outcome {
  std::vector<Frame> frames;          ///< as the requests
  std::vector<std::size_t> sequence;  ///< models, as they ran
  std::vector<std::int64_t> moved;    ///< blocks, for each model's runs
  std::vector<std::int64_t> runs;     ///< of each model
  std::int64_t blocks = 0;            ///< moved
  std::int64_t copies = 0;
  Seconds copying, computing;
  Seconds waited;               ///< for weights, while nothing was computed and a frame was there
  Seconds end;                  ///< of the last run
  std::int64_t most_taken = 0;  ///< blocks
};

/// Frames by a clock of events: one run after the other, the frame whose deadline is first among those that
/// have come; copies one after the other beside it; a layer computes as soon as its weights are there and the
/// one before it has; while a run computes, what the next one needs is copied. Requests are sorted
/// (sort_requests). `seen` is told each run.
[[nodiscard]] Outcome simulate(const Question& question, std::span<const Request> requests,
                               const std::function<void(const ModelRun&)>& seen = {});

/// The same where frames come one after the other, each as soon as the one before it has been decided on: by
/// arrival, none of them dropped. Only what runs and moves has a meaning then, and no time.
[[nodiscard]] Outcome in_sequence(const Question& question, std::span<const Request> requests);

}  // namespace plimsoll::swapping
