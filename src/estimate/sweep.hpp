#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/units.hpp"
#include "estimate/memory/memory.hpp"
#include "estimate/time/time.hpp"

namespace plimsoll::estimate {

/// One batch on one device.
struct SweepPoint {
  std::int64_t batch = 1;
  Bytes peak_allocated;
  Bytes device_used;         ///< with what the allocator reserves, and the context
  std::optional<bool> fits;  ///< absent where the device's memory is not known
  std::optional<TimeEstimate>
      time;                  ///< without its layers; of a batch that does not fit, too: had it the room
  std::string no_time = {};  ///< why there is none

  [[nodiscard]] std::optional<double> samples_per_second() const;
};

/// A device with its points, by batch.
struct SweptDevice {
  std::vector<SweepPoint> points;
  std::string no_time;  ///< why the first has none

  /// Where it goes fastest, of the batches that may fit; the smallest of equals. Null where no time is known.
  [[nodiscard]] const SweepPoint* best() const;
  /// The smallest batch that reaches kKneeShare of the best throughput: from here on time grows about as the
  /// batch does, and a larger one gains little.
  [[nodiscard]] const SweepPoint* knee() const;
  /// The last point up to which all fit; null where the first does not, or memory is not known.
  [[nodiscard]] const SweepPoint* last_that_fits() const;
  /// The first that does not fit; null where all do, or memory is not known.
  [[nodiscard]] const SweepPoint* first_too_large() const;
};
inline constexpr double kKneeShare = 0.9;

/// Memory and time of every batch on every device, in the order of `targets`. Each batch is lowered once for
/// all devices on which the same program runs; batches are divided among `threads`, so that `shapes` is
/// called from several at once. Fails as the smallest batch does that fails.
[[nodiscard]] Result<std::vector<SweptDevice>> sweep(const network::Network& network,
                                                     const ShapesForBatch& shapes,
                                                     std::span<const std::int64_t> batches,
                                                     const network::Setting& setting,
                                                     std::span<const Target> targets, unsigned threads);

}  // namespace plimsoll::estimate
