#include "engine/device.hpp"

#ifndef PLIMSOLL_CUDA

namespace plimsoll::engine {

Result<std::unique_ptr<Device>> open_cuda(int) {
  return std::unexpected(Error{.message = "this plimsoll-engine was built without CUDA",
                               .where = {},
                               .hint = "build it against a PyTorch with CUDA: docs/engine.md says how",
                               .kind = Error::Kind::machine_lacks});
}

}  // namespace plimsoll::engine

#else

#include <ATen/Context.h>
#include <ATen/cuda/CUDAGraph.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <ATen/ops/empty.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime_api.h>
#include <nlohmann/json.hpp>
#include <torch/csrc/api/include/torch/version.h>
#include <unistd.h>

#include "base/files.hpp"

namespace plimsoll::engine {
namespace {

namespace allocator = c10::cuda::CUDACachingAllocator;
constexpr auto kAll = static_cast<std::size_t>(c10::CachingAllocator::StatType::AGGREGATE);
constexpr std::size_t kMostTraceEvents = 10'000'000;

class EventMarker final : public Marker {
 public:
  EventMarker() { C10_CUDA_CHECK(cudaEventCreate(&event_)); }
  ~EventMarker() override { C10_CUDA_IGNORE_ERROR(cudaEventDestroy(event_)); }
  EventMarker(const EventMarker&) = delete;
  EventMarker& operator=(const EventMarker&) = delete;

  void record() override { C10_CUDA_CHECK(cudaEventRecord(event_, c10::cuda::getCurrentCUDAStream())); }
  [[nodiscard]] double seconds_since(const Marker& earlier) const override {
    float milliseconds = 0;
    C10_CUDA_CHECK(
        cudaEventElapsedTime(&milliseconds, static_cast<const EventMarker&>(earlier).event_, event_));
    return milliseconds / 1e3;
  }

 private:
  cudaEvent_t event_ = nullptr;
};

class CapturedGraph final : public Captured {
 public:
  at::cuda::CUDAGraph graph;
  void replay() override { graph.replay(); }
};

std::string version_text(int number, int major, int minor) {
  return fmt::format("{}.{}", number / major, number % major / minor);
}

std::string uuid_text(const cudaUUID_t& uuid) {
  std::string text = "GPU-";
  for (int i = 0; i < 16; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += fmt::format("{:02x}", static_cast<unsigned char>(uuid.bytes[i]));
  }
  return text;
}

std::string_view action_name(c10::CachingDeviceAllocator::TraceEntry::Action action) {
  using Entry = c10::CachingDeviceAllocator::TraceEntry;
  switch (action) {
    case Entry::ALLOC: return "alloc";
    case Entry::FREE_COMPLETED: return "free";
    case Entry::SEGMENT_ALLOC: return "segment_alloc";
    case Entry::SEGMENT_FREE: return "segment_free";
    case Entry::SEGMENT_MAP: return "segment_map";
    case Entry::SEGMENT_UNMAP: return "segment_unmap";
    case Entry::OOM: return "oom";
    default: return "";
  }
}

class Cuda final : public Device {
 public:
  explicit Cuda(int index)
      : index_(static_cast<c10::DeviceIndex>(index)),
        guard_(index_),
        aside_(c10::cuda::getStreamFromPool(false, index_)) {
    C10_CUDA_CHECK(cudaFree(nullptr));  // makes the context
    at::globalContext().lazyInitDevice(at::kCUDA);
  }

  [[nodiscard]] at::Device torch_device() const override { return {at::kCUDA, index_}; }
  [[nodiscard]] job::Hello describe() const override {
    cudaDeviceProp properties{};
    C10_CUDA_CHECK(cudaGetDeviceProperties(&properties, index_));
    int runtime = 0;
    C10_CUDA_CHECK(cudaRuntimeGetVersion(&runtime));
    const long cudnn = at::detail::getCUDAHooks().versionCuDNN();
    return {.torch = TORCH_VERSION,
            .device = fmt::format("cuda:{}", index_),
            .device_name = properties.name,
            .cuda = version_text(runtime, 1000, 10),
            .cudnn = fmt::format("{}.{}.{}", cudnn / 10000, cudnn / 100 % 100, cudnn % 100),
            .gpu_uuid = uuid_text(properties.uuid),
            .threads = 0,
            .process = getpid()};
  }
  void synchronize() override { C10_CUDA_CHECK(cudaDeviceSynchronize()); }

  void reset_peaks() override { allocator::resetPeakStats(index_); }
  void empty_cache() override { allocator::emptyCache(); }
  [[nodiscard]] std::int64_t allocated_bytes() const override {
    return stats().allocated_bytes[kAll].current;
  }
  [[nodiscard]] std::optional<std::int64_t> reserved_bytes() const override {
    return stats().reserved_bytes[kAll].current;
  }
  [[nodiscard]] job::Memory memory() const override {
    const auto s = stats();
    return {.peak_allocated_bytes = s.allocated_bytes[kAll].peak,
            .peak_reserved_bytes = s.reserved_bytes[kAll].peak,
            .peak_requested_bytes = s.requested_bytes[kAll].peak,
            .device_used_bytes = {},
            .peak_resident_bytes = resident_memory().peak};
  }
  [[nodiscard]] std::optional<Space> space() const override {
    std::size_t free = 0, total = 0;
    if (cudaMemGetInfo(&free, &total) != cudaSuccess) return std::nullopt;
    return Space{static_cast<std::int64_t>(free), static_cast<std::int64_t>(total)};
  }

