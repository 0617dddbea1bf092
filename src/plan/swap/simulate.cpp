#include "plan/swap/simulate.hpp"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

namespace plimsoll::plan::swapping {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

/// When link and device are free, and what each chunk waits for.
struct Clock {
  Seconds link_free, device_free;
  std::vector<Seconds> ready;   ///< all copies of the chunk are there
  std::vector<Seconds> in_use;  ///< until when a layer needs it
};

/// Which frames come, which have been decided on, and when each model is asked for again.
class Queue {
 public:
  Queue(const Question& question, std::span<const Request> requests)
      : requests_(requests), foreseen_(question.foreseen), of_model_(question.packed.models.size()) {
    outlook_.told.resize(of_model_.size());
    outlook_.expected.resize(of_model_.size());
    for (std::size_t i = 0; i < requests.size(); ++i) of_model_[requests[i].model].all.push_back(i);
  }

  /// The next frame to decide on, and the moment from which on it is known; nothing: there is none.
  std::optional<std::pair<std::size_t, Seconds>> next(Seconds now) {
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

  /// Once the request has been taken.
  const Outlook& outlook_after(std::size_t request) {
    OfModel& taken = of_model_[requests_[request].model];
    ++taken.decided;
    for (std::size_t model = 0; model < of_model_.size(); ++model) {
      const OfModel& of = of_model_[model];
      outlook_.told[model] = of.decided < of.all.size() ? static_cast<double>(of.all[of.decided]) : kNever;
      outlook_.expected[model] = expected(of);
    }
    return outlook_;
  }

 private:
  /// Of one model. Its frames are decided on in the order in which they come: its limit is the same for all.
  struct OfModel {
    std::vector<std::size_t> all;
    std::size_t decided = 0;
  };

  void take_arrived(Seconds until) {
    for (; next_ < requests_.size() && requests_[next_].arrival <= until; ++next_)
      arrived_.emplace(requests_[next_].deadline.value(), next_);
  }
  /// One that has come waits; else as far after the last one as they came apart so far.
  [[nodiscard]] double expected(const OfModel& of) const {
    if (of.decided < of.all.size() && of.all[of.decided] < next_)
      return requests_[of.all[of.decided]].arrival.value();
    if (of.decided == 0) return kNever;
    const double last = requests_[of.all[of.decided - 1]].arrival.value();
    const double first = requests_[of.all.front()].arrival.value();
    return of.decided == 1 ? last : last + (last - first) / static_cast<double>(of.decided - 1);
  }

  using Due = std::pair<double, std::size_t>;  // deadline, request
  std::span<const Request> requests_;
  bool foreseen_;
  std::vector<OfModel> of_model_;
  std::size_t next_ = 0;  ///< that has not arrived
  std::set<Due> arrived_;
  Outlook outlook_;
};

class Simulation {
 public:
  Simulation(const Question& question, std::span<const Request> requests)
      : question_(question),
        packed_(question.packed),
        requests_(requests),
        queue_(question, requests),
        memory_(empty_memory(packed_, question.capacity)) {
    clock_.ready.resize(packed_.chunks.size());
    clock_.in_use.resize(packed_.chunks.size());
    out_.frames.resize(requests.size());
    out_.moved.resize(packed_.models.size());
    out_.runs.resize(packed_.models.size());
    if (question.warm) warm();
  }

  Outcome simulate(const std::function<void(const ModelRun&)>& seen) && {
    Seconds now;
    while (const auto next = queue_.next(now)) {
      const auto [request, known] = *next;
      const Outlook& outlook = queue_.outlook_after(request);
      ModelRun run{.request = request, .model = requests_[request].model};
      run.decision = decide(packed_, question_.policy, memory_, run.model, outlook);
      Clock clock = clock_;
      carry_out(run, clock, known);
      const bool met = run.finish() <= requests_[request].deadline;
      if (!met && question_.late == Late::dropped) {
        now = known;
        continue;
      }
      out_.frames[request] = {run.finish(), met};
      clock_ = std::move(clock);
      account(run);
      if (seen) seen(run);
      memory_ = std::move(run.decision.after);
      // One run ahead: what comes next is decided on when this one computes and its copies are done.
      now = std::max(clock_.link_free, run.begins.empty() ? known : run.begins.front());
    }
    return std::move(out_);
  }

 private:
  void warm() {
    for (std::size_t chunk = 0; chunk < packed_.chunks.size(); ++chunk) {
      memory_.held[chunk] = std::min(packed_.chunks[chunk].blocks, memory_.capacity - memory_.taken);
      memory_.taken += memory_.held[chunk];
    }
    memory_.whole.assign(packed_.models.size(), memory_.taken == packed_.blocks);
  }

  void copy(ModelRun& run, const Load& load, Clock& clock, Seconds known) const {
    Seconds begin = std::max(clock.link_free, known);
    for (const Eviction& eviction : load.evictions) begin = std::max(begin, clock.in_use[eviction.chunk]);
    const Seconds end = begin + question_.link.copy(packed_.bytes(load.blocks));
    clock.link_free = clock.ready[load.chunk] = end;
    run.copies.push_back({begin, end});
  }

  /// Sets the times of the run's copies and layers.
  void carry_out(ModelRun& run, Clock& clock, Seconds known) const {
    const std::vector<PackedLayer>& layers = packed_.models[run.model].layers;
    const Seconds could_begin = std::max(clock.device_free, requests_[run.request].arrival);
    Seconds free = could_begin;
    auto load = run.decision.loads.begin();
    for (std::size_t layer = 0; layer < layers.size(); ++layer) {
      for (; load != run.decision.loads.end() && load->layer == layer; ++load) copy(run, *load, clock, known);
      Seconds begin = free;
      for (const std::size_t chunk : layers[layer].chunks) begin = std::max(begin, clock.ready[chunk]);
      run.waited += begin - free;
      free = begin + layers[layer].seconds;
      for (const std::size_t chunk : layers[layer].chunks) clock.in_use[chunk] = free;
      run.begins.push_back(begin);
      run.ends.push_back(free);
    }
    clock.device_free = free;
  }

  void account(const ModelRun& run) {
    const std::int64_t moved = run.decision.moved();
    out_.sequence.push_back(run.model);
    out_.moved[run.model] += moved;
    ++out_.runs[run.model];
    out_.blocks += moved;
    out_.copies += static_cast<std::int64_t>(run.copies.size());
    for (const Copied& copied : run.copies) out_.copying += copied.end - copied.begin;
    out_.computing += packed_.models[run.model].seconds();
    out_.waited += run.waited;
    out_.end = std::max(out_.end, run.finish());
    out_.most_taken = std::max(out_.most_taken, run.decision.after.taken);
  }

  const Question& question_;
  const Packed& packed_;
  std::span<const Request> requests_;
  Queue queue_;
  Memory memory_;
  Clock clock_;
  Outcome out_;
};

}  // namespace

Outcome simulate(const Question& question, std::span<const Request> requests,
                 const std::function<void(const ModelRun&)>& seen) {
  return Simulation(question, requests).simulate(seen);
}

}  // namespace plimsoll::plan::swapping
