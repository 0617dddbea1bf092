#include "telemetry/sampling_thread.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <ctime>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

#include <pthread.h>

#include "base/signals_held_back.hpp"

namespace plimsoll::telemetry {
namespace {

using Clock = std::chrono::steady_clock;

std::int64_t microseconds_since_1970() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::microseconds>(since).count();
}

double thread_seconds() {
  timespec used{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) * 1e-9;
}

}  // namespace

struct SamplingThread::State {
  State(Sampler given, double rate, std::size_t most, Seen told)
      : sampler(std::move(given)),
        seen(std::move(told)),
        period(std::chrono::duration_cast<Clock::duration>(
            std::chrono::duration<double>(1 / std::clamp(rate, kLowestRate, kHighestRate)))),
        capacity(std::max<std::size_t>(most, 1)) {}

  void run();
  void tell(std::function<void(Sampler&)> change);
  /// Waits until a frame is due, and does what is told meanwhile; true where it is the last.
  bool wait_until(Clock::time_point due);
  void read_frame(bool late, bool last);
  /// `late`: more than one and a half periods after the one before.
  void keep(Frame frame, bool late);

  // The thread's own.
  Sampler sampler;
  Seen seen;
  std::size_t series_told = 0;

  std::mutex keeping;
  std::deque<Frame> frames;
  std::vector<Series> new_series;
  std::vector<Gap> gaps;
  std::optional<std::int64_t> last_time;   ///< of the last frame read
  std::optional<std::int64_t> last_taken;  ///< of the last frame that was taken or dropped

  std::mutex stopping;
  std::condition_variable wake;
  bool stop = false;
  std::vector<std::function<void(Sampler&)>> changes;  ///< told, not yet done

  Clock::duration period;
  std::size_t capacity;
  Clock::time_point began = Clock::now();
  std::atomic<std::uint64_t> frames_read = 0;
  std::atomic<double> cpu_seconds = 0;
  std::thread thread;
};

void SamplingThread::State::keep(Frame frame, bool late) {
  const std::lock_guard lock(keeping);
  if (late && last_time && gaps.size() < capacity) gaps.push_back({*last_time, frame.time, false});
  last_time = frame.time;
  frames.push_back(std::move(frame));
  if (frames.size() <= capacity) return;
  const std::int64_t dropped = frames.front().time;
  frames.pop_front();
  // One gap, as long as frames are dropped: it stands first, and its end moves on.
  if (!gaps.empty() && gaps.front().dropped) {
    gaps.front().to = frames.front().time;
  } else {
    gaps.insert(gaps.begin(), {last_taken.value_or(dropped), frames.front().time, true});
  }
}

void SamplingThread::State::read_frame(bool late, bool last) {
  if (last) sampler.all_due();
  const double elapsed = std::chrono::duration<double>(Clock::now() - began).count();
  Frame frame = sampler.sample(microseconds_since_1970(), elapsed);
  const std::vector<Series>& known = sampler.series();
  if (series_told < known.size()) {
    const std::lock_guard lock(keeping);
    for (; series_told < known.size(); ++series_told) new_series.push_back(known[series_told]);
  }
  if (seen) seen(frame, known);
  keep(std::move(frame), late);
  ++frames_read;
  cpu_seconds = thread_seconds();
}

bool SamplingThread::State::wait_until(Clock::time_point due) {
  for (;;) {
    std::vector<std::function<void(Sampler&)>> told;
    bool last = false;
    bool is_due = false;
    {
      std::unique_lock lock(stopping);
      is_due = !wake.wait_until(lock, due, [this] { return stop || !changes.empty(); });
      told = std::exchange(changes, {});
      last = stop;
    }
    for (const auto& change : told) change(sampler);
    if (last || is_due || Clock::now() >= due) return last;
  }
}

void SamplingThread::State::run() {
  Clock::time_point due = began;
  std::optional<Clock::time_point> previous;
  for (;;) {
    const bool last = wait_until(due);
    const Clock::time_point now = Clock::now();
    read_frame(previous && now - *previous > period * 3 / 2, last);
    previous = now;
    if (last) return;
    due += period;
    // Frames that were missed are not made up for in a burst: the rhythm goes on from the next beat.
    if (const auto after = Clock::now(); due <= after) due += period * ((after - due) / period + 1);
  }
}

SamplingThread::SamplingThread(Sampler sampler, double rate, std::size_t capacity, Seen seen)
    : state_(std::make_unique<State>(std::move(sampler), rate, capacity, std::move(seen))) {
  {
    const SignalsHeldBack held;
    state_->thread = std::thread([state = state_.get()] { state->run(); });
  }
  ::pthread_setname_np(state_->thread.native_handle(), "sampling");
}

SamplingThread::~SamplingThread() {
  stop();
}

void SamplingThread::State::tell(std::function<void(Sampler&)> change) {
  {
    const std::lock_guard lock(stopping);
    changes.push_back(std::move(change));
  }
  wake.notify_one();
}

void SamplingThread::watch(const Watched& watched) {
  state_->tell([watched](Sampler& sampler) { sampler.watch(watched); });
}

void SamplingThread::adopt(int run, pid_t orphan) {
  state_->tell([run, orphan](Sampler& sampler) { sampler.adopt(run, orphan); });
}

void SamplingThread::forget(int run) {
  state_->tell([run](Sampler& sampler) { sampler.forget(run); });
}

void SamplingThread::weigh(int run, unsigned gpu, std::optional<double> weight) {
  state_->tell([run, gpu, weight](Sampler& sampler) { sampler.weigh(run, gpu, weight); });
}

void SamplingThread::ignore(pid_t server) {
  state_->tell([server](Sampler& sampler) { sampler.ignore(server); });
}

SamplingThread::Taken SamplingThread::take() {
  const std::lock_guard lock(state_->keeping);
  Taken out;
  out.new_series = std::exchange(state_->new_series, {});
  out.gaps = std::exchange(state_->gaps, {});
  out.frames.assign(std::move_iterator(state_->frames.begin()), std::move_iterator(state_->frames.end()));
  state_->frames.clear();
  if (!out.frames.empty()) state_->last_taken = out.frames.back().time;
  return out;
}

SamplingThread::Cost SamplingThread::cost() const {
  return {state_->frames_read, state_->cpu_seconds};
}

void SamplingThread::stop() {
  {
    const std::lock_guard lock(state_->stopping);
    state_->stop = true;
  }
  state_->wake.notify_one();
  if (state_->thread.joinable()) state_->thread.join();
}

}  // namespace plimsoll::telemetry
