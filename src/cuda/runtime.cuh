#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>

#include <cuda_runtime.h>

/// The CUDA runtime with owners for what it gives out. Errors are thrown here and become an answer in one
/// place, tasks.cu.
namespace plimsoll::cuda {

class RuntimeError : public std::runtime_error {
 public:
  RuntimeError(cudaError_t code, const std::string& doing)
      : std::runtime_error(doing + ": " + cudaGetErrorString(code) + " (" + cudaGetErrorName(code) + ")"),
        code_(code) {}
  [[nodiscard]] cudaError_t code() const { return code_; }

 private:
  cudaError_t code_;
};
class OutOfMemory : public RuntimeError {
  using RuntimeError::RuntimeError;
};

inline void check(cudaError_t code, const char* doing) {
  if (code == cudaSuccess) return;
  cudaGetLastError();  // so that the next call is not blamed for it
  if (code == cudaErrorMemoryAllocation) throw OutOfMemory(code, doing);
  throw RuntimeError(code, doing);
}
/// After a kernel was launched.
inline void check_launch(const char* kernel) {
  check(cudaGetLastError(), kernel);
}

/// Memory, freed when it goes, also while an exception passes. `Free` is one of CUDA's.
template <cudaError_t (*Free)(void*)>
class Memory {
 public:
  Memory() = default;
  explicit Memory(void* address) : address_(address) {}
  Memory(Memory&& other) noexcept : address_(std::exchange(other.address_, nullptr)) {}
  Memory& operator=(Memory&& other) noexcept {
    std::swap(address_, other.address_);
    return *this;
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  ~Memory() {
    if (address_ != nullptr) Free(address_);
  }
  [[nodiscard]] void* get() const { return address_; }
  template <class T>
  [[nodiscard]] T* as() const {
    return static_cast<T*>(address_);
  }

 private:
  void* address_ = nullptr;
};
using DeviceMemory = Memory<cudaFree>;
using ManagedMemory = Memory<cudaFree>;
using PinnedMemory = Memory<cudaFreeHost>;

inline DeviceMemory allocate_on_device(std::int64_t bytes) {
  void* address = nullptr;
  check(cudaMalloc(&address, static_cast<std::size_t>(bytes)), "cudaMalloc");
  return DeviceMemory(address);
}
inline ManagedMemory allocate_managed(std::int64_t bytes) {
  void* address = nullptr;
  check(cudaMallocManaged(&address, static_cast<std::size_t>(bytes)), "cudaMallocManaged");
  return ManagedMemory(address);
}
inline PinnedMemory allocate_pinned(std::int64_t bytes) {
  void* address = nullptr;
  check(cudaMallocHost(&address, static_cast<std::size_t>(bytes)), "cudaMallocHost");
  return PinnedMemory(address);
}

struct FreeMemory {
  std::int64_t free = 0;
  std::int64_t total = 0;
};
inline FreeMemory device_memory() {
  std::size_t free = 0, total = 0;
  check(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
  return {static_cast<std::int64_t>(free), static_cast<std::int64_t>(total)};
}

class Stream {
 public:
  Stream() { check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreate"); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream() { cudaStreamDestroy(stream_); }
  [[nodiscard]] cudaStream_t get() const { return stream_; }
  void wait() const { check(cudaStreamSynchronize(stream_), "cudaStreamSynchronize"); }

 private:
  cudaStream_t stream_ = nullptr;
};

class Event {
 public:
  Event() { check(cudaEventCreate(&event_), "cudaEventCreate"); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  ~Event() { cudaEventDestroy(event_); }
  void record(const Stream& stream) { check(cudaEventRecord(event_, stream.get()), "cudaEventRecord"); }
  void wait() const { check(cudaEventSynchronize(event_), "cudaEventSynchronize"); }
  [[nodiscard]] cudaEvent_t get() const { return event_; }

 private:
  cudaEvent_t event_ = nullptr;
};

/// Seconds between two points of a stream by the GPU's own clock, which ticks every half a microsecond or so.
class DeviceStopwatch {
 public:
  explicit DeviceStopwatch(const Stream& stream) : stream_(&stream) {}
  void begin() { begin_.record(*stream_); }
  [[nodiscard]] double end() {
    end_.record(*stream_);
    end_.wait();
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, begin_.get(), end_.get()), "cudaEventElapsedTime");
    return static_cast<double>(milliseconds) * 1e-3;
  }
  /// As sample() wants it.
  [[nodiscard]] double time(std::int64_t calls, const std::function<void()>& call) {
    begin();
    for (std::int64_t i = 0; i < calls; ++i) call();
    return end();
  }

 private:
  const Stream* stream_;
  Event begin_, end_;
};

}  // namespace plimsoll::cuda
