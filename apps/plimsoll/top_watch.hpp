#pragma once
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "base/error.hpp"
#include "nvml/library.hpp"
#include "report/top_view.hpp"
#include "store/store.hpp"
#include "telemetry/sampling_thread.hpp"
#include "top_figures.hpp"

namespace plimsoll {

/// The runs under way, as their watchers last stored them. The store is opened when asked, and kept.
class RunningRuns {
 public:
  explicit RunningRuns(std::string location) : location_(std::move(location)) {}
  void put_into(report::TopView& view);

 private:
  std::string location_;
  std::unique_ptr<store::Store> store_;
};

/// Samples this machine, and tells what is going on: its GPUs, the runs under way, the queue.
class TopWatch {
 public:
  /// `library`: nothing where there is no GPU, for the reason in `no_gpu`; outlives this.
  TopWatch(nvml::Library* library, std::string no_gpu, const std::string& store);
  [[nodiscard]] report::TopView view();

 private:
  TopFigures figures_;
  RunningRuns runs_;
  telemetry::SamplingThread thread_;
};

/// The same for several who look at once, each as often as he likes: the machine is sampled once, from the
/// first look on, and for half a minute after the last. Several threads use it.
class SharedTopWatch {
 public:
  explicit SharedTopWatch(std::string store);
  ~SharedTopWatch();
  SharedTopWatch(const SharedTopWatch&) = delete;
  SharedTopWatch& operator=(const SharedTopWatch&) = delete;

  /// A document of `plimsoll top --json`, not older than a second.
  [[nodiscard]] Result<std::string> now();

 private:
  using Clock = std::chrono::steady_clock;
  struct Watched;

  std::string store_;
  std::mutex mutex_;
  std::condition_variable_any news_;
  std::unique_ptr<Watched> watched_;
  std::string last_;
  Clock::time_point made_ = {}, asked_ = {};
  std::jthread thread_;  // last: it uses what stands above
};

}  // namespace plimsoll
