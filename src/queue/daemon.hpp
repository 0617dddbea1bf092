#pragma once
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/units.hpp"
#include "queue/allocation.hpp"
#include "queue/oracle.hpp"
#include "run/signals.hpp"

namespace plimsoll::queue {

/// Where a queue's daemon keeps its folders and is found.
struct QueuePlace {
  std::filesystem::path home;     ///< attempts and the lock; lasts beyond a restart of the machine
  std::filesystem::path runtime;  ///< short: the socket, MPS's pipes
  [[nodiscard]] std::filesystem::path socket() const { return runtime / "queue.sock"; }
};
/// PLIMSOLL_QUEUE names both; else this user's own, by the machine's name; `everybody`: root's, for all
/// users.
[[nodiscard]] Result<QueuePlace> queue_place(bool everybody);
/// Where clients look, in this order.
[[nodiscard]] std::vector<std::filesystem::path> queue_sockets();

/// How the GPUs are shared by the jobs on them.
enum class QueueSharing { automatic, exclusive, naive, mps };

struct DaemonOptions {
  QueuePlace place = {};
  std::string store = {};
  std::string host = {};  ///< the name by which it claims its jobs
  std::string pool = {};  ///< of whose jobs alone it takes
  std::string policy = "plimsoll";
  QueueSharing sharing = QueueSharing::automatic;
  std::vector<std::string> devices = {};  ///< empty: all that there are
  bool everybody = false;                 ///< takes jobs of all users, and runs each as its user
  std::size_t most_per_user = 0;          ///< that run at once; 0: no limit
  Seconds lease{60};
  std::string program = "/proc/self/exe";
  /// Within an allocation of somebody else's scheduler: it ends when nothing is left to do for so long, takes
  /// SIGTERM for the end of all its jobs, and SIGUSR1 for the allocation's time being nearly up.
  std::optional<Seconds> ends_when_idle = {};
  std::shared_ptr<Allocation> allocation = {};  ///< that one; shared with the lane in which it is asked
  std::function<void(const std::string&)> say = {};
};

/// Runs until somebody ends it: jobs go on then. The exit code.
[[nodiscard]] Result<int> run_daemon(const DaemonOptions& options, Oracle& oracle,
                                     running::SignalSource signals);

}  // namespace plimsoll::queue
