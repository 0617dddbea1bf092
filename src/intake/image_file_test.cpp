#include "intake/image_file.hpp"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>

#include <gmock/gmock.h>
#include <jpeglib.h>
#include <spng.h>

#include "base/files.hpp"

namespace plimsoll::intake {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string as_text(void* data, std::size_t size) {
  std::string out(static_cast<const char*>(data), size);
  std::free(data);  // NOLINT(cppcoreguidelines-no-malloc): both libraries allocate so
  return out;
}

std::string png(std::uint32_t width, std::uint32_t height, spng_color_type type, const std::string& values) {
  spng_ctx* const context = spng_ctx_new(SPNG_CTX_ENCODER);
  spng_set_option(context, SPNG_ENCODE_TO_BUFFER, 1);
  spng_ihdr header{};
  header.width = width;
  header.height = height;
  header.bit_depth = 8;
  header.color_type = static_cast<std::uint8_t>(type);
  spng_set_ihdr(context, &header);
  EXPECT_EQ(spng_encode_image(context, values.data(), values.size(), SPNG_FMT_PNG, SPNG_ENCODE_FINALIZE), 0);
  std::size_t size = 0;
  int problem = 0;
  void* const data = spng_get_png_buffer(context, &size, &problem);
  spng_ctx_free(context);
  return as_text(data, size);
}

std::string jpeg(int side, bool grey, unsigned char value) {
  jpeg_compress_struct state{};
  jpeg_error_mgr errors{};
  state.err = jpeg_std_error(&errors);
  jpeg_create_compress(&state);
  unsigned char* data = nullptr;
  unsigned long size = 0;  // NOLINT(google-runtime-int): libjpeg's
  jpeg_mem_dest(&state, &data, &size);
  state.image_width = state.image_height = static_cast<unsigned>(side);
  state.input_components = grey ? 1 : 3;
  state.in_color_space = grey ? JCS_GRAYSCALE : JCS_RGB;
  jpeg_set_defaults(&state);
  jpeg_start_compress(&state, TRUE);
  std::vector<unsigned char> row(static_cast<std::size_t>(side * state.input_components), value);
  unsigned char* rows = row.data();
  while (state.next_scanline < state.image_height) jpeg_write_scanlines(&state, &rows, 1);
  jpeg_finish_compress(&state);
  jpeg_destroy_compress(&state);
  return as_text(data, size);
}

Result<Picture> read(const std::string& file) {
  return read_picture(std::as_bytes(std::span(file)));
}
std::string why(const Result<Picture>& picture) {
  return picture ? "it was read" : picture.error().text();
}

TEST(Png, ColoursAreChannelAfterChannel) {
  const auto picture = read(png(2, 1, SPNG_COLOR_TYPE_TRUECOLOR, "abcdef"));
  ASSERT_TRUE(picture) << why(picture);
  EXPECT_EQ(picture->channels, 3);
  EXPECT_THAT(picture->values, ElementsAre('a', 'd', 'b', 'e', 'c', 'f'));
}

TEST(Png, GreyHasOneChannelAndTransparencyIsOnBlack) {
  const auto grey = read(png(2, 1, SPNG_COLOR_TYPE_GRAYSCALE, "ab"));
  ASSERT_TRUE(grey) << why(grey);
  EXPECT_EQ(grey->channels, 1);
  EXPECT_THAT(grey->values, ElementsAre('a', 'b'));
  const auto clear = read(png(1, 1, SPNG_COLOR_TYPE_GRAYSCALE_ALPHA, std::string("\xc8\x80", 2)));
  ASSERT_TRUE(clear) << why(clear);
  EXPECT_THAT(clear->values, ElementsAre(100));  // 200 × 128 / 255
}

TEST(Jpeg, IsReadGreyAndInColours) {
  const auto grey = read(jpeg(16, true, 120)), colours = read(jpeg(16, false, 77));
  ASSERT_TRUE(grey) << why(grey);
  ASSERT_TRUE(colours) << why(colours);
  EXPECT_EQ(grey->channels, 1);
  EXPECT_EQ(colours->channels, 3);
  EXPECT_EQ(colours->values.size(), 3U * 16 * 16);
  for (const auto v : grey->values) EXPECT_NEAR(v, 120, 2);
  for (const auto v : colours->values) EXPECT_NEAR(v, 77, 2);
}

// What is cut off gives an error, or, where only marks behind the last pixel are gone, the whole picture.
TEST(Pictures, CutOffAnywhereAreErrors) {
  for (const std::string& file :
       {png(4, 4, SPNG_COLOR_TYPE_GRAYSCALE, "abcdefghijklmnop"), jpeg(16, true, 9)}) {
    const auto whole = read(file);
    ASSERT_TRUE(whole) << why(whole);
    for (std::size_t size = 0; size < file.size(); ++size) {
      const auto part = read(file.substr(0, size));
      if (size + 24 < file.size()) {
        EXPECT_FALSE(part) << size;
      }
      if (part) {
        EXPECT_EQ(part->values, whole->values) << size;
      }
    }
  }
  EXPECT_THAT(why(read("GIF89a")), HasSubstr("neither a PNG nor a JPEG"));
}

// The header promises 16384 x 16384 pixels: nothing is unpacked for it.
TEST(Pictures, LargerThanAllowedAreRefusedByTheirHeader) {
  std::string file = png(4, 4, SPNG_COLOR_TYPE_GRAYSCALE, "abcdefghijklmnop");
  file[18] = file[22] = 0x40;
  EXPECT_FALSE(
      read(file));  // its checksum does not fit either; the library looks at the size first or at that
  std::string photo = jpeg(16, true, 9);
  const auto frame = photo.find("\xff\xc0");
  ASSERT_NE(frame, photo.npos);
  photo[frame + 5] = photo[frame + 7] = 0x7f;
  EXPECT_THAT(why(read(photo)), HasSubstr("is an image of 32528x32528 pixels"));
}

TEST(Pictures, BecomeGreyAndColoured) {
  const Picture red{.channels = 3, .height = 1, .width = 1, .values = {255, 0, 0}};
  EXPECT_THAT(with_channels(red, 1).values, ElementsAre(76));  // 0.299 × 255
  const Picture grey{.channels = 1, .height = 1, .width = 2, .values = {5, 6}};
  EXPECT_THAT(with_channels(grey, 3).values, ElementsAre(5, 6, 5, 6, 5, 6));
}

// PIL: Image.fromarray(…).resize((2, 2), Image.BILINEAR) and (8, 8).
TEST(Pictures, AreScaledAsPilScalesThem) {
  Picture ramp{.channels = 1, .height = 4, .width = 4, .values = {}};
  for (int i = 0; i < 16; ++i) ramp.values.push_back(static_cast<std::uint8_t>(i * i));
  EXPECT_THAT(with_size(ramp, 2, 2).values, ElementsAre(21, 35, 105, 139));
  const std::vector<int> wanted{0,   0,   1,   2,   3,   5,   8,   9,   4,   5,   7,   9,   11,
                                14,  18,  19,  12,  14,  18,  22,  26,  31,  37,  39,  28,  31,
                                37,  43,  49,  56,  64,  67,  52,  56,  64,  72,  80,  89,  99,
                                103, 84,  89,  99,  109, 119, 130, 142, 147, 124, 130, 142, 154,
                                166, 179, 193, 199, 144, 150, 163, 176, 189, 203, 218, 225};
  const Picture larger = with_size(ramp, 8, 8);
  ASSERT_EQ(larger.values.size(), wanted.size());
  // PIL rounds between its two passes: one step of 256 apart at most.
  for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(larger.values[i], wanted[i], 1) << i;
}

TEST(Pictures, AreCutInTheMiddle) {
  const Picture wide{.channels = 1, .height = 1, .width = 3, .values = {1, 2, 3}};
  EXPECT_THAT(with_size(wide, 1, 1).values, ElementsAre(2));
}

class Files : public testing::Test {
 protected:
  void put(const std::string& name, const std::string& contents) {
    const auto file = folder_.path() / name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << contents;
  }
  TemporaryDirectory folder_ = *TemporaryDirectory::make("plimsoll-test");
};

TEST_F(Files, AreClassesByFolder) {
  put("train/dog/1.png", png(1, 1, SPNG_COLOR_TYPE_GRAYSCALE, "a"));
  put("train/cat/2.png", png(1, 1, SPNG_COLOR_TYPE_GRAYSCALE, "b"));
  put("train/cat/.hidden.png", "no picture");
  put("train/cat/notes.txt", "no picture");
  put("test/dog/3.PNG", png(1, 1, SPNG_COLOR_TYPE_GRAYSCALE, "c"));
  auto source = open_source({.path = folder_.path()});
  ASSERT_TRUE(source) << source.error().text();
  EXPECT_THAT(source->class_names, ElementsAre("cat", "dog"));
  EXPECT_EQ(source->training.count, 2);
  std::byte pixel{};
  ASSERT_TRUE(source->training.inputs->next(std::span(&pixel, 1)));
  EXPECT_EQ(pixel, std::byte{'b'});
  EXPECT_EQ(source->test->labels.bytes[0], std::byte{1});
}

TEST_F(Files, OfSeveralSizesNeedOne) {
  put("a/1.png", png(1, 1, SPNG_COLOR_TYPE_GRAYSCALE, "a"));
  put("b/1.png", png(2, 1, SPNG_COLOR_TYPE_GRAYSCALE, "bc"));
  auto source = open_source({.path = folder_.path()});
  ASSERT_TRUE(source) << source.error().text();
  std::byte pixel{};
  ASSERT_TRUE(source->training.inputs->next(std::span(&pixel, 1)));
  const Status second = source->training.inputs->next(std::span(&pixel, 1));
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error().text(), HasSubstr("is an image of 1x1x2, the first one of 1x1x1"));
  EXPECT_THAT(second.error().hint, HasSubstr("--image-size"));
  auto scaled = open_source({.path = folder_.path(), .images = {.channels = 3, .height = 2, .width = 2}});
  ASSERT_TRUE(scaled) << scaled.error().text();
  EXPECT_EQ(scaled->training.form.dims, (std::vector<std::int64_t>{3, 2, 2}));
  std::array<std::byte, 12> picture{};
  ASSERT_TRUE(scaled->training.inputs->next(picture));
  ASSERT_TRUE(scaled->training.inputs->next(picture));
}

