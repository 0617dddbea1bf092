#pragma once
#include <cstdint>
#include <vector>

/// What plimsoll-cuda is asked. Plain values that CUDA's compiler reads too: no Result here.
namespace plimsoll::cuda {

enum class Task : std::uint8_t {
  vecadd,    ///< sum of two arrays, by where they lie and how many work on it
  matmul,    ///< product of two square matrices: naive, blocked, the library's
  ceilings,  ///< bandwidths, products by precision, copies, launches
  load,      ///< keeps the GPU busy (or idle) while somebody reads its energy counter
  share,     ///< one of several processes that share the GPU: watches its turns, or takes steps
};

/// What Task::load does.
enum class Load : std::uint8_t { idle, product_bf16, product_fp32, memory_triad };

/// What Task::share does.
enum class Sharer : std::uint8_t {
  watch,   ///< one thread looks at the GPU's clock again and again: when does it stand still?
  spin,    ///< steps of kernels that only count cycles
  stream,  ///< steps of kernels that go over memory once
};

/// A step: kernels one after the other, recorded once and replayed.
struct Step {
  std::int64_t kernels = 1;
  std::int64_t different = 1;  ///< so many of a spin's kernels are different functions
  std::int64_t blocks = 1;
  std::int64_t threads = 32;  ///< of a block
  double kernel_seconds = 0;  ///< of a spin's kernel
  std::int64_t bytes = 0;     ///< that a stream's kernel reads and writes, of three arrays together
  friend bool operator==(const Step&, const Step&) = default;
};

struct Job {
  Task task = Task::vecadd;
  int device = 0;                           ///< in the order of PCI addresses, among those visible
  std::vector<std::int64_t> elements = {};  ///< of vecadd, in each array
  std::vector<std::int64_t> sizes = {};     ///< of matmul: rows and columns
  Load load = Load::idle;
  double seconds = 5;  ///< of load and share
  Sharer part = Sharer::watch;
  double begin = 0;  ///< of share, on the host's monotonic clock, so that several begin together
  Step step = {};
  friend bool operator==(const Job&, const Job&) = default;
};

inline constexpr std::int64_t kMostElements = std::int64_t{1} << 36;
inline constexpr std::int64_t kMostSize = 32768;
inline constexpr double kLongestLoad = 600;  // s
inline constexpr double kLongestShare = 30;  // s
inline constexpr std::int64_t kMostKernels = 4096, kMostDifferent = 64, kMostBlocks = 65'535,
                              kMostThreads = 1024;
inline constexpr double kLongestKernel = 1e-2;                             // s
inline constexpr std::int64_t kMostStreamedBytes = std::int64_t{3} << 32;  // 4 GiB each
inline constexpr int kMostDevices = 1024;

}  // namespace plimsoll::cuda
