#pragma once
#include <vector>

#include "run/control.hpp"
#include "run/runtime_directory.hpp"
#include "run/services.hpp"
#include "run/session.hpp"
#include "run/signals.hpp"

namespace plimsoll::running {

/// Runs the jobs of one workload together, to the end of the last, and records them; one that ran out of GPU
/// memory once more, alone, where that is asked for. One loop carries output, signals, limits and metrics,
/// and waits for nothing else. Fails only where nothing could be begun; how the jobs ended is the result.
/// Makes this process the reaper of what its commands leave behind.
[[nodiscard]] Result<SessionResult> supervise(const std::vector<JobSpec>& jobs, const SessionOptions& options,
                                              const Listener& listener, Control& control,
                                              SignalSource& signals, const RuntimeDirectory& directory,
                                              const Services& services = {});

}  // namespace plimsoll::running
