#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "hardware/calibration.hpp"

namespace plimsoll::probe {

enum class GridKind : std::uint8_t {
  gpu,  ///< about 11,000 cases: tf32, fp32, bf16 and some fp16
  cpu,  ///< about 2,100: fp32
};

/// A point of the unit cube, taken coordinate by coordinate.
class Draw {
 public:
  static constexpr std::size_t kCoordinates = 8;
  /// The n-th of an even sequence: Roberts' generalisation of the golden ratio to more dimensions.
  explicit Draw(std::uint64_t n, GridKind kind = GridKind::gpu);

  [[nodiscard]] double share() { return at_ < kCoordinates ? point_[at_++] : 0.5; }
  [[nodiscard]] double real(double low, double high);  ///< even in the logarithm
  [[nodiscard]] std::int64_t whole(double low, double high);
  [[nodiscard]] std::int64_t one_of(std::span<const std::int64_t> list);
  /// All of them equally often, whatever else is drawn.
  [[nodiscard]] std::int64_t in_turn(std::span<const std::int64_t> list) const {
    return list[n_ % list.size()];
  }
  [[nodiscard]] GridKind kind() const { return kind_; }

 private:
  std::uint64_t n_;
  GridKind kind_;
  std::array<double, kCoordinates> point_{};
  std::size_t at_ = 0;
};

/// Extents of a class for one draw; nothing where what was drawn is no operator anybody runs.
[[nodiscard]] std::optional<hardware::Extents> shape_of(hardware::OperatorClass operator_class, Draw draw);
/// Of a convolution over three channels.
[[nodiscard]] std::optional<hardware::Extents> shape_of_first_layer(Draw draw);

}  // namespace plimsoll::probe
