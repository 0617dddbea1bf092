#pragma once
#include <cstddef>

#include "base/error.hpp"
#include "diagnose/recording.hpp"
#include "store/store.hpp"

namespace plimsoll::diagnose {

/// What one run may take of memory while it is read.
struct ReadLimits {
  std::size_t samples = 2'000'000;  ///< of all its series together, about 60 bytes each; more are joined
  std::size_t own_metrics = 200;    ///< of the command; the rest are counted and left out
};

/// A run with its histories and the last lines of its output. One history at a time is in memory as it was
/// stored.
[[nodiscard]] Result<Recording> read_recording(store::Store& store, store::Run run, const ReadLimits& limits);

/// Sets how many points the command's own metrics have, without those that were sent twice, which the store
/// counts until it joins them. What cannot be read, or is very long, keeps the store's count.
void count_points(store::Store& store, store::Run& run);

}  // namespace plimsoll::diagnose
