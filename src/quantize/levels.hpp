#pragma once
#include <cstdint>
#include <span>
#include <vector>

/// Numbers as eight bits: real = scale x (level - zero).
namespace plimsoll::quantize {

/// The numbers that levels are to stand for.
struct Range {
  double low = 0, high = 0;
  friend bool operator==(const Range&, const Range&) = default;
};

/// How an activation's levels, 0 to 255, are read. Zero is always one of them: padding must be exact.
struct Levels {
  float scale = 1;
  std::uint8_t zero = 0;
  friend bool operator==(const Levels&, const Levels&) = default;
};

/// Levels that reach over the range, widened to hold zero.
[[nodiscard]] Levels levels_of(Range range);
/// The level next to x, halves to the even one.
[[nodiscard]] std::uint8_t level_of(float x, Levels levels);
[[nodiscard]] float real_of(std::uint8_t level, Levels levels);

/// A weight's levels lie evenly around zero, -most to most: 127, or 63 where two products of eight bits
/// are summed in sixteen, which saturates (x86 without VNNI).
inline constexpr int kMostLevel = 127, kMostReducedLevel = 63;

/// A weight seen as `outer` x `channels` x `inner` numbers, each channel with a scale of its own.
struct Channels {
  std::int64_t outer = 1, channels = 1, inner = 1;
};
struct WeightLevels {
  std::vector<std::int8_t> levels;  ///< in the weight's own order
  std::vector<float> scales;        ///< by channel
};
/// `least_scales`: by channel, or empty; a scale is not smaller (bias_scale_floor).
[[nodiscard]] WeightLevels quantize_weight(std::span<const float> weight, Channels channels, int most,
                                           std::span<const float> least_scales = {});

/// A bias is kept as whole numbers of input scale x weight scale. Of a channel with next to no weights that
/// product is so small that the bias would not fit: its weights' scale must be at least this.
[[nodiscard]] float bias_scale_floor(float bias, float input_scale);
[[nodiscard]] std::int32_t bias_level(float bias, float input_scale, float weight_scale);

}  // namespace plimsoll::quantize
