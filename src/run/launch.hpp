#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "nvml/library.hpp"
#include "run/devices.hpp"
#include "run/job.hpp"
#include "run/mps.hpp"
#include "run/session.hpp"

namespace plimsoll::running {

/// A job with all that is decided before it starts.
struct Launch {
  std::size_t job = 0;
  std::vector<ChosenDevice> devices = {};
  std::optional<Need> need = {};
  Variables variables = {};                      ///< device choice, MPS
  std::map<std::string, std::string> tags = {};  ///< requested and effective settings
  std::string mode = "alone";                    ///< alone, naive, mps
  bool retry = false;
};

/// The job's need of GPU memory: as given, as estimated, or as its own last run took; nothing where all are
/// silent.
[[nodiscard]] std::optional<Need> need_of(const JobSpec& job, store::Store& store,
                                          const SessionOptions& options);

/// The limits of an MPS client, proven: what CUDA gives a process with these very variables.
void prove_limits(Launch& launch, const JobSpec& job, const MpsDaemon& daemon, const SessionOptions& options,
                  std::map<std::string, Result<std::string>>& known);

/// Opens the run's record.
[[nodiscard]] Result<std::string> create_record(const JobSpec& job, const Launch& launch, store::Store& store,
                                                const SessionOptions& options, const nvml::Library* nvml);

}  // namespace plimsoll::running
