#pragma once
#include <cstdint>
#include <optional>

#include "base/units.hpp"

/// Images that arrive in cycles and wait: for the device, and for the link that takes them home.
namespace plimsoll::plan {

struct Imaging {
  std::optional<Seconds> period = {};  ///< of a cycle: an orbit, a day
  std::optional<double> images = {};   ///< in a cycle
  std::int64_t width = 0, height = 0;  ///< of an image, pixels; 0 where nobody said
  std::int64_t patch_width = 0, patch_height = 0;
  double bits_per_pixel = 24;
  std::optional<double> relevant = {};         ///< share of the patches that is worth sending
  std::optional<double> bits_per_second = {};  ///< of the downlink

  /// Whole patches that an image is cut into; what is left at its edges is not looked at. 1 without patches.
  [[nodiscard]] std::int64_t patches() const;
};

/// The time that each image may take: period over images. Absent where either is unknown.
[[nodiscard]] std::optional<Seconds> budget_per_image(const Imaging& imaging);

struct Transfer {
  Bytes size;                         ///< of a cycle
  std::optional<double> needed = {};  ///< bit/s so that a cycle's images are gone before the next begins
  std::optional<Seconds> time = {};   ///< over the link that there is
  std::optional<bool> keeps_up = {};  ///< that time is within the period
};
struct Storage {
  Bytes image;
  std::optional<Bytes> cycle = {};  ///< to keep all images of a cycle
  std::optional<Transfer> all = {};
  std::optional<Transfer> relevant = {};  ///< only the patches worth sending
};
/// Absent where the size of an image is unknown.
[[nodiscard]] std::optional<Storage> storage(const Imaging& imaging);

}  // namespace plimsoll::plan
