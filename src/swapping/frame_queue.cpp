#include "swapping/frame_queue.hpp"

#include <algorithm>
#include <limits>

namespace plimsoll::swapping {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

}  // namespace

FrameQueue::FrameQueue(std::span<const Request> requests, std::size_t models, bool foreseen)
    : requests_(requests), foreseen_(foreseen), of_model_(models) {
  outlook_.told.resize(models);
  outlook_.expected.resize(models);
  for (std::size_t i = 0; i < requests.size(); ++i) of_model_[requests[i].model].all.push_back(i);
}

std::optional<std::pair<std::size_t, Seconds>> FrameQueue::next(Seconds now) {
  take_arrived(now);
  if (arrived_.empty()) {
    if (next_ == requests_.size()) return std::nullopt;
    const Seconds arrival = requests_[next_].arrival;
    if (!foreseen_) now = std::max(now, arrival);
    take_arrived(arrival);
  }
  const std::size_t request = arrived_.begin()->second;
  arrived_.erase(arrived_.begin());
  return std::pair(request, now);
}

const Outlook& FrameQueue::outlook_after(std::size_t request) {
  ++of_model_[requests_[request].model].decided;
  for (std::size_t model = 0; model < of_model_.size(); ++model) {
    const OfModel& of = of_model_[model];
    outlook_.told[model] = of.decided < of.all.size() ? static_cast<double>(of.all[of.decided]) : kNever;
    outlook_.expected[model] = expected(of);
  }
  return outlook_;
}

void FrameQueue::take_arrived(Seconds until) {
  for (; next_ < requests_.size() && requests_[next_].arrival <= until; ++next_)
    arrived_.emplace(requests_[next_].deadline.value(), next_);
}

/// One that has come waits; else as far after the last one as they came apart so far.
double FrameQueue::expected(const OfModel& of) const {
  if (of.decided < of.all.size() && of.all[of.decided] < next_)
    return requests_[of.all[of.decided]].arrival.value();
  if (of.decided == 0) return kNever;
  const double last = requests_[of.all[of.decided - 1]].arrival.value();
  const double first = requests_[of.all.front()].arrival.value();
  return of.decided == 1 ? last : last + (last - first) / static_cast<double>(of.decided - 1);
}

}  // namespace plimsoll::swapping
