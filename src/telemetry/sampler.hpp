#pragma once
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "base/error.hpp"
#include "nvml/library.hpp"
#include "telemetry/frame.hpp"

namespace plimsoll::telemetry {

inline constexpr double kLowestRate = 0.1;
inline constexpr double kHighestRate = 100;

struct SamplerOptions {
  double rate = 10;  ///< frames a second, kLowestRate to kHighestRate
  std::filesystem::path proc = "/proc";
  std::filesystem::path sys = "/sys";
  nvml::Library* nvml = nullptr;       ///< nothing: no GPU figures; outlives the sampler
  std::vector<unsigned> devices = {};  ///< GPUs to sample
  bool host = true;
  /// Of this machine, which every series carries; empty: the one that the kernel has (sys/kernel/hostname).
  std::string hostname = {};
};

/// A run whose processes are watched: the root's whole tree.
struct Watched {
  int run = 0;
  pid_t root = 0;
  std::vector<unsigned> devices = {};
};

/// Reads every source that is due, one frame at a time, without a thread or a clock of its own.
class Sampler {
 public:
  explicit Sampler(const SamplerOptions& options);
  ~Sampler();
  Sampler(Sampler&&) noexcept;
  Sampler& operator=(Sampler&&) noexcept;

  void watch(const Watched& watched);
  void adopt(int run, pid_t orphan);  ///< another root of the same run
  void forget(int run);               ///< after the next sample, which reads all of it once more
  /// A run's part of a GPU by the caller's reckoning, in proportion to that of the other runs there: what it
  /// did alone times its progress now. Used where every run on the GPU has one. Nothing takes it back.
  void weigh(int run, unsigned gpu, std::optional<double> weight);
  void ignore(pid_t server);  ///< an MPS server: it stands for its clients, and is nobody itself
  void all_due();             ///< the next sample reads everything, whenever it was last read
  /// `time`: microseconds since 1970; `elapsed`: seconds on a clock that never jumps.
  [[nodiscard]] Frame sample(std::int64_t time, double elapsed);
  [[nodiscard]] const std::vector<Series>& series() const;  ///< only ever grows

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace plimsoll::telemetry
