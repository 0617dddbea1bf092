#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/units.hpp"
#include "hardware/device.hpp"
#include "network/setting.hpp"
#include "program/count.hpp"

namespace plimsoll::estimate {

/// What a pass cannot do without, whatever the device: the least memory, work and traffic. Floors, not
/// estimates: activations, workspaces and contexts come on top.
struct Needs {
  Bytes weights;          ///< parameters and buffers in the precision asked for
  Bytes gradients;        ///< training only
  Bytes optimizer_state;  ///< training only
  Flops convolutions;     ///< of convolutions and their gradients
  Flops products;         ///< of all other multiply-accumulates
  Flops others;           ///< the rest: element-wise, normalization, reductions
  Bytes traffic;         ///< weights, inputs and outputs once; in training weights and state read and written
  bool complete = true;  ///< false where an operator was not counted: the floors are then lower still

  [[nodiscard]] Bytes memory() const { return weights + gradients + optimizer_state; }
};

[[nodiscard]] Needs needs(const network::Network& network, const program::Counts& counts,
                          const network::Setting& setting);

/// The two times below which no program gets on a device. Absent where the device has no such figure.
struct Floors {
  std::optional<Seconds> compute;  ///< FLOPs over the peak of the precision
  std::optional<Seconds> memory;   ///< bytes over the bandwidth
  std::optional<bool> fits;        ///< the memory of `Needs` against the device's
  std::optional<Bytes> capacity;
  std::string missing;  ///< which figures the device lacks, in words; empty where none

  enum class Binding : std::uint8_t { unknown, compute, memory };
  [[nodiscard]] Binding binding() const;
  /// The larger of the two where both are known.
  [[nodiscard]] std::optional<Seconds> floor() const;
};

[[nodiscard]] std::string_view name(Floors::Binding binding);

[[nodiscard]] Floors floors(const Needs& needs, const hardware::Device& device, network::Precision precision);

}  // namespace plimsoll::estimate
