#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/units.hpp"
#include "run/job.hpp"

namespace plimsoll::queue {

/// What goes on inside an allocation, for those outside of it.
struct Inside {
  std::vector<std::pair<std::int64_t, std::string>> running = {};  ///< numbers and names of jobs
  std::size_t waiting = 0;  ///< jobs of its pool that could start, were there room and time
  bool wants_more = false;  ///< another allocation should take some of them
  bool ending = false;      ///< it takes no more jobs
  friend bool operator==(const Inside&, const Inside&) = default;
};

struct AllocationNews {
  std::optional<Seconds> left = {};    ///< of its time; nothing: it has no end, or nobody knows
  std::vector<std::string> said = {};  ///< what was done, or could not be
};

/// GPUs that another scheduler lends to a queue's daemon for a while. Asked in a lane beside the daemon's
/// loop: it may take long.
class Allocation {
 public:
  virtual ~Allocation() = default;
  /// Shows that outside, and asks for another where one is wanted; how much time is left.
  [[nodiscard]] virtual AllocationNews attend(const Inside& inside) = 0;
  /// Whether the allocation of a daemon of that name was ended by a person: its jobs are cancelled with it.
  [[nodiscard]] virtual bool was_cancelled(const std::string& host) = 0;
  /// Of the allocation, for the environment of the jobs inside.
  [[nodiscard]] virtual running::Variables variables() const = 0;
  /// Of each GPU's memory, where it holds only a part of one.
  [[nodiscard]] virtual double memory_share() const = 0;

 protected:
  Allocation() = default;
  Allocation(const Allocation&) = default;
  Allocation& operator=(const Allocation&) = default;
};

}  // namespace plimsoll::queue
