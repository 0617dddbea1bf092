#include "dataset/image.hpp"

#include <cstring>

namespace plimsoll::dataset {
namespace {

using network::DataType;

constexpr float kWhite = 255;

/// What an example's values become on their way: v × scale + shift.
struct Line {
  float scale = 1, shift = 0;
};

/// Where an image is cut and whether it is turned.
struct Cut {
  std::int64_t down = 0, right = 0;  ///< of the image's corner, may be below 0
  bool flip = false;
};

Cut draw(const job::Augmentation& augmentation, Random* random) {
  Cut cut;
  if (random == nullptr) return cut;
  if (augmentation.crop > 0) {
    const auto places = static_cast<std::uint64_t>(2 * augmentation.crop + 1);
    cut.down = static_cast<std::int64_t>(random->below(places)) - augmentation.crop;
    cut.right = static_cast<std::int64_t>(random->below(places)) - augmentation.crop;
  }
  cut.flip = augmentation.flip && random->below(2) == 1;
  return cut;
}

/// Rows of numbers may begin anywhere in the file.
float value_at(const Rows& inputs, std::span<const std::byte> row, std::size_t i) {
  if (inputs.type == DataType::uint8) return static_cast<float>(std::to_integer<std::uint8_t>(row[i]));
  float value = 0;
  std::memcpy(&value, row.data() + i * sizeof value, sizeof value);
  return value;
}

void fill_line(std::span<float> out, const Rows& inputs, std::span<const std::byte> row, std::size_t first,
               Line line) {
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = value_at(inputs, row, first + i) * line.scale + line.shift;
}

}  // namespace

Status check_augmentation(const Rows& inputs, const job::Augmentation& augmentation) {
  const bool normalised = !augmentation.mean.empty() || !augmentation.deviation.empty();
  if (augmentation.crop == 0 && !augmentation.flip && !normalised) return {};
  if (inputs.dims.size() != 3 || inputs.type == DataType::int64)
    return fail("examples of {} are no images: they cannot be cut, turned or normalised",
                shape_text(inputs.dims));
  const auto channels = static_cast<std::size_t>(inputs.dims[0]);
  if (normalised && (augmentation.mean.size() != channels || augmentation.deviation.size() != channels))
    return fail("images of {} channels need as many means and deviations; {} and {} are given", channels,
                augmentation.mean.size(), augmentation.deviation.size());
  for (const double deviation : augmentation.deviation)
    if (deviation <= 0) return fail("a deviation of {} is not above 0", deviation);
  if (augmentation.crop >= inputs.dims[1] || augmentation.crop >= inputs.dims[2])
    return fail("{} pixels around images of {} leave nothing of some", augmentation.crop,
                shape_text(inputs.dims));
  return {};
}

void fill(std::span<float> out, const Rows& inputs, std::int64_t example,
          const job::Augmentation& augmentation, Random* random) {
  const std::span<const std::byte> row = inputs.row(example);
  const float unit = inputs.type == DataType::uint8 ? kWhite : 1;
  if (inputs.dims.size() != 3) return fill_line(out, inputs, row, 0, {1 / unit, 0});
  const Cut cut = draw(augmentation, random);
  const std::int64_t channels = inputs.dims[0], height = inputs.dims[1], width = inputs.dims[2];
  std::size_t at = 0;
  for (std::int64_t c = 0; c < channels; ++c) {
    Line line{1 / unit, 0};
    if (!augmentation.mean.empty()) {
      const auto channel = static_cast<std::size_t>(c);
      const double deviation = augmentation.deviation[channel];
      line.scale = static_cast<float>(1 / (static_cast<double>(unit) * deviation));
      line.shift = static_cast<float>(-augmentation.mean[channel] / deviation);
    }
    for (std::int64_t y = 0; y < height; ++y) {
      const std::int64_t from_y = y + cut.down;
      const bool outside = from_y < 0 || from_y >= height;
      if (!outside && cut.right == 0 && !cut.flip) {
        const auto first = static_cast<std::size_t>((c * height + from_y) * width);
        fill_line(out.subspan(at, static_cast<std::size_t>(width)), inputs, row, first, line);
        at += static_cast<std::size_t>(width);
        continue;
      }
      for (std::int64_t x = 0; x < width; ++x, ++at) {
        // The zeros around the image are black before it is normalised, as torchvision's RandomCrop has them.
        const std::int64_t from_x = (cut.flip ? width - 1 - x : x) + cut.right;
        const bool black = outside || from_x < 0 || from_x >= width;
        const auto from = static_cast<std::size_t>((c * height + from_y) * width + from_x);
        out[at] = (black ? 0 : value_at(inputs, row, from)) * line.scale + line.shift;
      }
    }
  }
}

}  // namespace plimsoll::dataset
