#pragma once
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/units.hpp"

namespace plimsoll::estimate {

/// What PyTorch says when its allocator finds no memory on a GPU. Messages of every version leave something
/// out; and they round to a hundredth of their unit, so that differences of two figures are not exact.
struct OutOfMemory {
  struct Process {
    std::int64_t pid = 0;
    Bytes bytes;
    friend bool operator==(const Process&, const Process&) = default;
  };
  Bytes requested;
  std::optional<int> gpu = {};
  std::optional<Bytes> total = {};          ///< the GPU's memory
  std::optional<Bytes> free = {};           ///< of it, to anybody
  std::optional<Bytes> allowed = {};        ///< set_per_process_memory_fraction's limit on what is reserved
  std::optional<Bytes> process = {};        ///< all that this process uses on the GPU
  std::optional<Bytes> allocated = {};      ///< in tensors
  std::optional<Bytes> private_pools = {};  ///< of it, in CUDA graphs' own pools
  std::optional<Bytes> unallocated = {};    ///< reserved by the allocator, but in no tensor
  std::vector<Process> processes = {};      ///< others that the message names
  /// The message names no process as this one, and one of those it names can be no other: in a container
  /// a process does not know its own number.
  bool process_recognised = false;
  friend bool operator==(const OutOfMemory&, const OutOfMemory&) = default;

  [[nodiscard]] std::optional<Bytes> reserved() const;  ///< allocated or not
  /// CUDA's context and libraries: what the process uses beside the allocator.
  [[nodiscard]] std::optional<Bytes> context() const;
  /// All that is in use outside this process, named or not; the driver's own share too.
  [[nodiscard]] std::optional<Bytes> others() const;
  /// In use, and neither this process nor a named one accounts for it. Where the message does not say what
  /// this process uses, its context is in here.
  [[nodiscard]] std::optional<Bytes> unexplained() const;
  /// Share of the reserved memory that is in no tensor.
  [[nodiscard]] std::optional<double> fragmentation() const;
};

/// Finds the last out-of-memory message in a log: formats from PyTorch 1.0 on, on one line or broken into
/// several, with a log's prefixes before each. Time is linear in the length. Fails where there is none, or
/// where it names a size of 2^63 bytes or more.
[[nodiscard]] Result<OutOfMemory> parse_out_of_memory(std::string_view log);

}  // namespace plimsoll::estimate
