#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "intake/source.hpp"

namespace plimsoll::intake {

/// Channel after channel, rows from the top.
struct Picture {
  std::int64_t channels = 0, height = 0, width = 0;
  std::vector<std::uint8_t> values = {};
};

/// A PNG or JPEG file that is in memory: grey (1 channel) or colours (3). Transparency is laid on black,
/// palettes and 16 bits become 8. What is larger than kMostSide or kMostPixels is refused before it is
/// unpacked.
[[nodiscard]] Result<Picture> read_picture(std::span<const std::byte> file);

/// Whether a file's name says that it is one.
[[nodiscard]] bool names_picture(std::string_view name);

/// Grey becomes three equal channels, colours their brightness (ITU-R BT.601).
[[nodiscard]] Picture with_channels(Picture picture, std::int64_t channels);

/// Scaled, its sides in proportion, until it covers height x width, and cut to it in the middle. As PIL's
/// BILINEAR with reducing_gap none: a triangle as wide as the scale, so that what becomes smaller is
/// smoothed.
[[nodiscard]] Picture with_size(const Picture& picture, std::int64_t height, std::int64_t width);

/// All that a request asks.
[[nodiscard]] Picture as_asked(Picture picture, const ImageRequest& request);

}  // namespace plimsoll::intake
