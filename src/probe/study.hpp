#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

/// What the studies of a machine find, on the CPU and (told by plimsoll-cuda) on a GPU. Raw samples are kept;
/// medians and intervals are taken where they are shown.
namespace plimsoll::probe {

/// Where the arrays lie and who reads them.
enum class Place : std::uint8_t {
  cpu,
  gpu_copies,            ///< cudaMalloc and cudaMemcpy
  gpu_managed,           ///< cudaMallocManaged
  gpu_managed_prefetch,  ///< and cudaMemPrefetchAsync before the kernel and before the host reads
};
/// How many work on it.
enum class Workers : std::uint8_t { one_thread, all_threads, one_block, many_blocks };

/// Time of one part of a study, in seconds, a sample per repetition.
struct Part {
  std::string name;  ///< "allocate", "copy in", "kernel", "copy out", "total"
  std::vector<double> samples;
};

/// Sum of two arrays.
struct VectorAdd {
  Place place = Place::cpu;
  Workers workers = Workers::one_thread;
  std::int64_t elements = 0;
  std::vector<Part> parts;
  bool right = false;  ///< every element was compared
  std::string device;  ///< its name, as the driver or the kernel calls it
};

enum class Method : std::uint8_t { naive, blocked, library };

/// Product of two square matrices of floats.
struct MatrixProduct {
  bool gpu = false;
  Method method = Method::naive;
  std::int64_t size = 0;
  std::vector<double> samples;  ///< seconds
  double moved_bytes = 0;       ///< that the method asks of main memory, by its own counting
  double largest_error = 0;     ///< against the reference, as a share of the largest value
  bool right = false;
  std::string library;  ///< name and version, of Method::library
};

/// Anything that is an amount per time, or a time alone.
struct Rate {
  std::string
      name;  ///< as Ceiling::name: "memory-triad", "product-bf16", "copy-to-host-pinned", "launch-graph"
  std::string unit;                   ///< "B/s", "FLOP/s", "s"
  double amount = 1;                  ///< bytes or FLOPs per sample; 1 for a time
  std::optional<double> at = {};      ///< working set or size, in B
  std::vector<double> samples;        ///< seconds
  std::optional<double> joules = {};  ///< of all samples together, where a counter was read
};

/// All that one run of studies found.
struct Findings {
  std::vector<VectorAdd> vector_adds;
  std::vector<MatrixProduct> products;
  std::vector<Rate> rates;
  std::vector<std::string> remarks;  ///< sizes left out, other processes, clocks that moved
};

}  // namespace plimsoll::probe
