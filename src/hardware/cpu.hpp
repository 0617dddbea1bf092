#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/units.hpp"
#include "hardware/device.hpp"

namespace plimsoll::hardware {

/// The widest vector instructions that a CPU has, as far as its rate follows from them.
enum class Simd : std::uint8_t { unknown, sse2, avx, avx2_fma, avx512 };

struct CpuCore {
  std::optional<double> hertz = {};
  bool efficiency = false;  ///< a small core of a hybrid processor
  friend auto operator<=>(const CpuCore&, const CpuCore&) = default;
};

/// What the operating system says about the processor and its memory, before anything is derived from it.
struct Cpu {
  std::string model = {};   ///< "AMD EPYC 7763 64-Core Processor"
  std::string vendor = {};  ///< "GenuineIntel"
  int family = 0;
  int model_number = 0;
  int threads = 0;
  std::vector<CpuCore> cores = {};    ///< physical ones
  std::string frequency_source = {};  ///< in words
  Simd simd = Simd::unknown;
  std::optional<double> cpu_quota = {};  ///< CPUs' worth of time that the cgroup allows
  std::optional<Bytes> memory = {};
  std::optional<Bytes> memory_limit = {};  ///< the cgroup's
};

/// Reads /proc and /sys under `root`. Whatever is not there is left out.
[[nodiscard]] Cpu read_cpu(const std::filesystem::path& root);

/// FLOPs of one core per cycle in fp32, a multiply-add being two; absent where they do not follow from
/// what is known. With the reason in words.
struct CycleRate {
  int flops = 0;
  std::string reason;
};
[[nodiscard]] std::optional<CycleRate> flops_per_cycle(const Cpu& cpu, const CpuCore& core);

/// The processor as a device: peak rates derived as cores x frequency x FLOPs per cycle (an upper bound:
/// with all cores in wide vector code the clock is lower), memory as the cgroup allows.
[[nodiscard]] Device describe(const Cpu& cpu);

}  // namespace plimsoll::hardware
