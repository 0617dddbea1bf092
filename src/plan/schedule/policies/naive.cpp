// All at once, wherever memory is left, taking turns: what happens where nobody plans.
#include "plan/schedule/policies/policies.hpp"
#include "plan/schedule/policies/queue.hpp"

namespace plimsoll::plan::schedule {

std::unique_ptr<Policy> naive_policy(const Instance&) {
  return std::make_unique<FitPolicy>(
      [](const View& view, std::size_t, std::size_t place) -> std::optional<double> {
        return -static_cast<double>(view.places[place].running.size());
      },
      true);
}

}  // namespace plimsoll::plan::schedule
