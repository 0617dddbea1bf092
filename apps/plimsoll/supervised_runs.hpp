#pragma once
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"

namespace plimsoll {

/// A run that goes on on this machine.
struct SupervisedRun {
  std::string id;
  std::filesystem::path socket;  ///< of its supervisor; empty: unwatched
};

/// Those of this user that are started and not yet ended, as far as their supervisors' directories tell.
[[nodiscard]] Result<std::vector<SupervisedRun>> supervised_runs();

/// The one that a person named by its id or the beginning of it; without a name, the only one.
[[nodiscard]] Result<SupervisedRun> supervised_run(std::string_view name);

}  // namespace plimsoll
