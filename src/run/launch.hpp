#pragma once
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "run/devices.hpp"
#include "run/job.hpp"
#include "run/provenance.hpp"
#include "run/session.hpp"
#include "run/summary.hpp"

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

/// What `plimsoll estimate` says that the job takes on the device. Starts a program, and waits for it.
[[nodiscard]] Result<Bytes> estimated_need(const JobSpec& job, const std::string& program);

/// A run that is in the store, and what the store knows about such runs.
struct Record {
  std::string id;
  std::filesystem::path artifacts;
  std::optional<SoloProfile> alone = {};  ///< where it runs beside others
};

/// Opens the run's record. `driver`: of the GPUs, or empty.
[[nodiscard]] Result<Record> create_record(const JobSpec& job, const Launch& launch, store::Store& store,
                                           const SessionOptions& options, const std::string& driver);

/// Adds to a record what was found out since: tags, and files among its artifacts.
[[nodiscard]] Status add_to_record(const Record& record, const Provenance& found, store::Store& store);

}  // namespace plimsoll::running
