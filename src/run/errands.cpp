#include "run/errands.hpp"

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include <sys/eventfd.h>
#include <unistd.h>

#include "base/file_descriptor.hpp"
#include "base/signals_held_back.hpp"

namespace plimsoll::running {

/// Shared with the lanes: one that hangs may outlive the object.
struct Errands::State {
  FileDescriptor event{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  mutable std::mutex mutex;
  std::uint64_t sent = 0;
  std::map<std::uint64_t, std::string> under_way;
  std::vector<std::pair<std::uint64_t, Then>> done;
};

struct Errands::Lane {
  struct Errand {
    std::uint64_t number = 0;
    Work work;
  };
  std::string name;
  std::mutex mutex;
  std::condition_variable wake;
  std::deque<Errand> waiting;
  bool busy = false;
  bool stopping = false;
  std::thread thread;

  void run(State& state) {
    while (true) {
      Errand errand;
      {
        std::unique_lock lock(mutex);
        wake.wait(lock, [&] { return stopping || !waiting.empty(); });
        if (stopping) return;
        errand = std::move(waiting.front());
        waiting.pop_front();
        busy = true;
      }
      Then then = errand.work();
      errand.work = {};  // what it owned goes here, not in the loop
      {
        const std::scoped_lock lock(mutex);
        busy = false;
      }
      const std::scoped_lock lock(state.mutex);
      state.done.emplace_back(errand.number, std::move(then));
      const std::uint64_t one = 1;
      [[maybe_unused]] const ssize_t written = ::write(state.event.get(), &one, sizeof one);
    }
  }
};

Errands::Errands() : state_(std::make_shared<State>()) {}

Errands::~Errands() {
  for (const std::shared_ptr<Lane>& lane : lanes_) {
    bool hangs = false;
    {
      const std::scoped_lock lock(lane->mutex);
      lane->stopping = true;
      lane->waiting.clear();
      hangs = lane->busy;
    }
    lane->wake.notify_all();
    if (hangs)
      lane->thread.detach();
    else
      lane->thread.join();
  }
}

void Errands::send(std::string_view lane, std::string what, Work work) {
  std::uint64_t number = 0;
  {
    const std::scoped_lock lock(state_->mutex);
    number = ++state_->sent;
    state_->under_way.emplace(number, std::move(what));
  }
  auto found =
      std::ranges::find(lanes_, lane, [](const auto& known) { return std::string_view(known->name); });
  if (found == lanes_.end()) {
    auto made = std::make_shared<Lane>();
    made->name = lane;
    const SignalsHeldBack held;
    made->thread = std::thread([made, state = state_] { made->run(*state); });
    found = lanes_.insert(lanes_.end(), std::move(made));
  }
  Lane& chosen = **found;
  const std::scoped_lock lock(chosen.mutex);
  chosen.waiting.push_back({number, std::move(work)});
  chosen.wake.notify_all();
}

int Errands::descriptor() const {
  return state_->event.get();
}

void Errands::deliver() {
  std::vector<std::pair<std::uint64_t, Then>> done;
  {
    const std::scoped_lock lock(state_->mutex);
    std::uint64_t count = 0;
    [[maybe_unused]] const ssize_t got = ::read(state_->event.get(), &count, sizeof count);
    done = std::exchange(state_->done, {});
    for (const auto& [number, then] : done) state_->under_way.erase(number);
  }
  for (const auto& [number, then] : done)
    if (then) then();
}

std::vector<std::string> Errands::under_way() const {
  const std::scoped_lock lock(state_->mutex);
  std::vector<std::string> out;
  for (const auto& [number, what] : state_->under_way) out.push_back(what);
  return out;
}

}  // namespace plimsoll::running
