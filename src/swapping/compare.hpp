#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "swapping/simulate.hpp"

namespace plimsoll::swapping {

/// What became of the frames of one model, or of all.
struct FramesMet {
  std::size_t frames = 0, ran = 0, met = 0;
  std::int64_t blocks = 0;  ///< moved
};

/// What a simulation comes to.
struct Summary {
  FramesMet all = {};
  std::vector<FramesMet> models = {};
  Bytes moved = {};
  std::optional<Seconds> median = {},
                         late = {};   ///< 50 % and 99 % of the frames that ran took at most so long
  double copying = 0, computing = 0;  ///< shares of the time until the last frame
  Seconds waited = {};                ///< for weights
  /// Of answers that are right, over all frames: a missed one is wrong. Where every model's is known.
  std::optional<double> accuracy = {}, accuracy_lost = {};
};
/// `accuracies` of the models where they are known.
[[nodiscard]] Summary summary(const Packed& packed, std::span<const Request> requests, const Outcome& outcome,
                              std::span<const std::optional<double>> accuracies);

/// The same frames with all weights there from the start: what computing alone allows.
[[nodiscard]] Outcome without_swapping(const Question& question, std::span<const Request> requests);

/// What frames were missed for.
struct Misses {
  std::size_t computing = 0;  ///< as many are missed where all weights are there
  std::size_t copies = 0;     ///< beyond that
};
[[nodiscard]] Misses misses(const Summary& of, const Summary& without_swapping);

/// Whether the first met more frames, or moved less where both met as many.
[[nodiscard]] bool is_better(const Summary& a, const Summary& b);

}  // namespace plimsoll::swapping
