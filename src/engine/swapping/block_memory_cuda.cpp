// Blocks of a CUDA device: its virtual memory management, through the driver, which is opened at run time.
#include "engine/swapping/block_memory.hpp"

#ifndef PLIMSOLL_CUDA

namespace plimsoll::engine {

Result<std::unique_ptr<BlockMemory>> open_cuda_blocks(int, std::int64_t, std::int64_t, std::int64_t) {
  return fail("this plimsoll-engine was built without CUDA");
}

}  // namespace plimsoll::engine

#else

#include <utility>
#include <vector>

#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <dlfcn.h>

#include "base/shared_library.hpp"

namespace plimsoll::engine {
namespace {

/// What of the driver is used. It is loaded already, by the runtime.
struct Driver {
  decltype(&::cuMemAddressReserve) reserve = nullptr;
  decltype(&::cuMemAddressFree) free_addresses = nullptr;
  decltype(&::cuMemCreate) create = nullptr;
  decltype(&::cuMemRelease) release = nullptr;
  decltype(&::cuMemMap) map = nullptr;
  decltype(&::cuMemUnmap) unmap = nullptr;
  decltype(&::cuMemSetAccess) set_access = nullptr;
  decltype(&::cuMemGetAllocationGranularity) granularity = nullptr;
  decltype(&::cuGetErrorString) error_string = nullptr;

  static Result<Driver> open() {
    void* const library = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    Driver out;
    if (library == nullptr || !look_up(library, "cuMemAddressReserve", out.reserve) ||
        !look_up(library, "cuMemAddressFree", out.free_addresses) ||
        !look_up(library, "cuMemCreate", out.create) || !look_up(library, "cuMemRelease", out.release) ||
        !look_up(library, "cuMemMap", out.map) || !look_up(library, "cuMemUnmap", out.unmap) ||
        !look_up(library, "cuMemSetAccess", out.set_access) ||
        !look_up(library, "cuMemGetAllocationGranularity", out.granularity) ||
        !look_up(library, "cuGetErrorString", out.error_string))
      return std::unexpected(Error{.message = "CUDA's driver cannot map memory in blocks",
                                   .where = "libcuda.so.1",
                                   .hint = "a driver of CUDA 11 or later can",
                                   .kind = Error::Kind::machine_lacks});
    return out;
  }
  void check(CUresult result, const char* what) const {
    if (result == CUDA_SUCCESS) return;
    const char* text = nullptr;
    error_string(result, &text);
    TORCH_CHECK(false, what, ": ", text == nullptr ? "unknown error" : text);  // "out of memory", too
  }
};

class Event {
 public:
  explicit Event(unsigned flags) { C10_CUDA_CHECK(cudaEventCreateWithFlags(&event_, flags)); }
  ~Event() { C10_CUDA_IGNORE_ERROR(cudaEventDestroy(event_)); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  [[nodiscard]] cudaEvent_t get() const { return event_; }

 private:
  cudaEvent_t event_ = nullptr;
};

class EventFence final : public Fence {
 public:
  explicit EventFence(cudaStream_t stream) : event_(cudaEventDisableTiming) {
    C10_CUDA_CHECK(cudaEventRecord(event_.get(), stream));
  }
  void hold_computing() override {
    C10_CUDA_CHECK(cudaStreamWaitEvent(c10::cuda::getCurrentCUDAStream(), event_.get(), 0));
  }
  void wait() override { C10_CUDA_CHECK(cudaEventSynchronize(event_.get())); }

 private:
  Event event_;
};

/// A block is mapped as a piece of the device's memory at an address that was reserved; pieces are kept and
/// mapped elsewhere.
class CudaBlocks final : public BlockMemory {
 public:
  CudaBlocks(Driver driver, int device, std::int64_t block_bytes, std::int64_t blocks, std::int64_t capacity)
      : BlockMemory(block_bytes, blocks, capacity), driver_(driver), device_number_(device) {
    property_.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    property_.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    property_.location.id = device;
    access_.location = property_.location;
    access_.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    piece_of_.resize(static_cast<std::size_t>(blocks));
  }
  ~CudaBlocks() override {
    static_cast<void>(cudaDeviceSynchronize());
    for (std::size_t block = 0; block < piece_of_.size(); ++block) {
      if (piece_of_[block] == 0) continue;
      driver_.unmap(base_ + bytes(static_cast<std::int64_t>(block)), bytes(1));
      driver_.release(piece_of_[block]);
    }
    for (const CUmemGenericAllocationHandle piece : free_) driver_.release(piece);
    if (base_ != 0) driver_.free_addresses(base_, bytes(blocks()));
    if (host_ != nullptr) static_cast<void>(cudaFreeHost(host_));
    if (stream_ != nullptr) static_cast<void>(cudaStreamDestroy(stream_));
  }

