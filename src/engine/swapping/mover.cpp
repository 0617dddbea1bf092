#include "engine/swapping/mover.hpp"

#include <algorithm>

namespace plimsoll::engine {

using std::chrono::steady_clock;
using swapping::Decision;

namespace {

constexpr std::size_t kLately = 16;  // runs

steady_clock::time_point moment(steady_clock::time_point start, Seconds after) {
  return start +
         std::chrono::duration_cast<steady_clock::duration>(std::chrono::duration<double>(after.value()));
}

}  // namespace

Mover::Mover(const TurnsQuestion& question, BlockMemory& memory, PlannedRuns& runs,
             steady_clock::time_point start)
    : question_(question),
      blocks_(memory),
      runs_(runs),
      start_(start),
      queue_(question.requests, question.packed.models.size(), question.asked.foreseen),
      memory_(swapping::empty_memory(question.packed, question.asked.capacity)),
      mapped_(question.packed.chunks.size()),
      last_use_(question.packed.chunks.size()) {}

Seconds Mover::now() const {
  return Seconds(std::chrono::duration<double>(steady_clock::now() - start_).count());
}

void Mover::move() {
  const bool by_clock = question_.asked.by_clock;
  blocks_.enter();
  while (const auto next = queue_.next(by_clock ? now() : Seconds())) {
    const auto [request, known] = *next;
    if (by_clock && !runs_.sleep_until(moment(start_, known))) return;
    auto run = std::make_shared<PlannedRun>();
    if (!plan(*run, request, known)) continue;
    runs_.add(run);
    lately_.push_back(run);
    if (lately_.size() > kLately) lately_.pop_front();
    if (!bring(run)) return;
    blocks_.finish_copies();
    // One run ahead: what comes next is decided on when this one computes and its copies are done.
    if (!runs_.wait_begun(*run)) return;
    previous_ = std::move(run);
  }
  runs_.end();
}

bool Mover::plan(PlannedRun& run, std::size_t request, Seconds known) {
  const swapping::Packed& packed = question_.packed;
  run.of.request = request;
  run.of.model = question_.requests[request].model;
  run.of.decision =
      swapping::decide(packed, question_.policy, memory_, run.of.model, queue_.outlook_after(request));
  if (question_.asked.by_clock) {
    swapping::Clock clock = clock_now();
    swapping::forecast(packed, question_.link, question_.requests[request], std::max(known, now()), run.of,
                       clock);
    if (question_.asked.drops_late && run.of.finish() + lateness() > question_.requests[request].deadline)
      return false;
  }
  take_account(run.of.decision);
  memory_ = std::move(run.of.decision.after);
  run.copied.resize(packed.models[run.of.model].layers.size());
  run.computed.resize(run.copied.size());
  return true;
}

Seconds Mover::lateness() const {
  Seconds out;
  for (const auto& run : lately_) out = std::max(out, runs_.lateness(*run));
  return out;
}

/// All copies are done; the run that computes is as long as it was thought to be, from when it really began.
swapping::Clock Mover::clock_now() const {
  swapping::Clock out(question_.packed);
  out.link_free = now();
  if (!previous_ || previous_->of.begins.empty()) return out;
  const swapping::ModelRun& of = previous_->of;
  const Seconds later = *previous_->began - of.begins.front();
  const auto& layers = question_.packed.models[of.model].layers;
  for (std::size_t layer = 0; layer < layers.size(); ++layer)
    for (const std::size_t chunk : layers[layer].chunks) out.in_use[chunk] = of.ends[layer] + later;
  out.device_free = of.finish() + later;
  return out;
}

void Mover::take_account(const Decision& decision) {
  std::int64_t taken = memory_.taken;
  for (const swapping::Load& load : decision.loads) {
    for (const swapping::Eviction& eviction : load.evictions) taken -= eviction.blocks;
    account_.most_taken = std::max(account_.most_taken, taken += load.blocks);
  }
  account_.blocks += decision.moved();
}

bool Mover::bring(const std::shared_ptr<PlannedRun>& run) {
  const auto& layers = question_.packed.models[run->of.model].layers;
  auto load = run->of.decision.loads.begin();
  const auto end = run->of.decision.loads.end();
  for (std::size_t layer = 0; layer < layers.size(); ++layer) {
    const bool moves = load != end && load->layer == layer;
    for (; load != end && load->layer == layer; ++load)
      if (!bring(*load)) return false;
    runs_.bring(*run, moves ? blocks_.copied() : nullptr);
    for (const std::size_t chunk : layers[layer].chunks) last_use_[chunk] = {run, layer};
  }
  return true;
}

bool Mover::bring(const swapping::Load& load) {
  for (const swapping::Eviction& eviction : load.evictions)
    if (!give_way(eviction)) return false;
  const BlockRange range{question_.packed.chunks[load.chunk].first + mapped_[load.chunk], load.blocks};
  blocks_.map(range);
  blocks_.copy(range);
  mapped_[load.chunk] += load.blocks;
  return true;
}

bool Mover::give_way(const swapping::Eviction& eviction) {
  if (const LastUse& use = last_use_[eviction.chunk]; use.run) {
    if (!runs_.wait_computed(*use.run, use.layer)) return false;
    use.run->computed[use.layer]->wait();
  }
  mapped_[eviction.chunk] -= eviction.blocks;
  blocks_.unmap({question_.packed.chunks[eviction.chunk].first + mapped_[eviction.chunk], eviction.blocks});
  return true;
}

}  // namespace plimsoll::engine
