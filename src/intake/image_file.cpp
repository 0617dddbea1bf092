#include "intake/image_file.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "intake/picture_forms.hpp"

namespace plimsoll::intake {
namespace {

constexpr std::array kPng = {std::byte{0x89}, std::byte{'P'}, std::byte{'N'}, std::byte{'G'}};
constexpr std::array kJpeg = {std::byte{0xff}, std::byte{0xd8}};

/// One number of the result as a weighted sum of numbers of the source.
struct Window {
  std::int64_t first = 0;
  std::vector<double> weights = {};
};

/// Of a line of `size` numbers, scaled by `scale`, those that begin at `from` of the scaled line.
std::vector<Window> windows(std::int64_t size, double scale, double from, std::int64_t count) {
  const double reach = std::max(1.0, 1 / scale);  // of the triangle, in numbers of the source
  std::vector<Window> out;
  for (std::int64_t i = 0; i < count; ++i) {
    const double middle = (from + static_cast<double>(i) + 0.5) / scale;
    const auto first = std::max<std::int64_t>(0, static_cast<std::int64_t>(std::floor(middle - reach + 0.5)));
    const auto last = std::min(size, static_cast<std::int64_t>(std::floor(middle + reach + 0.5)));
    Window window{.first = std::min(first, size - 1)};
    double sum = 0;
    for (std::int64_t s = window.first; s < std::max(last, window.first + 1); ++s) {
      const double weight = std::max(0.0, 1 - std::abs((static_cast<double>(s) + 0.5 - middle) / reach));
      window.weights.push_back(weight);
      sum += weight;
    }
    if (sum <= 0) window.weights.front() = sum = 1;
    for (double& weight : window.weights) weight /= sum;
    out.push_back(std::move(window));
  }
  return out;
}

std::uint8_t rounded(double value) {
  return static_cast<std::uint8_t>(std::clamp(std::lround(value), 0L, 255L));
}

}  // namespace

Result<Picture> read_picture(std::span<const std::byte> file) {
  const bool png = file.size() > kPng.size() && std::ranges::equal(file.first(kPng.size()), kPng);
  const bool jpeg = file.size() > kJpeg.size() && std::ranges::equal(file.first(kJpeg.size()), kJpeg);
#ifdef PLIMSOLL_IMAGES
  if (png) return read_png(file);
  if (jpeg) return read_jpeg(file);
#else
  if (png || jpeg)
    return std::unexpected(
        Error{.message = "this program was built to be carried about, without PNG and JPEG",
              .hint = "Prepare the data with one that was built here (docs/building.md).",
              .kind = Error::Kind::machine_lacks});
#endif
  return fail("is neither a PNG nor a JPEG file");
}

bool names_picture(std::string_view name) {
  std::string lower(name);
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return lower.ends_with(".png") || lower.ends_with(".jpg") || lower.ends_with(".jpeg");
}

Picture with_channels(Picture picture, std::int64_t channels) {
  if (picture.channels == channels) return picture;
  const auto pixels = static_cast<std::size_t>(picture.height * picture.width);
  std::vector<std::uint8_t> values;
  if (channels == 3) {
    for (int c = 0; c < 3; ++c) values.insert(values.end(), picture.values.begin(), picture.values.end());
  } else {
    values.resize(pixels);
    for (std::size_t p = 0; p < pixels; ++p)
      values[p] = rounded(0.299 * picture.values[p] + 0.587 * picture.values[pixels + p] +
                          0.114 * picture.values[2 * pixels + p]);
  }
  return {
      .channels = channels, .height = picture.height, .width = picture.width, .values = std::move(values)};
}

Picture with_size(const Picture& picture, std::int64_t height, std::int64_t width) {
  if (picture.height == height && picture.width == width) return picture;
  const double scale = std::max(static_cast<double>(height) / static_cast<double>(picture.height),
                                static_cast<double>(width) / static_cast<double>(picture.width));
  const auto beside = [scale](std::int64_t side, std::int64_t wanted) {
    return (static_cast<double>(side) * scale - static_cast<double>(wanted)) / 2;
  };
  const auto columns = windows(picture.width, scale, beside(picture.width, width), width);
  const auto lines = windows(picture.height, scale, beside(picture.height, height), height);
  Picture out{.channels = picture.channels, .height = height, .width = width};
  out.values.resize(static_cast<std::size_t>(out.channels * height * width));
  // Across first; of the lines only those that are needed.
  std::vector<double> across(static_cast<std::size_t>(picture.height * width));
  const auto cell = [](std::int64_t row, std::int64_t of, std::int64_t column) {
    return static_cast<std::size_t>(row * of + column);
  };
  for (std::int64_t c = 0; c < picture.channels; ++c) {
    const std::uint8_t* const from = picture.values.data() + c * picture.height * picture.width;
    for (std::int64_t y = lines.front().first; y < lines.back().first + std::ssize(lines.back().weights); ++y)
      for (std::int64_t x = 0; x < width; ++x) {
        const Window& window = columns[static_cast<std::size_t>(x)];
        double sum = 0;
        for (std::size_t k = 0; k < window.weights.size(); ++k)
          sum += window.weights[k] * from[cell(y, picture.width, window.first) + k];
        across[cell(y, width, x)] = sum;
      }
    std::uint8_t* const to = out.values.data() + c * height * width;
    for (std::int64_t y = 0; y < height; ++y) {
      const Window& window = lines[static_cast<std::size_t>(y)];
      for (std::int64_t x = 0; x < width; ++x) {
        double sum = 0;
        for (std::size_t k = 0; k < window.weights.size(); ++k)
          sum += window.weights[k] * across[cell(window.first + static_cast<std::int64_t>(k), width, x)];
        to[cell(y, width, x)] = rounded(sum);
      }
    }
  }
  return out;
}

Picture as_asked(Picture picture, const ImageRequest& request) {
  if (request.channels) picture = with_channels(std::move(picture), *request.channels);
  if (request.height && request.width) picture = with_size(picture, *request.height, *request.width);
  return picture;
}

}  // namespace plimsoll::intake
