#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "store/run.hpp"

namespace plimsoll::store {

/// What runs belong to. Number 0 is "Default" and always there.
struct Experiment {
  std::int64_t id = 0;
  std::string name;
  /// Where artifacts of its runs go, as a URI; empty: nobody said, and the store's own place is meant.
  std::string artifact_location = {};
  bool deleted = false;
  Time created = 0;
  Time changed = 0;
  std::map<std::string, std::string> tags = {};
  friend bool operator==(const Experiment&, const Experiment&) = default;
};

struct NewExperiment {
  std::string name;
  std::string artifact_location = {};
  std::map<std::string, std::string> tags = {};
  std::optional<std::int64_t> id = {};  ///< given by who copies from elsewhere
  std::optional<Time> created = {};     ///< nothing: now
};

struct ExperimentChange {
  std::optional<std::string> name = {};
  std::map<std::string, std::string> tags = {};  ///< set or replaced
  std::vector<std::string> tags_removed = {};    ///< each must be there
  /// Deleting marks its runs too, and restoring brings all of them back, as MLflow does.
  std::optional<bool> deleted = {};
  std::optional<std::string> artifact_location = {};
};

/// Which of the things that can be marked as deleted.
enum class View { active, deleted, all };

struct ExperimentSearch {
  /// In MLflow's language: name, creation_time, last_update_time, tags.NAME; empty: all.
  std::string filter = {};
  std::vector<std::string> order_by = {};  ///< "name ASC"; then the newest first
  View view = View::active;
  std::size_t limit = 1000;
  std::size_t offset = 0;
};

}  // namespace plimsoll::store
