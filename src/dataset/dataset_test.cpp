#include "dataset/dataset.hpp"

#include <cstring>

#include <gmock/gmock.h>

#include "base/files.hpp"
#include "dataset/image.hpp"
#include "job/safetensors.hpp"

namespace plimsoll::dataset {
namespace {

using job::Augmentation;
using network::DataType;
using testing::ElementsAre;
using testing::HasSubstr;

template <class Number>
std::span<const std::byte> bytes_of(const std::vector<Number>& numbers) {
  return std::as_bytes(std::span(numbers));
}

class DatasetFile : public testing::Test {
 protected:
  Result<Dataset> opened(const std::vector<job::ArrayToStore>& arrays) {
    EXPECT_TRUE(job::write_safetensors(folder_.path() / "data", arrays));
    return Dataset::open(folder_.path() / "data");
  }
  static std::string why(const Result<Dataset>& dataset) {
    return dataset ? "it was opened" : dataset.error().text();
  }

  TemporaryDirectory folder_ = *TemporaryDirectory::make("plimsoll-test");
  std::vector<std::uint8_t> images_{0, 51, 102, 153, 204, 255, 0, 0};  // two of 1x2x2
  std::vector<std::int64_t> labels_{2, 0};
};

TEST_F(DatasetFile, IsReadAsRows) {
  const auto dataset = opened({{"inputs", DataType::uint8, {2, 1, 2, 2}, bytes_of(images_)},
                               {"labels", DataType::int64, {2}, bytes_of(labels_)},
                               {"test_inputs", DataType::uint8, {1, 1, 2, 2}, bytes_of(images_).first(4)},
                               {"test_labels", DataType::int64, {1}, bytes_of(labels_).first(8)}});
  ASSERT_TRUE(dataset) << why(dataset);
  EXPECT_EQ(dataset->training().count(), 2);
  EXPECT_EQ(dataset->training().inputs.dims, (std::vector<std::int64_t>{1, 2, 2}));
  EXPECT_EQ(dataset->classes(), 3);
  ASSERT_TRUE(dataset->test());
  EXPECT_EQ(dataset->test()->count(), 1);
  EXPECT_EQ(std::to_integer<int>(dataset->training().inputs.row(1)[1]), 255);
}

TEST_F(DatasetFile, IsRefusedWhereItDoesNotAgreeWithItself) {
  const job::ArrayToStore images{"inputs", DataType::uint8, {2, 1, 2, 2}, bytes_of(images_)};
  EXPECT_THAT(why(opened({images})), HasSubstr("holds no array 'labels'"));
  EXPECT_THAT(why(opened({images, {"labels", DataType::int64, {1}, bytes_of(labels_).first(8)}})),
              HasSubstr("there are 2 inputs and 1 labels"));
  const std::vector<std::int64_t> negative{0, -1};
  EXPECT_THAT(why(opened({images, {"labels", DataType::int64, {2}, bytes_of(negative)}})),
              HasSubstr("example 1 is of class -1"));
  const std::vector<double> doubles(8);
  EXPECT_THAT(why(opened({{"inputs", DataType::float64, {2, 4}, bytes_of(doubles)},
                          {"labels", DataType::int64, {2}, bytes_of(labels_)}})),
              HasSubstr("inputs are uint8 (images), float32 or int64"));
  EXPECT_THAT(why(opened({images,
                          {"labels", DataType::int64, {2}, bytes_of(labels_)},
                          {"test_inputs", DataType::uint8, {2, 2, 2}, bytes_of(images_)},
                          {"test_labels", DataType::int64, {2}, bytes_of(labels_)}})),
              HasSubstr("examples to learn from are 1x2x2 of uint8, those to test on 2x2 of uint8"));
  EXPECT_THAT(why(opened({{"inputs", DataType::uint8, {0, 4}, {}}, {"labels", DataType::int64, {0}, {}}})),
              HasSubstr("holds no examples"));
}

TEST_F(DatasetFile, KeepsNamesOfClassesAndChannels) {
  const std::string names = R"(["boot","coat","bag"])";
  const std::vector<double> mean{0.25};
  const auto dataset = opened({{"inputs", DataType::uint8, {2, 1, 2, 2}, bytes_of(images_)},
                               {"labels", DataType::int64, {2}, bytes_of(labels_)},
                               {"class_names",
                                DataType::uint8,
                                {static_cast<std::int64_t>(names.size())},
                                std::as_bytes(std::span(names))},
                               {"channel_mean", DataType::float64, {1}, bytes_of(mean)}});
  ASSERT_TRUE(dataset) << why(dataset);
  EXPECT_THAT(dataset->class_names(), ElementsAre("boot", "coat", "bag"));
  EXPECT_THAT(dataset->mean(), ElementsAre(0.25));
  EXPECT_TRUE(dataset->deviation().empty());
}

class Filling : public testing::Test {
 protected:
  std::vector<float> filled(const Augmentation& augmentation, Random* random = nullptr) {
    const Rows rows{
        .type = DataType::uint8, .dims = {1, 2, 3}, .count = 1, .row_bytes = 6, .bytes = bytes_of(pixels_)};
    EXPECT_TRUE(check_augmentation(rows, augmentation));
    std::vector<float> out(6);
    fill(out, rows, 0, augmentation, random);
    return out;
  }
  std::vector<std::uint8_t> pixels_{0, 51, 102, 153, 204, 255};
};

TEST_F(Filling, MakesBytesNumbersFromZeroToOne) {
  EXPECT_THAT(filled({}),
              testing::Pointwise(testing::FloatNear(1e-6F), {0.0F, 0.2F, 0.4F, 0.6F, 0.8F, 1.0F}));
}

TEST_F(Filling, Normalises) {
  EXPECT_THAT(filled({.mean = {0.5}, .deviation = {0.25}}),
              testing::Pointwise(testing::FloatNear(1e-5F), {-2.0F, -1.2F, -0.4F, 0.4F, 1.2F, 2.0F}));
}

// Whatever is drawn, an image is its own cut out of zeros around it, turned or not.
TEST_F(Filling, CutsAndTurnsAsDrawn) {
  bool turned = false, straight = false, moved = false;
  for (std::uint64_t item = 0; item < 64; ++item) {
    Random random(1, 0, item), again(1, 0, item);
    const std::vector<float> out = filled({.crop = 1, .flip = true}, &random);
    EXPECT_EQ(out, filled({.crop = 1, .flip = true}, &again));
    bool found = false;
    for (int down = -1; down <= 1; ++down)
      for (int right = -1; right <= 1; ++right)
        for (const bool flip : {false, true}) {
          std::vector<float> wanted;
          for (int y = 0; y < 2; ++y)
            for (int x = 0; x < 3; ++x) {
              const int from_y = y + down, from_x = (flip ? 2 - x : x) + right;
              const bool inside = from_y >= 0 && from_y < 2 && from_x >= 0 && from_x < 3;
              wanted.push_back(
                  inside ? static_cast<float>(pixels_[static_cast<std::size_t>(from_y * 3 + from_x)]) *
                               (1 / 255.0F)
                         : 0.0F);
            }
          if (wanted != out) continue;
          found = true;
          (flip ? turned : straight) = true;
          moved = moved || down != 0 || right != 0;
        }
    EXPECT_TRUE(found) << item;
  }
  EXPECT_TRUE(turned && straight && moved);
}

TEST_F(Filling, IsRefusedForWhatIsNoImage) {
  const Rows rows{.type = DataType::float32, .dims = {4}, .count = 1, .row_bytes = 16};
  EXPECT_FALSE(check_augmentation(rows, {.flip = true}));
  EXPECT_TRUE(check_augmentation(rows, {}));
  const Rows image{.type = DataType::uint8, .dims = {3, 4, 4}, .count = 1, .row_bytes = 48};
  EXPECT_FALSE(check_augmentation(image, {.mean = {0.5}, .deviation = {0.5}}));
  EXPECT_FALSE(check_augmentation(image, {.crop = 4}));
  EXPECT_FALSE(check_augmentation(image, {.mean = {0, 0, 0}, .deviation = {1, 0, 1}}));
}

}  // namespace
}  // namespace plimsoll::dataset
