#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace plimsoll::learn {

/// A share of examples, with its 95 % interval (Wilson's).
struct Share {
  std::int64_t right = 0, examples = 0;
  double low = 0, high = 0;
  [[nodiscard]] double value() const {
    return examples == 0 ? 0 : static_cast<double>(right) / static_cast<double>(examples);
  }
  friend bool operator==(const Share&, const Share&) = default;
};
[[nodiscard]] Share share_of(std::int64_t right, std::int64_t examples);

/// What the same examples say of two networks: how much accuracy the second lost. Shares, not points.
struct PairedLoss {
  std::int64_t examples = 0;
  std::int64_t lost = 0, won = 0;  ///< right with the first alone; with the second alone
  double value = 0;
  double low = 0, high = 0;  ///< 95 %
  double most = 0;           ///< the loss is below this with 95 % confidence, one-sided
  friend bool operator==(const PairedLoss&, const PairedLoss&) = default;
};
/// Of the examples at these places. Interval: Agresti and Min 2005, half an example added to each of the four
/// cells, so that two networks that never disagree are no proof that they never will.
[[nodiscard]] PairedLoss paired_loss(std::span<const std::int64_t> first,
                                     std::span<const std::int64_t> second,
                                     std::span<const std::int64_t> labels,
                                     std::span<const std::int64_t> places);

/// The fewest of `count` layers, taken in their order, that must be kept for a promise to hold, by halving;
/// `holds` is asked at most 2 + log2(count) times. Nothing kept is asked first. `count`: all, without asking:
/// where all are kept there is nothing that could be lost.
[[nodiscard]] std::size_t fewest_kept(std::size_t count, const std::function<bool(std::size_t kept)>& holds);

/// Which of these points nothing beats: a point that is at least as accurate and costs no more, and is better
/// in one of them. What costs an unknown amount (NaN) is none.
struct Point {
  double cost = 0, accuracy = 0;
};
[[nodiscard]] std::vector<bool> front_of(std::span<const Point> points);

}  // namespace plimsoll::learn
