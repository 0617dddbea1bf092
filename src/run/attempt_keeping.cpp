#include "run/attempt_keeping.hpp"

#include <algorithm>
#include <csignal>
#include <utility>

#include "store/timestamp.hpp"

namespace plimsoll::running {
namespace {

constexpr std::chrono::milliseconds kTellProgress{500};
constexpr const char* kLane = "attempt";

double in_seconds(store::Time time) {
  return static_cast<double>(time) * 1e-6;
}

Error lease_is_over() {
  return {"its lease has run out", {}, "The queue no longer says that it may run.", Error::Kind::unavailable};
}

}  // namespace

AttemptKeeping::AttemptKeeping(Setting setting) : setting_(std::move(setting)) {
  if (setting_.held->attempt.leased)
    lease_.emplace(setting_.held->clock, setting_.held->attempt.lease_patience, setting_.grace);
}

void AttemptKeeping::begin(Began began, const std::function<void(const Status&)>& then) {
  run_ = began.run;
  const auto write = [this, began = std::move(began), then] {
    setting_.errands.send(kLane, "noting that the attempt begins",
                          [held = setting_.held, began, then]() -> Errands::Then {
                            const Status written = held->folder.write(began);
                            return [written, then] { then(written); };
                          });
  };
  if (!lease_) return write();
  // What ran out while it was prepared is not begun.
  setting_.errands.send(kLane, "reading the attempt's lease",
                        [this, held = setting_.held, write, then]() -> Errands::Then {
                          const std::optional<Lease> found = held->folder.lease();
                          return [this, found, write, then] {
                            lease_->note(found);
                            if (lease_->is_over()) return then(std::unexpected(lease_is_over()));
                            write();
                          };
                        });
}

void AttemptKeeping::look_after(Watch& watch, const GpuUse& use, Clock::time_point now) {
  look_at_lease(now);
  if (lease_ && lease_->is_over()) {
    if (!std::exchange(lease_ended_, true)) {
      setting_.warn("the lease of the attempt runs out; its command is ended");
      watch.stop(StopCause::lease, SIGTERM, now);
    }
    watch.hasten(now + lease_->grace_left());
  }
  if (std::optional<std::string> text = watch.take_saved()) {
    saved_ = Saved{*std::move(text), Seconds(in_seconds(store::now())), setting_.held->clock.now()};
    if (!saving_) write_saved();
  }
  tell_progress(watch, use, now, false);
}

void AttemptKeeping::look_at_lease(Clock::time_point now) {
  if (!lease_ || lease_asked_ || now < next_look_) return;
  lease_asked_ = true;
  // A lane of its own: what is written may take longer than what is left.
  setting_.errands.send("lease", "reading the attempt's lease",
                        [this, held = setting_.held]() -> Errands::Then {
                          const std::optional<Lease> found = held->folder.lease();
                          return [this, found] {
                            lease_asked_ = false;
                            lease_->note(found);
                            next_look_ = Clock::now() + lease_->next_look();
                          };
                        });
}

/// The newest only, one after the other: a command may say it a million times.
void AttemptKeeping::write_saved() {
  saving_ = true;
  setting_.errands.send(kLane, "noting what the command has saved",
                        [this, held = setting_.held, saved = *std::exchange(saved_, {})]() -> Errands::Then {
                          const Status written = held->folder.write(saved);
                          return [this, written, saved] {
                            saving_ = false;
                            warn_of(written);
                            if (setting_.listener.saved) setting_.listener.saved(run_, saved);
                            if (saved_) write_saved();
                          };
                        });
}

void AttemptKeeping::tell_progress(const Watch& watch, const GpuUse& use, Clock::time_point now, bool last) {
  if (!setting_.listener.progress || (now < next_progress_ && !last)) return;
  Progress progress{.run = watch.place().id};
  const Watch::Reached& reached = watch.reached();
  progress.step = reached.step;
  if (reached.step) progress.at = in_seconds(reached.at);
  progress.epoch = reached.epoch;
  use.add_to(progress, watch.place().number);
  next_progress_ = now + kTellProgress;
  if (progress == told_.value_or(Progress{.run = progress.run})) return;
  told_ = progress;
  setting_.listener.progress(progress);
}

void AttemptKeeping::note_end(Watch& watch, const GpuUse& use, const Ended& ended) {
  if (std::optional<std::string> text = watch.take_saved())
    saved_ = Saved{*std::move(text), Seconds(in_seconds(store::now())), setting_.held->clock.now()};
  if (saved_) write_saved();  // before the end, whatever is under way
  tell_progress(watch, use, Clock::now(), true);
  setting_.errands.send(kLane, "noting how the attempt ended",
                        [this, held = setting_.held, ended]() -> Errands::Then {
                          const Status written = held->folder.write(ended);
                          return [this, written] { warn_of(written); };
                        });
}

void AttemptKeeping::tell_end(Ended ended, std::function<void(Ended)> tell) {
  auto untold = std::make_shared<Untold>(Untold{std::move(ended), std::move(tell)});
  untold_.push_back(untold);
  setting_.errands.send(kLane, "noting how the attempt ended",
                        [this, held = setting_.held, untold, of = untold->ended]() -> Errands::Then {
                          const Status written = held->folder.write(of);
                          return [this, written, untold] {
                            warn_of(written);
                            if (std::erase(untold_, untold) > 0) untold->tell(std::move(untold->ended));
                          };
                        });
}

void AttemptKeeping::tell_rest() {
  for (const auto& untold : std::exchange(untold_, {})) untold->tell(std::move(untold->ended));
}

AttemptKeeping::Clock::time_point AttemptKeeping::next() const {
  auto out = next_progress_;
  if (out < Clock::now()) out = Clock::now() + kTellProgress;
  if (lease_ && !lease_asked_) out = std::min(out, next_look_);
  return out;
}

void AttemptKeeping::warn_of(const Status& written) {
  if (written || std::exchange(warned_, true)) return;
  setting_.warn(fmt::format("the queue's folder of this attempt takes nothing: {}", written.error().text()));
}

}  // namespace plimsoll::running
