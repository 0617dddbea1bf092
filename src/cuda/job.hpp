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
};

/// What Task::load does.
enum class Load : std::uint8_t { idle, product_bf16, product_fp32, memory_triad };

struct Job {
  Task task = Task::vecadd;
  int device = 0;                           ///< in the order of PCI addresses, among those visible
  std::vector<std::int64_t> elements = {};  ///< of vecadd, in each array
  std::vector<std::int64_t> sizes = {};     ///< of matmul: rows and columns
  Load load = Load::idle;
  double seconds = 5;  ///< of load
  friend bool operator==(const Job&, const Job&) = default;
};

inline constexpr std::int64_t kMostElements = std::int64_t{1} << 36;
inline constexpr std::int64_t kMostSize = 32768;
inline constexpr double kLongestLoad = 600;  // s
inline constexpr int kMostDevices = 1024;

}  // namespace plimsoll::cuda
