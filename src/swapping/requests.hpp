#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/units.hpp"

namespace plimsoll::swapping {

/// A frame that a model is to answer.
struct Request {
  std::size_t model = 0;
  Seconds arrival;
  Seconds deadline;  ///< by the same clock
  friend bool operator==(const Request&, const Request&) = default;
};

/// What asks a model.
struct Stream {
  double rate = 0;  ///< frames a second, above 0
  Seconds limit;    ///< from a frame's arrival to its answer
};

/// Frames at equal distances, all streams from time 0 on. `order` tells which model comes first where frames
/// arrive together. In all `frames`, those that arrive first.
[[nodiscard]] std::vector<Request> steady_requests(std::span<const Stream> streams,
                                                   std::span<const std::size_t> order, std::size_t frames);

/// The same rates in the mean, in bursts: one to seven frames at four times the rate, then a pause, drawn by
/// `seed`.
[[nodiscard]] std::vector<Request> bursty_requests(std::span<const Stream> streams,
                                                   std::span<const std::size_t> order, std::size_t frames,
                                                   std::uint64_t seed);

/// By arrival; of those that arrive together by the order of their models.
void sort_requests(std::vector<Request>& requests, std::span<const std::size_t> order);

}  // namespace plimsoll::swapping
