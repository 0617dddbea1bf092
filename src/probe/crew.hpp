#pragma once
#include <barrier>
#include <chrono>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "base/error.hpp"
#include "probe/cores.hpp"

namespace plimsoll::probe {

/// What one of several threads has of [0, count); slices meet at multiples of `grain`.
struct Slice {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  [[nodiscard]] std::int64_t size() const { return end - begin; }
  friend bool operator==(const Slice&, const Slice&) = default;
};
[[nodiscard]] Slice slice_of(std::int64_t count, int thread, int threads, std::int64_t grain);

/// Threads, each on a processor of its own where that is allowed, that do the same work on their slices of
/// the data. Pages that a thread touches first lie near it, so the same slices must be used throughout.
class Crew {
 public:
  using Work = std::function<void(int thread)>;  ///< must not throw

  [[nodiscard]] static Result<std::unique_ptr<Crew>> gather(const Cores& cores, int threads);
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;
  ~Crew();

  [[nodiscard]] int size() const { return static_cast<int>(spans_.size()); }
  /// Runs it once in every thread. Seconds from when the first began to when the last ended: waking them up
  /// is not counted.
  double run(const Work& work);

 private:
  using Clock = std::chrono::steady_clock;
  struct alignas(64) Span {
    Clock::time_point begin, end;
  };
  explicit Crew(int threads);
  void serve(int thread, int cpu);

  std::vector<Span> spans_;
  std::barrier<> called_, together_, done_;
  const Work* work_ = nullptr;  // null: go home
  std::vector<std::jthread> threads_;
};

}  // namespace plimsoll::probe
