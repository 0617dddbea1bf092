#pragma once
#include <span>

#include "intake/image_file.hpp"

namespace plimsoll::intake {

[[nodiscard]] Result<Picture> read_png(std::span<const std::byte> file);
[[nodiscard]] Result<Picture> read_jpeg(std::span<const std::byte> file);

/// Before anything is unpacked.
[[nodiscard]] inline Status check_sides(std::int64_t height, std::int64_t width) {
  if (height < 1 || width < 1 || height > kMostSide || width > kMostSide || height * width > kMostPixels)
    return fail("is an image of {}x{} pixels; up to {} on a side and {} in all are read", width, height,
                kMostSide, kMostPixels);
  return {};
}

}  // namespace plimsoll::intake
