#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/units.hpp"
#include "store/store.hpp"

namespace plimsoll::running {

/// A run's own figures over its whole length, one point each, from the outlines of what was sampled:
/// "summary/seconds", "summary/gpu_energy"… What was not sampled, or cannot be read any more, is absent; an
/// error says that the store may answer later. Over the span between the first and the last metric of the
/// command, start-up left out: "summary/sm_activity_working", "summary/steps_per_second".
[[nodiscard]] Result<std::vector<store::Batch>> summarise(store::Store& store, const store::Run& run,
                                                          store::Time end);

/// How a command did when it last ran alone on such a device, and to its end.
struct SoloProfile {
  std::string run;
  double sm_activity = 0;  ///< mean while it worked
  std::optional<double> steps_per_second = {};
};
[[nodiscard]] std::optional<SoloProfile> solo_profile(store::Store& store, std::string_view fingerprint,
                                                      std::string_view device_name);

/// The most GPU memory that the command took in its last run that was not cut short; nothing where there is
/// none.
[[nodiscard]] std::optional<Bytes> last_gpu_memory(store::Store& store, std::string_view fingerprint);

}  // namespace plimsoll::running