  [[nodiscard]] std::string clock() const override { return "events"; }
  [[nodiscard]] std::unique_ptr<Marker> marker() override { return std::make_unique<EventMarker>(); }

  [[nodiscard]] Result<std::unique_ptr<Captured>> capture(const std::function<void()>& work) override {
    synchronize();
    if (!shared_) allocator::emptyCache();
    auto made = std::make_unique<CapturedGraph>();
    const c10::cuda::CUDAStreamGuard on_side(aside_);
    const at::cuda::MempoolId_t pool = shared_ ? shared_->graph.pool() : at::cuda::graph_pool_handle();
    made->graph.capture_begin(pool);
    try {
      work();
    } catch (const c10::Error& error) {
      abandon(made->graph, pool);
      return fail("cannot be captured: {}", error.what_without_backtrace());
    }
    made->graph.capture_end();
    synchronize();
    return made;
  }
  void share_captures() override {
    // A pool lives as long as one graph that uses it.
    const at::Tensor one = at::empty({1}, at::TensorOptions().device(torch_device())).fill_(1);
    Result<std::unique_ptr<Captured>> first = capture([&one] { static_cast<void>(one.clone()); });
    if (first) shared_.reset(static_cast<CapturedGraph*>(first->release()));
  }
  void run_aside(const std::function<void()>& work) override {
    synchronize();
    {
      const c10::cuda::CUDAStreamGuard on_side(aside_);
      work();
    }
    synchronize();
  }

  void start_trace() override {
    allocator::recordHistory(true, nullptr, kMostTraceEvents, allocator::RecordContext::NEVER, true, {});
  }
  [[nodiscard]] Status write_trace(const std::string& path) override;

 private:
  [[nodiscard]] c10::CachingDeviceAllocator::DeviceStats stats() const {
    return allocator::getDeviceStats(index_);
  }

  /// Ends a capture that failed, of which the library complains, too; then the allocator still has to be told
  /// that nothing is recorded any more.
  void abandon(at::cuda::CUDAGraph& graph, at::cuda::MempoolId_t pool) const {
    try {
      graph.capture_end();
    } catch (const c10::Error&) {
      try {
        allocator::endAllocateToPool(index_, pool);
      } catch (const c10::Error&) {  // it was
      }
    }
    static_cast<void>(cudaGetLastError());
  }

  c10::DeviceIndex index_;
  c10::cuda::CUDAGuard guard_;
  c10::cuda::CUDAStream aside_;
  std::unique_ptr<CapturedGraph> shared_;  // whose pool other captures use, too
};

/// As plimsoll_torch writes it, for `plimsoll replay`.
Status Cuda::write_trace(const std::string& path) {
  synchronize();
  const auto snapshot = allocator::snapshot();
  nlohmann::json events = nlohmann::json::array();
  if (static_cast<std::size_t>(index_) < snapshot.device_traces.size())
    for (const auto& e : snapshot.device_traces[index_])
      if (const std::string_view action = action_name(e.action_); !action.empty())
        events.push_back({action, e.addr_, e.size_, reinterpret_cast<std::uintptr_t>(e.stream_)});
  const auto s = stats();
  const nlohmann::json trace = {{"version", 1},
                                {"settings", nlohmann::json::object()},
                                {"events", std::move(events)},
                                {"reserved_before_bytes", 0},
                                {"peak_allocated_bytes", s.allocated_bytes[kAll].peak},
                                {"peak_reserved_bytes", s.reserved_bytes[kAll].peak},
                                {"torch", TORCH_VERSION},
                                {"device", describe().device_name}};
  return write_file(path, trace.dump());
}

}  // namespace

Result<std::unique_ptr<Device>> open_cuda(int index) {
  int count = 0;
  if (const cudaError_t problem = cudaGetDeviceCount(&count); problem != cudaSuccess || count == 0)
    return std::unexpected(
        Error{.message = fmt::format("CUDA finds no device here ({})", cudaGetErrorString(problem)),
              .where = {},
              .hint = "check the driver with nvidia-smi, and CUDA_VISIBLE_DEVICES",
              .kind = Error::Kind::machine_lacks});
  if (index >= count)
    return std::unexpected(
        Error{.message = fmt::format("there is no cuda:{}; this machine has {}", index, count),
              .where = {},
              .hint = "`plimsoll devices this` lists them",
              .kind = Error::Kind::machine_lacks});
  try {
    return std::make_unique<Cuda>(index);
  } catch (const c10::Error& e) {
    return std::unexpected(
        Error{.message = fmt::format("cuda:{} cannot be opened: {}", index, e.what_without_backtrace()),
              .where = {},
              .hint = "another process may fill the GPU; see `plimsoll top`",
              .kind = Error::Kind::machine_lacks});
  }
}

}  // namespace plimsoll::engine

#endif
