#pragma once
#include <span>
#include <string_view>

namespace plimsoll::diagnose {

/// Where a verdict draws a line, and why there.
struct Threshold {
  std::string_view name;
  double value;
  std::string_view reason;
};

inline constexpr Threshold kNearIdle{
    "near-idle", 0.05,
    "Below a twentieth of the SM time a GPU does next to nothing, and could be somebody else's."};
inline constexpr Threshold kWaits{
    "waits", 0.30,
    "Without any kernel for 30 % of the time: hiding the waits would make the run up "
    "to 1.4 times as fast, which is worth a change of the program."};
inline constexpr Threshold kCoresFull{
    "cores-full", 0.85,
    "A program with enough threads or workers seldom gets more of its cores: "
    "some time always goes to starting, waiting and the system."};
inline constexpr Threshold kOneCoreLow{
    "one-core-low", 0.70,
    "Nearly one core busy: one thread works without a rest, as Python's interpreter does."};
inline constexpr Threshold kOneCoreHigh{
    "one-core-high", 1.50, "More than one and a half cores: several threads or workers take part."};
inline constexpr Threshold kHeldBack{
    "held-back", 0.10,
    "Threads held back by the cgroup's limit for a tenth of a core or more: it has no cores to spare."};
inline constexpr Threshold kStorageWaits{
    "storage-waits", 0.10,
    "A tenth of the time some process waited for storage (pressure stall information)."};
inline constexpr Threshold kMemoryWaits{
    "memory-waits", 0.05, "Waiting for memory means swapping or reclaiming: already a little slows all."};
inline constexpr Threshold kSparse{
    "sparse-kernels", 0.40,
    "Kernels run, but on fewer than 40 % of the SMs' time: they are too small or too "
    "short to fill the device. Two small trainings on an H200 read 100 % "
    "utilization at an SM activity of 31 %."};
inline constexpr Threshold kBandwidthFull{
    "bandwidth-full", 0.60,
    "Kernels that only move data reach 80 to 90 % of the peak; 60 % in the mean, small "
    "kernels between them counted in, leaves little."};
inline constexpr Threshold kSmFull{
    "sm-full", 0.70,
    "SMs busy for 70 % of the time in the mean, with everything between kernels "
    "counted in: more work per second needs fewer or cheaper operations."};
inline constexpr Threshold kTensorUnused{"tensor-unused", 0.02,
                                         "Tensor cores busy for less than 2 % of the time are not in use."};
inline constexpr Threshold kFp32Busy{
    "fp32-busy", 0.20,
    "The FP32 pipe busy for a fifth of the time is real arithmetic, which the "
    "tensor cores could do several times as fast."};
inline constexpr Threshold kMemoryFull{
    "memory-full", 0.95,
    "Within 5 % of the device's memory, a fragment or a longer sequence more ends "
    "in an out-of-memory error."};
inline constexpr Threshold kClocksHeld{
    "clocks-held", 0.10, "Clocks held down for a tenth of the working time are felt in the result."};
inline constexpr Threshold kShared{"shared", 0.95,
                                   "Less than 95 % of what the GPU did was the run's: others took part."};
inline constexpr Threshold kIdleEnds{
    "idle-ends", 0.10, "A tenth of the run before the first or after the last work is worth a look."};
inline constexpr Threshold kCarries{
    "carries", 0.90,
    "When sharing is reckoned, a tenth of the SM time is left free: runs together "
    "are never quite as quick as their sum."};

[[nodiscard]] std::span<const Threshold> thresholds();

}  // namespace plimsoll::diagnose
