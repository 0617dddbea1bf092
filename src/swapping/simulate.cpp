#include "swapping/simulate.hpp"

#include <algorithm>
#include <utility>

#include "swapping/frame_queue.hpp"

namespace plimsoll::swapping {
namespace {

class Simulation {
 public:
  Simulation(const Question& question, std::span<const Request> requests)
      : question_(question),
        packed_(question.packed),
        requests_(requests),
        queue_(requests, packed_.models.size(), question.foreseen),
        memory_(empty_memory(packed_, question.capacity)),
        clock_(packed_) {
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
      forecast(packed_, question_.link, requests_[request], known, run, clock);
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

  Outcome in_sequence() && {
    while (const auto next = queue_.next({})) {
      const std::size_t request = next->first;
      ModelRun run{.request = request, .model = requests_[request].model};
      run.decision = decide(packed_, question_.policy, memory_, run.model, queue_.outlook_after(request));
      account(run);
      memory_ = std::move(run.decision.after);
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

  /// Before the memory is what the run makes of it.
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
    std::int64_t taken = memory_.taken;
    for (const Load& load : run.decision.loads) {
      for (const Eviction& eviction : load.evictions) taken -= eviction.blocks;
      out_.most_taken = std::max(out_.most_taken, taken += load.blocks);
    }
  }

  const Question& question_;
  const Packed& packed_;
  std::span<const Request> requests_;
  FrameQueue queue_;
  Memory memory_;
  Clock clock_;
  Outcome out_;
};

}  // namespace

Outcome simulate(const Question& question, std::span<const Request> requests,
                 const std::function<void(const ModelRun&)>& seen) {
  return Simulation(question, requests).simulate(seen);
}

Outcome in_sequence(const Question& question, std::span<const Request> requests) {
  return Simulation(question, requests).in_sequence();
}

}  // namespace plimsoll::swapping
