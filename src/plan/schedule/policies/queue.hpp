#pragma once
#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>

#include "plan/schedule/policy.hpp"

namespace plimsoll::plan::schedule {

/// Jobs that wait, by priority and then as they came.
class WaitingLine {
 public:
  using Jobs = std::map<std::pair<double, std::uint64_t>, std::size_t>;  ///< by rank and arrival
  void add(const Instance& instance, std::size_t job) {
    jobs_.emplace(std::pair(-rank_of(instance, job), came_++), job);
  }
  [[nodiscard]] bool is_empty() const { return jobs_.empty(); }
  [[nodiscard]] std::size_t first() const { return jobs_.begin()->second; }
  void remove_first() { jobs_.erase(jobs_.begin()); }
  void remove(Jobs::const_iterator at) { jobs_.erase(at); }
  [[nodiscard]] const Jobs& jobs() const { return jobs_; }

 private:
  Jobs jobs_;
  std::uint64_t came_ = 0;
};

/// Places on which nothing is; as many as are wanted, or fewer.
[[nodiscard]] inline std::vector<std::size_t> idle_places(const View& view, std::size_t job) {
  std::vector<std::size_t> out;
  const auto wanted = static_cast<std::size_t>(view.instance.jobs[job].gpus);
  const bool hosts = view.instance.hosts > 1;  // then all of them are looked at
  for (std::size_t place = 0; place < view.places.size() && (hosts || out.size() < wanted); ++place)
    if (view.places[place].running.empty() &&
        may_join(view.instance, view.instance.places[place], view.places[place], job))
      out.push_back(place);
  return of_one_host(view.instance, std::move(out), wanted);
}

/// One after the other in the order of the line, each on the place with the highest score; the first that
/// finds no place may be passed by others where `passes` says so.
class FitPolicy : public Policy {
 public:
  /// Of a place for a job; nothing: not there.
  using Score = std::function<std::optional<double>(const View& view, std::size_t job, std::size_t place)>;
  FitPolicy(Score score, bool passes) : score_(std::move(score)), passes_(passes) {}

  void arrive(const View& view, std::size_t job) override { line_.add(view.instance, job); }
  void failed(const View& view, std::size_t job) override {
    alone_.push_back(job);
    line_.add(view.instance, job);
  }
  std::optional<Start> next(const View& view) override {
    for (auto at = line_.jobs().begin(); at != line_.jobs().end(); ++at) {
      const std::size_t job = at->second;
      std::vector<std::size_t> places = places_for(view, job);
      if (!places.empty()) {
        line_.remove(at);
        return Start{job, std::move(places)};
      }
      if (!passes_) break;
    }
    return std::nullopt;
  }

 protected:
  [[nodiscard]] bool is_empty() const { return line_.is_empty(); }

 private:
  [[nodiscard]] std::vector<std::size_t> places_for(const View& view, std::size_t job) const {
    const auto wanted = static_cast<std::size_t>(view.instance.jobs[job].gpus);
    if (wanted > 1 || std::ranges::find(alone_, job) != alone_.end()) {
      std::vector<std::size_t> idle = idle_places(view, job);
      if (idle.size() < wanted) idle.clear();
      return idle;
    }
    std::optional<std::size_t> best;
    double most = 0;
    for (std::size_t place = 0; place < view.places.size(); ++place) {
      if (!may_join(view.instance, view.instance.places[place], view.places[place], job)) continue;
      const auto score = score_(view, job, place);
      if (!score || (best && *score <= most)) continue;
      best = place;
      most = *score;
    }
    return best ? std::vector{*best} : std::vector<std::size_t>();
  }

  Score score_;
  bool passes_;
  WaitingLine line_;
  std::vector<std::size_t> alone_;
};

/// Of a GPU that those on a place keep busy alone.
[[nodiscard]] inline double share_taken(const View& view, std::size_t place) {
  double out = 0;
  for (const std::uint32_t kind : view.places[place].kinds) out += view.instance.kinds[kind].share;
  return out;
}
/// Whether a job's share is left on a place.
[[nodiscard]] inline bool has_share(const View& view, std::size_t job, std::size_t place) {
  return share_taken(view, place) + view.instance.kinds[view.instance.jobs[job].kind].share <= 1 + 1e-9;
}

}  // namespace plimsoll::plan::schedule
