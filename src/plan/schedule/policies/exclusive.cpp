// One after the other, in the order in which they came: what a queue of whole GPUs does.
#include "plan/schedule/policies/policies.hpp"
#include "plan/schedule/policies/queue.hpp"

namespace plimsoll::plan::schedule {

std::unique_ptr<Policy> exclusive_policy(const Instance&) {
  return std::make_unique<FitPolicy>(
      [](const View& view, std::size_t, std::size_t place) -> std::optional<double> {
        return view.places[place].running.empty() ? std::optional(1.0) : std::nullopt;
      },
      false);
}

}  // namespace plimsoll::plan::schedule
