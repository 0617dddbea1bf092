#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.hpp"
#include "hardware/arithmetic.hpp"
#include "hardware/calibration.hpp"
#include "hardware/device_figure.hpp"
#include "nvml/library.hpp"

namespace plimsoll::hardware {

enum class DeviceKind : std::uint8_t { gpu, cpu, edge_accelerator, microcontroller };
[[nodiscard]] std::string_view name(DeviceKind kind);
[[nodiscard]] std::optional<DeviceKind> device_kind_named(std::string_view name);

/// A time that somebody measured on the device, for one forward pass of one batch.
struct Latency {
  std::string network;
  Arithmetic arithmetic = Arithmetic::int8;
  std::int64_t batch = 1;
  DeviceFigure seconds;
  std::string conditions = {};  ///< what differs from the device as listed: host, bus, clock
  friend bool operator==(const Latency&, const Latency&) = default;
};

/// What counts where a board is built into something: a satellite, a camera.
struct Board {
  std::optional<DeviceFigure> mass = {};                 ///< kg
  std::optional<std::array<DeviceFigure, 3>> size = {};  ///< m, the longest side first
  std::optional<DeviceFigure> peak_power = {};           ///< W of the whole board under load
  std::optional<DeviceFigure> boot_time = {};            ///< s
  std::optional<Claim> updates_in_place = {};  ///< programs can be replaced where it is, in orbit too
  std::string core = {};  ///< what executes networks ("Cortex-M7"): equal cores scale with their clocks
  std::optional<DeviceFigure> clock = {};  ///< Hz of that core
  std::string framework = {};
  std::vector<Arithmetic> precisions = {};        ///< those the framework runs there
  std::optional<std::int64_t> most_at_once = {};  ///< largest batch, or requests in flight; 1: no batching
  std::vector<Latency> latencies = {};
  friend bool operator==(const Board&, const Board&) = default;
};

/// A machine that can run a network, as a plain value. Rates are dense, never sparse ones, and of one
/// device: of a board of two, half.
struct Device {
  std::string id;  ///< lower case, digits and hyphens
  std::string name;
  std::string vendor = {};
  DeviceKind kind = DeviceKind::gpu;
  std::vector<std::string> aliases = {};
  std::vector<std::string> reported_names = {};  ///< as its driver calls it
  std::optional<int> year = {};
  bool well_known = false;
  std::vector<std::string> notes = {};

  std::optional<DeviceFigure> memory = {};            ///< B; nominal: of a GPU a datasheet's GB is 2^30 B
  std::optional<DeviceFigure> usable_memory = {};     ///< B that programs can have, where somebody has looked
  std::optional<DeviceFigure> memory_bandwidth = {};  ///< B/s
  std::optional<DeviceFigure> l2_cache = {};          ///< B
  std::optional<DeviceFigure> context_memory = {};    ///< B that a program's CUDA context takes
  std::optional<DeviceFigure> matrix_kernels = {};    ///< B more, once kernels of matrix products are loaded
  std::optional<DeviceFigure> convolution_kernels = {};  ///< B more, once those of convolutions are
  std::optional<DeviceFigure> link_bandwidth = {};       ///< B/s to other devices, both directions together
  std::string link = {};                                 ///< "NVLink", "PCIe 4.0"
  std::optional<DeviceFigure> power = {};                ///< W: the board's limit (TDP)
  std::optional<DeviceFigure> multiprocessors = {};      ///< SMs, compute units, or physical cores of a CPU
  std::optional<nvml::ComputeCapability> compute_capability = {};
  std::array<std::optional<DeviceFigure>, kArithmetics> peak = {};  ///< FLOP/s (int8: op/s), by Arithmetic
  std::optional<Board> board = {};
  std::optional<Calibration> calibration = {};  ///< in a file that `plimsoll probe --calibrate` wrote

  [[nodiscard]] const std::optional<DeviceFigure>& peak_of(Arithmetic arithmetic) const {
    return peak[static_cast<std::size_t>(arithmetic)];
  }
  friend bool operator==(const Device&, const Device&) = default;
};

/// The figures with their units, for who computes with them; absent where unknown.
[[nodiscard]] std::optional<FlopsPerSecond> peak_rate(const Device& device, Arithmetic arithmetic);
[[nodiscard]] std::optional<BytesPerSecond> memory_bandwidth(const Device& device);
[[nodiscard]] std::optional<BytesPerSecond> link_bandwidth(const Device& device);
[[nodiscard]] std::optional<Watts> power(const Device& device);
/// What programs can have: the usable memory where known, else the nominal, which is a little too much: ECC
/// and the driver take some of it.
[[nodiscard]] std::optional<Bytes> capacity(const Device& device);

}  // namespace plimsoll::hardware
