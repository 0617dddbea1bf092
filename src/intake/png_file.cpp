#ifdef PLIMSOLL_IMAGES  // see cmake/packages.cmake
#include <memory>

#include <spng.h>

#include "intake/picture_forms.hpp"

namespace plimsoll::intake {
namespace {

constexpr std::size_t kMostChunk = std::size_t{1} << 26;  // of a colour profile or text, which nobody needs

struct Close {
  void operator()(spng_ctx* context) const { spng_ctx_free(context); }
};

}  // namespace

Result<Picture> read_png(std::span<const std::byte> file) {
  const std::unique_ptr<spng_ctx, Close> context(spng_ctx_new(0));
  if (!context) return fail("memory ran out");
  const auto wrong = [](int code) {
    return fail("is no PNG file that can be read: {}", spng_strerror(code));
  };
  spng_set_image_limits(context.get(), kMostSide, kMostSide);
  spng_set_chunk_limits(context.get(), kMostChunk, kMostChunk);
  if (const int code = spng_set_png_buffer(context.get(), file.data(), file.size()); code != 0)
    return wrong(code);
  spng_ihdr header{};
  if (const int code = spng_get_ihdr(context.get(), &header); code != 0) return wrong(code);
  Picture picture{.channels = 3, .height = header.height, .width = header.width};
  PLIMSOLL_TRY(check_sides(picture.height, picture.width));
  const bool grey =
      header.color_type == SPNG_COLOR_TYPE_GRAYSCALE || header.color_type == SPNG_COLOR_TYPE_GRAYSCALE_ALPHA;
  const auto pixels = static_cast<std::size_t>(picture.height * picture.width);
  std::size_t size = 0;
  if (const int code = spng_decoded_image_size(context.get(), SPNG_FMT_RGBA8, &size); code != 0)
    return wrong(code);
  if (size != 4 * pixels) return fail("is no PNG file that can be read: its size does not agree");
  std::vector<std::uint8_t> unpacked(size);
  if (const int code =
          spng_decode_image(context.get(), unpacked.data(), size, SPNG_FMT_RGBA8, SPNG_DECODE_TRNS);
      code != 0)
    return wrong(code);
  if (grey) picture.channels = 1;
  const auto channels = static_cast<std::size_t>(picture.channels);
  picture.values.resize(channels * pixels);
  constexpr unsigned kOpaque = 255;
  for (std::size_t p = 0; p < pixels; ++p) {
    const unsigned alpha = unpacked[4 * p + 3];
    for (std::size_t c = 0; c < channels; ++c)
      picture.values[c * pixels + p] =
          static_cast<std::uint8_t>((unpacked[4 * p + c] * alpha + kOpaque / 2) / kOpaque);
  }
  return picture;
}

}  // namespace plimsoll::intake
#endif
