#include <charconv>
#include <chrono>
#include <thread>

#include <ATen/Parallel.h>
#include <malloc.h>
#include <torch/csrc/api/include/torch/version.h>
#include <unistd.h>

#include "base/files.hpp"
#include "engine/counting_allocator.hpp"
#include "engine/device.hpp"

namespace plimsoll::engine {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kLargestOnHeap = 32 << 20;  // bytes; the most that glibc takes
constexpr int kKeptOnHeap = 1 << 30;

class HostMarker final : public Marker {
 public:
  void record() override { at_ = Clock::now(); }
  [[nodiscard]] double seconds_since(const Marker& earlier) const override {
    return std::chrono::duration<double>(at_ - static_cast<const HostMarker&>(earlier).at_).count();
  }

 private:
  Clock::time_point at_;
};

std::string processor_name() {
  const Result<std::string> text = read_file("/proc/cpuinfo", std::size_t{1} << 20);
  if (!text) return "CPU";
  const std::size_t at = text->find("model name");
  const std::size_t colon = at == std::string::npos ? at : text->find(": ", at);
  return colon == std::string::npos ? "CPU" : text->substr(colon + 2, text->find('\n', colon) - colon - 2);
}

class Cpu final : public Device {
 public:
  explicit Cpu(std::int64_t threads) : bytes_(count_cpu_bytes()) {
    // A small process has nothing above its tensors on the heap, so that glibc gives every pass's memory back
    // and takes it again, page by page. An interpreter with its own allocations in between does not see that.
    mallopt(M_MMAP_THRESHOLD, kLargestOnHeap);
    mallopt(M_TRIM_THRESHOLD, kKeptOnHeap);
    at::set_num_threads(static_cast<int>(threads > 0 ? threads : std::thread::hardware_concurrency()));
  }

  [[nodiscard]] at::Device torch_device() const override { return at::kCPU; }
  [[nodiscard]] job::Hello describe() const override {
    return {.torch = TORCH_VERSION,
            .device = "cpu",
            .device_name = processor_name(),
            .cuda = {},
            .cudnn = {},
            .gpu_uuid = {},
            .threads = at::get_num_threads(),
            .process = getpid()};
  }
  void synchronize() override {}
  void reset_peaks() override { bytes_.peak = bytes_.allocated.load(); }
  void empty_cache() override {}
  [[nodiscard]] std::int64_t allocated_bytes() const override { return bytes_.allocated; }
  [[nodiscard]] std::optional<std::int64_t> reserved_bytes() const override { return std::nullopt; }
  [[nodiscard]] job::Memory memory() const override {
    return {.peak_allocated_bytes = bytes_.peak,
            .peak_reserved_bytes = {},
            .peak_requested_bytes = {},
            .device_used_bytes = {},
            .peak_resident_bytes = resident_memory().peak};
  }
  [[nodiscard]] std::optional<Space> space() const override {
    const long pages = sysconf(_SC_AVPHYS_PAGES), all = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
    if (pages < 0 || all < 0 || size < 0) return std::nullopt;
    return Space{pages * size, all * size};
  }
  [[nodiscard]] std::string clock() const override { return "host"; }
  [[nodiscard]] std::unique_ptr<Marker> marker() override { return std::make_unique<HostMarker>(); }
  [[nodiscard]] Result<std::unique_ptr<Captured>> capture(const std::function<void()>&) override {
    return std::unexpected(Error{.message = "only CUDA devices can capture a pass as a graph",
                                 .hint = "leave out --capture, or name --device cuda:0"});
  }
  void share_captures() override {}
  void run_aside(const std::function<void()>& work) override { work(); }
  void start_trace() override {}
  [[nodiscard]] Status write_trace(const std::string&) override {
    return std::unexpected(Error{.message = "only CUDA's caching allocator keeps a trace of its events",
                                 .hint = "leave out --trace, or name --device cuda:0"});
  }

 private:
  CpuBytes& bytes_;
};

std::int64_t kibibytes(std::string_view text, std::string_view key) {
  const std::size_t at = text.find(key);
  if (at == std::string_view::npos) return 0;
  const std::size_t digit = text.find_first_of("0123456789", at);
  std::int64_t n = 0;
  if (digit != std::string_view::npos) std::from_chars(text.data() + digit, text.data() + text.size(), n);
  return n;
}

}  // namespace

std::unique_ptr<Device> open_cpu(std::int64_t threads) {
  return std::make_unique<Cpu>(threads);
}

Resident resident_memory() {
  const Result<std::string> text = read_file("/proc/self/status", 1 << 16);
  if (!text) return {};
  return {kibibytes(*text, "VmRSS:") * 1024, kibibytes(*text, "VmHWM:") * 1024};
}

Result<std::unique_ptr<Device>> open_device(const std::string& name, std::int64_t threads) {
  if (name == "cpu") return open_cpu(threads);
  if (!name.starts_with("cuda"))
    return fail("'{}' is not a device of the engine; it knows cpu and cuda:N", name);
  int index = 0;
  if (name.size() > 4) {
    const auto [end, problem] = std::from_chars(name.data() + 5, name.data() + name.size(), index);
    if (name[4] != ':' || problem != std::errc() || end != name.data() + name.size() || index < 0)
      return fail("'{}' is not a device; write cuda:0", name);
  }
  return open_cuda(index);
}

}  // namespace plimsoll::engine
