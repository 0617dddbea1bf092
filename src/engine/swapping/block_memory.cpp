#include "engine/swapping/block_memory.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <vector>

#include <c10/util/Exception.h>
#include <sys/mman.h>
#include <unistd.h>

namespace plimsoll::engine {

void BlockMemory::map(BlockRange range) {
  TORCH_CHECK(usage_.mapped / block_bytes_ + range.count <= capacity_, "blocks beyond the ", capacity_,
              " that there is room for");
  do_map(range);
  usage_.mapped += range.count * block_bytes_;
  usage_.peak = std::max(usage_.peak, usage_.mapped);
}

void BlockMemory::unmap(BlockRange range) {
  do_unmap(range);
  usage_.mapped -= range.count * block_bytes_;
}

void BlockMemory::copy(BlockRange range) {
  do_copy(range);
  usage_.copied += range.count * block_bytes_;
  ++usage_.copies;
}

namespace {

using Clock = std::chrono::steady_clock;

/// Copies have been done when copy() returns, and what is computed when the kernel has.
class NoFence final : public Fence {
 public:
  void hold_computing() override {}
  void wait() override {}
};

/// The blocks are pages of one file in memory, which is as long as there is room: a block is mapped as pages
/// of it in a range of addresses that was reserved.
class HostBlocks final : public BlockMemory {
 public:
  HostBlocks(std::int64_t block_bytes, std::int64_t blocks, std::int64_t capacity)
      : BlockMemory(block_bytes, blocks, capacity) {}
  ~HostBlocks() override {
    if (device_ != nullptr) ::munmap(device_, bytes(blocks()));
    if (host_ != nullptr) ::munmap(host_, bytes(blocks()));
    if (file_ >= 0) ::close(file_);
  }

  Status open() {
    const auto lacks = [](const char* what) {
      return std::unexpected(Error{.message = fmt::format("{}: {}", what, std::strerror(errno)),
                                   .where = {},
                                   .hint = {},
                                   .kind = Error::Kind::machine_lacks});
    };
    file_ = ::memfd_create("plimsoll-blocks", MFD_CLOEXEC);
    if (file_ < 0) return lacks("no file in memory for blocks");
    void* const device =
        ::mmap(nullptr, bytes(blocks()), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (device == MAP_FAILED) return lacks("no addresses for all blocks");
    device_ = static_cast<std::byte*>(device);
    void* const host =
        ::mmap(nullptr, bytes(blocks()), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (host == MAP_FAILED) return lacks("the host has not the memory to hold all weights");
    host_ = static_cast<std::byte*>(host);
    if (::ftruncate(file_, static_cast<off_t>(bytes(room()))) != 0) return lacks("no memory for blocks");
    slot_of_.assign(static_cast<std::size_t>(blocks()), -1);
    for (std::int64_t slot = room(); slot-- > 0;) free_.push_back(slot);
    return {};
  }

  [[nodiscard]] std::byte* device() const override { return device_; }
  [[nodiscard]] std::byte* host() const override { return host_; }
  void finish_copies() override {}
  [[nodiscard]] std::unique_ptr<Fence> copied() override { return std::make_unique<NoFence>(); }
  [[nodiscard]] std::unique_ptr<Fence> computed() override { return std::make_unique<NoFence>(); }
  void enter() override {}

 private:
  void do_map(BlockRange range) override {
    for (std::int64_t block = range.first; block < range.first + range.count; ++block) {
      const std::int64_t slot = free_.back();
      free_.pop_back();
      void* const at = ::mmap(device_ + bytes(block), bytes(1), PROT_READ | PROT_WRITE,
                              MAP_SHARED | MAP_FIXED | MAP_POPULATE, file_, static_cast<off_t>(bytes(slot)));
      TORCH_CHECK(at != MAP_FAILED, "a block cannot be mapped: ", std::strerror(errno));
      slot_of_[static_cast<std::size_t>(block)] = slot;
    }
  }
  void do_unmap(BlockRange range) override {
    void* const at = ::mmap(device_ + bytes(range.first), bytes(range.count), PROT_NONE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    TORCH_CHECK(at != MAP_FAILED, "blocks cannot be unmapped: ", std::strerror(errno));
    for (std::int64_t block = range.first; block < range.first + range.count; ++block)
      free_.push_back(std::exchange(slot_of_[static_cast<std::size_t>(block)], -1));
  }
  void do_copy(BlockRange range) override {
    const auto begin = Clock::now();
    std::memcpy(device_ + bytes(range.first), host_ + bytes(range.first), bytes(range.count));
    took(std::chrono::duration<double>(Clock::now() - begin).count());
  }
  int file_ = -1;
  std::byte *device_ = nullptr, *host_ = nullptr;
  std::vector<std::int64_t> free_;     ///< places in the file without a block
  std::vector<std::int64_t> slot_of_;  ///< by block; -1: it is not mapped
};

}  // namespace

Result<std::unique_ptr<BlockMemory>> open_block_memory(c10::Device device, std::int64_t block_bytes,
                                                       std::int64_t blocks, std::int64_t capacity) {
  if (!device.is_cpu()) return open_cuda_blocks(device.index(), block_bytes, blocks, capacity);
  if (block_bytes % ::sysconf(_SC_PAGESIZE) != 0)
    return fail("blocks of {} bytes are not whole pages", block_bytes);
  auto out = std::make_unique<HostBlocks>(block_bytes, blocks, capacity);
  PLIMSOLL_TRY(out->open());
  return out;
}

}  // namespace plimsoll::engine
