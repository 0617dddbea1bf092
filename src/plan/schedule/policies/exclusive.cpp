// One after the other, in the order in which they came: what a queue of whole GPUs does.
#include <set>

#include "plan/schedule/policies/policies.hpp"
#include "plan/schedule/policies/queue.hpp"

namespace plimsoll::plan::schedule {
namespace {

class Exclusive final : public Policy {
 public:
  void arrive(const View& view, std::size_t job) override { line_.add(view.instance, job); }
  void failed(const View& view, std::size_t job) override { line_.add(view.instance, job); }
  std::optional<Start> next(const View& view) override {
    for (; taken_ < view.changed.size(); ++taken_)
      if (view.places[view.changed[taken_]].running.empty()) idle_.insert(view.changed[taken_]);
    auto start = first_in_line(view);
    if (!start) taken_ = 0;  // what changes from now on is told anew
    return start;
  }

 private:
  std::optional<Start> first_in_line(const View& view) {
    if (line_.is_empty()) return std::nullopt;
    const std::size_t job = line_.first();
    const auto wanted = static_cast<std::size_t>(view.instance.jobs[job].gpus);
    std::vector<std::size_t> places;
    const bool hosts = view.instance.hosts > 1;  // then all of them are looked at
    for (auto at = idle_.begin(); at != idle_.end() && (hosts || places.size() < wanted);) {
      if (!view.places[*at].running.empty()) {  // it was started on
        at = idle_.erase(at);
        continue;
      }
      if (may_join(view.instance, view.instance.places[*at], view.places[*at], job)) places.push_back(*at);
      ++at;
    }
    places = of_one_host(view.instance, std::move(places), wanted);
    if (places.size() < wanted) return std::nullopt;
    line_.remove_first();
    return Start{job, std::move(places)};
  }

  WaitingLine line_;
  std::set<std::size_t> idle_;  ///< of those some may be taken since
  std::size_t taken_ = 0;       ///< of the view's changed places
};

}  // namespace

std::unique_ptr<Policy> exclusive_policy(const Instance&) {
  return std::make_unique<Exclusive>();
}

}  // namespace plimsoll::plan::schedule
