#include "quantize/levels.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace plimsoll::quantize {
namespace {

constexpr float kLeastScale = 1e-12F;
constexpr double kMostBiasLevel = 1 << 30;  // a factor of two below what 32 bits hold

std::size_t at(std::int64_t i) {
  return static_cast<std::size_t>(i);
}

}  // namespace

Levels levels_of(Range range) {
  const double low = std::min(0.0, range.low), high = std::max(0.0, range.high);
  if (!(high - low > 0) || !std::isfinite(high - low)) return {};
  const auto scale = std::max(kLeastScale, static_cast<float>((high - low) / 255));
  const double zero = std::clamp(std::nearbyint(-low / static_cast<double>(scale)), 0.0, 255.0);
  return {scale, static_cast<std::uint8_t>(zero)};
}

std::uint8_t level_of(float x, Levels levels) {
  const float level = std::nearbyint(x / levels.scale) + static_cast<float>(levels.zero);
  return static_cast<std::uint8_t>(std::clamp(std::isnan(level) ? 0.0F : level, 0.0F, 255.0F));
}

float real_of(std::uint8_t level, Levels levels) {
  return levels.scale * static_cast<float>(static_cast<int>(level) - static_cast<int>(levels.zero));
}

WeightLevels quantize_weight(std::span<const float> weight, Channels c, int most,
                             std::span<const float> least_scales) {
  WeightLevels out;
  out.levels.resize(weight.size());
  out.scales.assign(at(c.channels), 0);
  const auto each = [&](std::int64_t channel, auto&& visit) {
    for (std::int64_t o = 0; o < c.outer; ++o)
      for (std::int64_t i = 0; i < c.inner; ++i) visit(at((o * c.channels + channel) * c.inner + i));
  };
  for (std::int64_t channel = 0; channel < c.channels; ++channel) {
    float largest = 0;
    each(channel, [&](std::size_t i) { largest = std::max(largest, std::abs(weight[i])); });
    float scale = largest / static_cast<float>(most);
    if (!least_scales.empty()) scale = std::max(scale, least_scales[at(channel)]);
    if (!(scale >= kLeastScale) || !std::isfinite(scale)) scale = largest > 0 ? kLeastScale : 1;
    out.scales[at(channel)] = scale;
    const auto bound = static_cast<float>(most);
    each(channel, [&](std::size_t i) {
      const float level = std::nearbyint(weight[i] / scale);
      out.levels[i] = static_cast<std::int8_t>(std::clamp(std::isnan(level) ? 0.0F : level, -bound, bound));
    });
  }
  return out;
}

float bias_scale_floor(float bias, float input_scale) {
  return static_cast<float>(std::abs(static_cast<double>(bias)) /
                            (kMostBiasLevel * static_cast<double>(input_scale)));
}

std::int32_t bias_level(float bias, float input_scale, float weight_scale) {
  const double level = std::nearbyint(static_cast<double>(bias) /
                                      (static_cast<double>(input_scale) * static_cast<double>(weight_scale)));
  constexpr double kLow = std::numeric_limits<std::int32_t>::min(),
                   kHigh = std::numeric_limits<std::int32_t>::max();
  return static_cast<std::int32_t>(std::clamp(std::isnan(level) ? 0.0 : level, kLow, kHigh));
}

}  // namespace plimsoll::quantize
