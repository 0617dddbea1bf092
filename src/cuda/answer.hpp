#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

/// The lines plimsoll-cuda writes on standard output: one JSON object each, told apart by "type". Sizes are
/// bytes, times seconds, clocks hertz. Plain values that CUDA's compiler reads too: no Result here.
namespace plimsoll::cuda {

struct Device {      ///< "device", first
  std::string name;  ///< as the driver calls it
  std::string uuid;  ///< as NVML's: "GPU-…"
  std::int64_t memory = 0;
  std::int64_t free = 0;
  std::int64_t multiprocessors = 0;
  std::int64_t l2 = 0;
  std::string capability;               ///< "9.0"
  std::string driver;                   ///< newest CUDA that the driver knows: "13.0"
  std::string runtime;                  ///< CUDA that the program was built with
  std::string library;                  ///< "cuBLASLt 13.0.2"
  std::optional<double> sm_clock = {};  ///< the highest
  std::optional<double> memory_clock = {};
  friend bool operator==(const Device&, const Device&) = default;
};

struct Progress {     ///< "progress": what is about to be done
  std::string phase;  ///< "vecadd of 10 M, managed, one thread"
  double done = 0;    ///< of one, of the whole task
  friend bool operator==(const Progress&, const Progress&) = default;
};

enum class Place : std::uint8_t { copies, managed, managed_prefetch };
enum class Workers : std::uint8_t { one_thread, one_block, many_blocks };

struct Part {
  std::string name;  ///< "allocate", "copy in", "kernel", "copy out", "total"
  std::vector<double> samples;
  friend bool operator==(const Part&, const Part&) = default;
};

struct VectorAdd {  ///< "vecadd"
  Place place = Place::copies;
  Workers workers = Workers::one_thread;
  std::int64_t elements = 0;
  std::vector<Part> parts;  ///< those that there are: without prefetching nothing is copied in
  bool right = false;
  friend bool operator==(const VectorAdd&, const VectorAdd&) = default;
};

enum class Method : std::uint8_t { naive, blocked, library };

struct MatrixProduct {  ///< "matmul"
  Method method = Method::naive;
  std::int64_t size = 0;
  std::vector<double> samples;
  double moved_bytes = 0;
  double largest_error = 0;  ///< as a share of the largest value; infinity where a result is no number
  bool right = false;
  std::string library;
  friend bool operator==(const MatrixProduct&, const MatrixProduct&) = default;
};

struct Rate {  ///< "rate"
  std::string name;
  std::string unit;   ///< "B/s", "FLOP/s", "s"
  double amount = 1;  ///< per sample
  std::optional<double> at = {};
  std::vector<double> samples;
  friend bool operator==(const Rate&, const Rate&) = default;
};

struct Gap {  ///< in which another context had the GPU; seconds since the watch began, by the GPU's clock
  double begin = 0;
  double end = 0;
  friend bool operator==(const Gap&, const Gap&) = default;
};
inline constexpr std::size_t kMostGaps = 4096;

struct Turns {            ///< "turns"
  std::vector<Gap> gaps;  ///< in order; the first kMostGaps of them
  friend bool operator==(const Turns&, const Turns&) = default;
};

struct Remark {  ///< "remark"
  std::string text;
  friend bool operator==(const Remark&, const Remark&) = default;
};

struct Window {  ///< "window": steady work begins, and ends
  bool begin = false;
  double seconds = 0;                ///< at the end
  std::optional<double> flops = {};  ///< done in it, where that is what the load is about
  std::optional<double> bytes = {};
  friend bool operator==(const Window&, const Window&) = default;
};

struct Failure {  ///< "failure", last
  std::string message;
  std::string hint;
  std::string kind;  ///< "bad-input", "machine-lacks", "internal"
  friend bool operator==(const Failure&, const Failure&) = default;
};

struct Done {  ///< "done", last
  friend bool operator==(const Done&, const Done&) = default;
};

using Answer =
    std::variant<Device, Progress, VectorAdd, MatrixProduct, Rate, Turns, Remark, Window, Failure, Done>;
using Emit = std::function<void(const Answer&)>;

}  // namespace plimsoll::cuda
