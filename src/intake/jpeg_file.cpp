#ifdef PLIMSOLL_IMAGES  // see cmake/packages.cmake
#include <csetjmp>
#include <cstdio>

#include <jerror.h>
#include <jpeglib.h>

#include "base/printable.hpp"
#include "intake/picture_forms.hpp"

namespace plimsoll::intake {
namespace {

/// libjpeg leaves by a jump; what it would say is kept.
struct Failure {
  jpeg_error_mgr manager{};
  std::jmp_buf place{};
  char message[JMSG_LENGTH_MAX]{};
  bool cut_off = false;
};

constexpr int kMostScans = 100;  // a progressive file has about ten; each may take as long as the whole image

void leave(j_common_ptr decoder) {
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): the manager is the first member
  auto* const failure = reinterpret_cast<Failure*>(decoder->err);
  decoder->err->format_message(decoder, failure->message);
  // NOLINTNEXTLINE(cert-err52-cpp): the library's own way
  std::longjmp(failure->place, 1);
}
/// Where a file is cut off or damaged the library fills up with grey and warns. Other warnings are of no
/// account.
void hear(j_common_ptr decoder, int level) {
  if (level >= 0) return;
  const int code = decoder->err->msg_code;
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): the manager is the first member
  if (code == JWRN_JPEG_EOF || code == JWRN_HIT_MARKER)
    reinterpret_cast<Failure*>(decoder->err)->cut_off = true;
}
void print_nothing(j_common_ptr) {}
void count_scans(j_common_ptr decoder) {
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): libjpeg's own way
  if (reinterpret_cast<j_decompress_ptr>(decoder)->input_scan_number > kMostScans)
    ERREXIT(decoder, JERR_BAD_PROGRESSION);
}

/// Ends in `place` on an error: nothing that must be destroyed lives here.
struct Decoder {
  jpeg_decompress_struct state{};
  jpeg_progress_mgr progress{};
  Failure failure;
};

/// What a decoder's header says; false where it is none.
bool begin(Decoder& decoder, std::span<const std::byte> file) {
  if (setjmp(decoder.failure.place) != 0) return false;  // NOLINT(cert-err52-cpp)
  jpeg_create_decompress(&decoder.state);
  decoder.progress.progress_monitor = count_scans;
  decoder.state.progress = &decoder.progress;
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): bytes
  jpeg_mem_src(&decoder.state, reinterpret_cast<const unsigned char*>(file.data()), file.size());
  jpeg_read_header(&decoder.state, TRUE);
  decoder.state.out_color_space = decoder.state.jpeg_color_space == JCS_GRAYSCALE ? JCS_GRAYSCALE : JCS_RGB;
  return true;
}

/// Rows one after the other, as the library gives them.
bool unpack(Decoder& decoder, unsigned char* rows) {
  if (setjmp(decoder.failure.place) != 0) return false;  // NOLINT(cert-err52-cpp)
  jpeg_start_decompress(&decoder.state);
  const std::size_t stride =
      std::size_t{decoder.state.output_width} * static_cast<std::size_t>(decoder.state.output_components);
  while (decoder.state.output_scanline < decoder.state.output_height) {
    unsigned char* row = rows + decoder.state.output_scanline * stride;
    jpeg_read_scanlines(&decoder.state, &row, 1);
  }
  jpeg_finish_decompress(&decoder.state);
  return true;
}

}  // namespace

Result<Picture> read_jpeg(std::span<const std::byte> file) {
  Decoder decoder;
  decoder.state.err = jpeg_std_error(&decoder.failure.manager);
  decoder.failure.manager.error_exit = leave;
  decoder.failure.manager.emit_message = hear;
  decoder.failure.manager.output_message = print_nothing;
  const auto done = [&decoder](Result<Picture> answer) {
    jpeg_destroy_decompress(&decoder.state);
    return answer;
  };
  const auto wrong = [&decoder] {
    return fail("is no JPEG file that can be read: {}", printable(decoder.failure.message));
  };
  if (!begin(decoder, file)) return done(wrong());
  Picture picture{.channels = decoder.state.out_color_space == JCS_GRAYSCALE ? 1 : 3,
                  .height = decoder.state.image_height,
                  .width = decoder.state.image_width};
  if (Status right = check_sides(picture.height, picture.width); !right)
    return done(std::unexpected(right.error()));
  const auto pixels = static_cast<std::size_t>(picture.height * picture.width);
  const auto channels = static_cast<std::size_t>(picture.channels);
  std::vector<std::uint8_t> rows(pixels * channels);
  if (!unpack(decoder, rows.data())) return done(wrong());
  if (decoder.failure.cut_off) return done(fail("is damaged or cut off"));
  picture.values.resize(rows.size());
  for (std::size_t p = 0; p < pixels; ++p)
    for (std::size_t c = 0; c < channels; ++c) picture.values[c * pixels + p] = rows[p * channels + c];
  return done(std::move(picture));
}

}  // namespace plimsoll::intake
#endif
