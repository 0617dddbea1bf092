#pragma once
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "store/store.hpp"

namespace plimsoll::running {

/// Points on their way to the store. What the store does not take stays here: all of it where the error may
/// pass; a metric alone where the store takes others but not that one. Such a metric is tried again for a
/// while, then its points are given up, and counted. Nothing leaves otherwise than into the store.
class Outbox {
 public:
  using Clock = std::chrono::steady_clock;
  struct Options {
    std::chrono::milliseconds patience = std::chrono::seconds(10);  ///< with a metric that is refused
    std::chrono::milliseconds pause = std::chrono::seconds(1);      ///< before it is tried again
  };
  /// What became of a metric's points, for a person.
  struct Refusal {
    std::string run;
    std::string metric;
    Error error;
    std::uint64_t given_up = 0;  ///< points; 0: they are held
  };
  struct Lost {
    std::uint64_t points = 0;
    std::uint64_t first = 0;  ///< the smallest number among them
  };

  explicit Outbox(Options options) : options_(options) {}

  /// `number`: by which the point is known to whoever waits for it; they grow.
  void add(const std::string& run, const std::string& metric, const store::Description& description,
           store::Point point, std::uint64_t number = 0);
  /// Brings in what the store takes. An error: it takes nothing now, and may later.
  [[nodiscard]] Status write(store::Store& store, Clock::time_point now);
  /// The same, and those that were refused are tried again at once.
  [[nodiscard]] Status write_all(store::Store& store, Clock::time_point now);
  [[nodiscard]] std::size_t points() const { return points_; }
  [[nodiscard]] bool holds(const std::string& run) const;
  /// The number of the first point of a run that is not in the store; nothing where all are.
  [[nodiscard]] std::optional<std::uint64_t> first_missing(const std::string& run) const;
  [[nodiscard]] Lost lost(const std::string& run) const;
  /// Gives up all that is here of a run, because of `why`.
  void give_up(const std::string& run, const Error& why);
  void forget(const std::string& run);  ///< it has ended
  /// Gives up everything, of every run.
  void clear();
  [[nodiscard]] std::vector<Refusal> take_refusals() { return std::exchange(refusals_, {}); }

 private:
  using Key = std::pair<std::string, std::string>;  // run and metric
  struct Held {
    store::Batch batch;
    std::uint64_t first = 0;
    Error error;
    Clock::time_point since;
  };
  Status write_each(store::Store& store, Clock::time_point now);
  Status try_held_again(store::Store& store, Clock::time_point now);
  void hold(store::Batch batch, std::uint64_t first, Error error, Clock::time_point now);
  void drop(Held& held);
  void count_lost(const std::string& run, std::size_t points, std::uint64_t first);
  void take_waiting(std::vector<store::Batch> batches, std::vector<std::uint64_t> firsts);

  Options options_;
  std::vector<store::Batch> waiting_;  // for the next call of write()
  std::vector<std::uint64_t> firsts_;  // the number of each one's first point
  std::map<Key, std::size_t> places_;  // in waiting_
  std::map<Key, Held> held_;           // refused; later points of theirs join them
  std::map<std::string, Lost> lost_;   // by run
  std::vector<Refusal> refusals_;
  Clock::time_point next_try_ = {};
  std::size_t points_ = 0;
};

}  // namespace plimsoll::running
