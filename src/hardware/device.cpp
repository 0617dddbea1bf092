#include "hardware/device.hpp"

#include <array>

#include "base/named.hpp"

namespace plimsoll::hardware {
namespace {

constexpr std::array<std::string_view, 3> kBounds = {"exact", "at-most", "more-than"};
constexpr std::array<std::string_view, 4> kKinds = {"gpu", "cpu", "edge-accelerator", "microcontroller"};
constexpr std::array<std::string_view, kArithmetics> kArithmeticNames = {"fp64", "fp32", "tf32", "fp16",
                                                                         "bf16", "int8", "fp8"};

template <class Unit>
std::optional<Unit> with_unit(const std::optional<DeviceFigure>& figure) {
  return figure ? std::optional(Unit(figure->value)) : std::nullopt;
}

}  // namespace

std::string_view name(Bound bound) {
  return kBounds[static_cast<std::size_t>(bound)];
}
std::string_view name(DeviceKind kind) {
  return kKinds[static_cast<std::size_t>(kind)];
}
std::string_view name(Arithmetic arithmetic) {
  return kArithmeticNames[static_cast<std::size_t>(arithmetic)];
}
std::optional<Bound> bound_named(std::string_view name) {
  return named<Bound>(name, kBounds);
}
std::optional<DeviceKind> device_kind_named(std::string_view name) {
  return named<DeviceKind>(name, kKinds);
}
std::optional<Arithmetic> arithmetic_named(std::string_view name) {
  return named<Arithmetic>(name, kArithmeticNames);
}

std::optional<FlopsPerSecond> peak_rate(const Device& device, Arithmetic arithmetic) {
  return with_unit<FlopsPerSecond>(device.peak_of(arithmetic));
}
std::optional<BytesPerSecond> memory_bandwidth(const Device& device) {
  return with_unit<BytesPerSecond>(device.memory_bandwidth);
}
std::optional<BytesPerSecond> link_bandwidth(const Device& device) {
  return with_unit<BytesPerSecond>(device.link_bandwidth);
}
std::optional<Watts> power(const Device& device) {
  return with_unit<Watts>(device.power);
}

std::optional<Bytes> capacity(const Device& device) {
  const std::optional<DeviceFigure>& figure = device.usable_memory ? device.usable_memory : device.memory;
  return figure ? std::optional(Bytes::rounded(figure->value)) : std::nullopt;
}

}  // namespace plimsoll::hardware
