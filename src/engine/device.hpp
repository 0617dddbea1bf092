#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "base/error.hpp"
#include "job/answer.hpp"

namespace plimsoll::engine {

/// A point in the device's own order of work; times between two are read after synchronize().
class Marker {
 public:
  virtual ~Marker() = default;
  virtual void record() = 0;
  [[nodiscard]] virtual double seconds_since(const Marker& earlier) const = 0;
};

/// Work recorded once and replayed as one launch.
class Captured {
 public:
  virtual ~Captured() = default;
  virtual void replay() = 0;
};

/// Where networks run: a CPU or a CUDA device.
class Device {
 public:
  virtual ~Device() = default;
  [[nodiscard]] virtual at::Device torch_device() const = 0;
  [[nodiscard]] virtual job::Hello describe() const = 0;
  virtual void synchronize() = 0;

  // Memory. Peaks count from the last reset.
  virtual void reset_peaks() = 0;
  virtual void empty_cache() = 0;
  [[nodiscard]] virtual std::int64_t allocated_bytes() const = 0;
  [[nodiscard]] virtual std::optional<std::int64_t> reserved_bytes() const = 0;
  [[nodiscard]] virtual job::Memory memory() const = 0;
  /// What the device has free and in all; nothing where that is not known.
  struct Space {
    std::int64_t free = 0, total = 0;
  };
  [[nodiscard]] virtual std::optional<Space> space() const = 0;

  [[nodiscard]] virtual std::string clock() const = 0;  ///< of markers: "host" or "events"
  [[nodiscard]] virtual std::unique_ptr<Marker> marker() = 0;

  /// Runs `work` (which must have run before, eagerly) while recording it; an error where the device has no
  /// graphs.
  [[nodiscard]] virtual Result<std::unique_ptr<Captured>> capture(const std::function<void()>& work) = 0;
  /// From now on captures share one pool of memory, and leave free what the allocator keeps: for many graphs
  /// one after the other, whose results nobody needs.
  virtual void share_captures() = 0;
  /// Runs `work` on the stream that captures use, so that what it sets up is captured right.
  virtual void run_aside(const std::function<void()>& work) = 0;

  /// From now on the allocator's events are kept, for write_trace().
  virtual void start_trace() = 0;
  [[nodiscard]] virtual Status write_trace(const std::string& path) = 0;
};

/// "cpu", "cuda", "cuda:1". machine_lacks where this engine or machine has no such device.
[[nodiscard]] Result<std::unique_ptr<Device>> open_device(const std::string& name, std::int64_t threads);

[[nodiscard]] std::unique_ptr<Device> open_cpu(std::int64_t threads);
[[nodiscard]] Result<std::unique_ptr<Device>> open_cuda(
    int index);  ///< machine_lacks in a build without CUDA

/// Resident memory of this process, now and at most, from /proc/self/status.
struct Resident {
  std::int64_t now = 0, peak = 0;
};
[[nodiscard]] Resident resident_memory();

}  // namespace plimsoll::engine
