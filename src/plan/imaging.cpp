#include "plan/imaging.hpp"

#include <algorithm>

namespace plimsoll::plan {
namespace {

Transfer transfer(Bytes size, const Imaging& imaging) {
  const double bits = 8 * static_cast<double>(size.count());
  Transfer out{.size = size};
  if (imaging.period) out.needed = bits / imaging.period->value();
  if (imaging.bits_per_second) out.time = Seconds(bits / *imaging.bits_per_second);
  if (out.time && imaging.period) out.keeps_up = *out.time <= *imaging.period;
  return out;
}

Bytes pixels(std::int64_t width, std::int64_t height, double bits) {
  return Bytes::rounded(static_cast<double>(width) * static_cast<double>(height) * bits / 8);
}

}  // namespace

std::int64_t Imaging::patches() const {
  if (patch_width <= 0 || patch_height <= 0 || width <= 0 || height <= 0) return 1;
  return (width / patch_width) * (height / patch_height);
}

std::optional<Seconds> budget_per_image(const Imaging& imaging) {
  if (!imaging.period || !imaging.images) return std::nullopt;
  return *imaging.period / *imaging.images;
}

std::optional<Storage> storage(const Imaging& imaging) {
  if (imaging.width <= 0 || imaging.height <= 0) return std::nullopt;
  Storage out{.image = pixels(imaging.width, imaging.height, imaging.bits_per_pixel)};
  if (!imaging.images) return out;
  const auto of_cycle = [&](Bytes one) {
    return Bytes::rounded(static_cast<double>(one.count()) * *imaging.images);
  };
  out.cycle = of_cycle(out.image);
  out.all = transfer(*out.cycle, imaging);
  if (imaging.relevant && imaging.patch_width > 0) {
    const Bytes patch = pixels(imaging.patch_width, imaging.patch_height, imaging.bits_per_pixel);
    const double patches = static_cast<double>(imaging.patches()) * *imaging.relevant;
    out.relevant = transfer(of_cycle(Bytes::rounded(static_cast<double>(patch.count()) * patches)), imaging);
  }
  return out;
}

}  // namespace plimsoll::plan
