#pragma once
#include <cstddef>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "swapping/policy.hpp"
#include "swapping/requests.hpp"

namespace plimsoll::swapping {

/// Which frames come, which have been decided on, and when each model is asked for again.
class FrameQueue {
 public:
  /// Requests are sorted (sort_requests) and outlive it. `foreseen`: what is to come is known before it
  /// comes.
  FrameQueue(std::span<const Request> requests, std::size_t models, bool foreseen);

  /// The next frame to decide on, and the moment from which on it is known; nothing: there is none. Of those
  /// that have come it is the one whose deadline is first.
  [[nodiscard]] std::optional<std::pair<std::size_t, Seconds>> next(Seconds now);

  /// Once the request has been taken.
  [[nodiscard]] const Outlook& outlook_after(std::size_t request);

 private:
  /// Of one model. Its frames are decided on in the order in which they come: its limit is the same for all.
  struct OfModel {
    std::vector<std::size_t> all;
    std::size_t decided = 0;
  };
  void take_arrived(Seconds until);
  [[nodiscard]] double expected(const OfModel& of) const;

  using Due = std::pair<double, std::size_t>;  // deadline, request
  std::span<const Request> requests_;
  bool foreseen_;
  std::vector<OfModel> of_model_;
  std::size_t next_ = 0;  ///< that has not arrived
  std::set<Due> arrived_;
  Outlook outlook_;
};

}  // namespace plimsoll::swapping
