#include "run/outbox.hpp"

#include <algorithm>

namespace plimsoll::running {

void Outbox::add(const std::string& run, const std::string& metric, const store::Description& description,
                 store::Point point, std::uint64_t number) {
  const Key key(run, metric);
  ++points_;
  if (const auto held = held_.empty() ? held_.end() : held_.find(key); held != held_.end()) {
    if (held->second.batch.points.empty()) held->second.first = number;
    held->second.batch.points.push_back(point);
    return;
  }
  const auto [place, fresh] = places_.try_emplace(key, waiting_.size());
  if (fresh) {
    waiting_.push_back({run, metric, description, {}});
    firsts_.push_back(number);
  }
  waiting_[place->second].points.push_back(point);
}

Status Outbox::write(store::Store& store, Clock::time_point now) {
  Status done;
  if (!waiting_.empty()) {
    done = store.append(waiting_);
    if (done)
      take_waiting({}, {});
    else if (!done.error().may_pass())
      done = write_each(store, now);
  }
  if (done && !held_.empty() && now >= next_try_) done = try_held_again(store, now);
  return done;
}

Status Outbox::write_all(store::Store& store, Clock::time_point now) {
  next_try_ = {};
  return write(store, now);
}

/// One that the store does not take must not keep the others out.
Status Outbox::write_each(store::Store& store, Clock::time_point now) {
  std::vector<store::Batch> batches = std::exchange(waiting_, {});
  std::vector<std::uint64_t> firsts = std::exchange(firsts_, {});
  std::size_t i = 0;
  Status done;
  for (; i < batches.size(); ++i) {
    Status alone = store.append({&batches[i], 1});
    if (!alone && alone.error().may_pass()) {
      done = std::move(alone);
      break;
    }
    if (!alone) hold(std::move(batches[i]), firsts[i], std::move(alone).error(), now);
  }
  const auto from = static_cast<std::ptrdiff_t>(i);
  batches.erase(batches.begin(), batches.begin() + from);
  firsts.erase(firsts.begin(), firsts.begin() + from);
  take_waiting(std::move(batches), std::move(firsts));
  return done;
}

Status Outbox::try_held_again(store::Store& store, Clock::time_point now) {
  next_try_ = now + options_.pause;
  for (auto it = held_.begin(); it != held_.end();) {
    Held& held = it->second;
    if (held.batch.points.empty()) {
      ++it;
      continue;
    }
    Status done = store.append({&held.batch, 1});
    if (done) {
      points_ -= held.batch.points.size();
      it = held_.erase(it);
      continue;
    }
    if (done.error().may_pass()) return done;
    held.error = std::move(done).error();
    if (now - held.since >= options_.patience) drop(held);
    ++it;
  }
  return {};
}

void Outbox::hold(store::Batch batch, std::uint64_t first, Error error, Clock::time_point now) {
  // What is not there (its run was purged) does not come back.
  const bool never = error.kind == Error::Kind::not_found;
  Key key(batch.run, batch.metric);
  Held& held =
      held_.emplace(std::move(key), Held{std::move(batch), first, std::move(error), now}).first->second;
  if (never) {
    held.since = now - options_.patience;
    drop(held);
  } else {
    refusals_.push_back({held.batch.run, held.batch.metric, held.error});
    next_try_ = now + options_.pause;
  }
}

/// The entry stays, so that the metric's later points are tried by themselves.
void Outbox::drop(Held& held) {
  refusals_.push_back({held.batch.run, held.batch.metric, held.error, held.batch.points.size()});
  count_lost(held.batch.run, held.batch.points.size(), held.first);
  held.batch.points.clear();
}

void Outbox::count_lost(const std::string& run, std::size_t points, std::uint64_t first) {
  if (points == 0) return;
  points_ -= points;
  const auto [lost, fresh] = lost_.try_emplace(run, Lost{0, first});
  lost->second.points += points;
  lost->second.first = std::min(lost->second.first, first);
}

void Outbox::take_waiting(std::vector<store::Batch> batches, std::vector<std::uint64_t> firsts) {
  waiting_ = std::move(batches);
  firsts_ = std::move(firsts);
  places_.clear();
  points_ = 0;
  for (std::size_t i = 0; i < waiting_.size(); ++i) {
    places_.emplace(Key(waiting_[i].run, waiting_[i].metric), i);
    points_ += waiting_[i].points.size();
  }
  for (const auto& [key, held] : held_) points_ += held.batch.points.size();
}

bool Outbox::holds(const std::string& run) const {
  return std::ranges::any_of(waiting_, [&](const store::Batch& batch) { return batch.run == run; }) ||
         std::ranges::any_of(held_, [&](const auto& entry) {
           return entry.first.first == run && !entry.second.batch.points.empty();
         });
}

std::optional<std::uint64_t> Outbox::first_missing(const std::string& run) const {
  std::optional<std::uint64_t> first;
  const auto see = [&](std::uint64_t number) { first = std::min(first.value_or(number), number); };
  for (std::size_t i = 0; i < waiting_.size(); ++i)
    if (waiting_[i].run == run) see(firsts_[i]);
  for (const auto& [key, held] : held_)
    if (key.first == run && !held.batch.points.empty()) see(held.first);
  if (const auto lost = lost_.find(run); lost != lost_.end()) see(lost->second.first);
  return first;
}

Outbox::Lost Outbox::lost(const std::string& run) const {
  const auto found = lost_.find(run);
  return found == lost_.end() ? Lost{} : found->second;
}

void Outbox::give_up(const std::string& run, const Error& why) {
  for (auto& [key, held] : held_)
    if (key.first == run && !held.batch.points.empty()) drop(held);
  std::vector<store::Batch> batches;
  std::vector<std::uint64_t> firsts;
  for (std::size_t i = 0; i < waiting_.size(); ++i) {
    if (waiting_[i].run == run) {
      refusals_.push_back({run, waiting_[i].metric, why, waiting_[i].points.size()});
      count_lost(run, waiting_[i].points.size(), firsts_[i]);
    } else {
      batches.push_back(std::move(waiting_[i]));
      firsts.push_back(firsts_[i]);
    }
  }
  take_waiting(std::move(batches), std::move(firsts));
}

void Outbox::forget(const std::string& run) {
  std::erase_if(held_, [&](const auto& entry) { return entry.first.first == run; });
  lost_.erase(run);
}

void Outbox::clear() {
  for (std::size_t i = 0; i < waiting_.size(); ++i)
    count_lost(waiting_[i].run, waiting_[i].points.size(), firsts_[i]);
  for (auto& [key, held] : held_) {
    count_lost(key.first, held.batch.points.size(), held.first);
    held.batch.points.clear();
  }
  take_waiting({}, {});
}

}  // namespace plimsoll::running