  Status open() {
    std::size_t granularity = 0;
    driver_.check(driver_.granularity(&granularity, &property_, CU_MEM_ALLOC_GRANULARITY_MINIMUM),
                  "in which pieces memory is mapped");
    if (bytes(1) % granularity != 0)
      return fail("the device maps memory in pieces of {} bytes; a block of {} is no multiple of that",
                  granularity, bytes(1));
    driver_.check(driver_.reserve(&base_, bytes(blocks()), 0, 0, 0), "no addresses for all blocks");
    if (const cudaError_t problem =
            cudaHostAlloc(reinterpret_cast<void**>(&host_), bytes(blocks()), cudaHostAllocDefault);
        problem != cudaSuccess)
      return std::unexpected(
          Error{.message = fmt::format("the host has not {} bytes to pin for all weights: {}",
                                       bytes(blocks()), cudaGetErrorString(problem)),
                .where = {},
                .hint = {},
                .kind = Error::Kind::machine_lacks});
    C10_CUDA_CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    for (std::int64_t i = 0; i < room(); ++i) {
      CUmemGenericAllocationHandle piece = 0;
      driver_.check(driver_.create(&piece, bytes(1), &property_, 0), "no memory for all blocks");
      free_.push_back(piece);
    }
    return {};
  }

  [[nodiscard]] std::byte* device() const override {
    return reinterpret_cast<std::byte*>(
        base_);  // NOLINT(performance-no-int-to-ptr): the driver's word for it
  }
  [[nodiscard]] std::byte* host() const override { return host_; }
  void finish_copies() override {
    C10_CUDA_CHECK(cudaStreamSynchronize(stream_));
    for (const auto& [begin, end] : under_way_) {
      float milliseconds = 0;
      C10_CUDA_CHECK(cudaEventElapsedTime(&milliseconds, begin->get(), end->get()));
      took(milliseconds / 1e3);
    }
    under_way_.clear();
  }
  [[nodiscard]] std::unique_ptr<Fence> copied() override { return std::make_unique<EventFence>(stream_); }
  [[nodiscard]] std::unique_ptr<Fence> computed() override {
    return std::make_unique<EventFence>(c10::cuda::getCurrentCUDAStream());
  }
  void enter() override { C10_CUDA_CHECK(cudaSetDevice(device_number_)); }

 private:
  void do_map(BlockRange range) override {
    for (std::int64_t block = range.first; block < range.first + range.count; ++block) {
      const CUmemGenericAllocationHandle piece = free_.back();
      free_.pop_back();
      driver_.check(driver_.map(base_ + bytes(block), bytes(1), 0, piece, 0), "a block cannot be mapped");
      piece_of_[static_cast<std::size_t>(block)] = piece;
    }
    driver_.check(driver_.set_access(base_ + bytes(range.first), bytes(range.count), &access_, 1),
                  "blocks cannot be opened to the device");
  }
  void do_unmap(BlockRange range) override {
    driver_.check(driver_.unmap(base_ + bytes(range.first), bytes(range.count)), "blocks cannot be unmapped");
    for (std::int64_t block = range.first; block < range.first + range.count; ++block)
      free_.push_back(std::exchange(piece_of_[static_cast<std::size_t>(block)], 0));
  }
  void do_copy(BlockRange range) override {
    auto begin = std::make_unique<Event>(cudaEventDefault), end = std::make_unique<Event>(cudaEventDefault);
    C10_CUDA_CHECK(cudaEventRecord(begin->get(), stream_));
    C10_CUDA_CHECK(cudaMemcpyAsync(device() + bytes(range.first), host_ + bytes(range.first),
                                   bytes(range.count), cudaMemcpyHostToDevice, stream_));
    C10_CUDA_CHECK(cudaEventRecord(end->get(), stream_));
    under_way_.emplace_back(std::move(begin), std::move(end));
  }

  Driver driver_;
  int device_number_;
  CUmemAllocationProp property_ = {};
  CUmemAccessDesc access_ = {};
  CUdeviceptr base_ = 0;
  std::byte* host_ = nullptr;
  cudaStream_t stream_ = nullptr;
  std::vector<CUmemGenericAllocationHandle> piece_of_;  ///< by block; 0: it is not mapped
  std::vector<CUmemGenericAllocationHandle> free_;
  std::vector<std::pair<std::unique_ptr<Event>, std::unique_ptr<Event>>> under_way_;  ///< copies
};

}  // namespace

Result<std::unique_ptr<BlockMemory>> open_cuda_blocks(int device, std::int64_t block_bytes,
                                                      std::int64_t blocks, std::int64_t capacity) {
  const Result<Driver> driver = Driver::open();
  PLIMSOLL_TRY(driver);
  C10_CUDA_CHECK(cudaSetDevice(device));
  auto out = std::make_unique<CudaBlocks>(*driver, device, block_bytes, blocks, capacity);
  PLIMSOLL_TRY(out->open());
  return out;
}

}  // namespace plimsoll::engine

#endif