TEST_F(Files, AreNumberedAsAnotherDataSetHasItsClasses) {
  put("dog/1.png", png(1, 1, SPNG_COLOR_TYPE_GRAYSCALE, "a"));
  const Request request{.path = folder_.path(), .classes = {"cat", "dog", "eel"}};
  const auto source = open_source(request);
  ASSERT_TRUE(source) << source.error().text();
  EXPECT_EQ(source->class_names, request.classes);
  EXPECT_EQ(source->training.labels.bytes[0], std::byte{1});
  EXPECT_THAT(open_source({.path = folder_.path(), .classes = {"cat", "eel"}}).error().text(),
              HasSubstr("the class 'dog'"));
}

TEST_F(Files, OfAClassNobodyLearnsAreRefused) {
  put("train/cat/1.png", png(1, 1, SPNG_COLOR_TYPE_GRAYSCALE, "a"));
  put("train/dog/1.png", png(1, 1, SPNG_COLOR_TYPE_GRAYSCALE, "a"));
  put("test/fox/1.png", png(1, 1, SPNG_COLOR_TYPE_GRAYSCALE, "a"));
  const auto source = open_source({.path = folder_.path()});
  ASSERT_FALSE(source);
  EXPECT_THAT(source.error().text(), HasSubstr("the class 'fox'"));
  put("train/eel/readme", "none");
  EXPECT_THAT(open_source({.path = folder_.path()}).error().text(), HasSubstr("holds no PNG or JPEG file"));
}

}  // namespace
}  // namespace plimsoll::intake
