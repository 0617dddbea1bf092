#pragma once
#include <cstddef>
#include <vector>

#include "swapping/decide.hpp"
#include "swapping/link.hpp"
#include "swapping/requests.hpp"

namespace plimsoll::swapping {

/// When link and device are free, and what each chunk waits for.
struct Clock {
  Seconds link_free, device_free;
  std::vector<Seconds> ready;   ///< all copies of the chunk are there
  std::vector<Seconds> in_use;  ///< until when a layer needs it
  explicit Clock(const Packed& packed) : ready(packed.chunks.size()), in_use(packed.chunks.size()) {}
};

/// A copy on the link's clock.
struct Copied {
  Seconds begin, end;
};
/// A model that ran for a frame.
struct ModelRun {
  std::size_t request = 0, model = 0;
  Decision decision = {};
  std::vector<Copied> copies = {};              ///< as the decision's loads
  std::vector<Seconds> begins = {}, ends = {};  ///< of its layers
  Seconds waited = {};                          ///< for weights, once it could have begun or gone on
  [[nodiscard]] Seconds finish() const { return ends.empty() ? Seconds() : ends.back(); }
};

/// Sets the times of the copies and layers of a run that is decided on at `known`: copies go one after the
/// other; a layer computes as soon as its weights are there and the one before it has. The clock is as it is
/// afterwards.
void forecast(const Packed& packed, const HostLink& link, const Request& request, Seconds known,
              ModelRun& run, Clock& clock);

}  // namespace plimsoll::swapping
