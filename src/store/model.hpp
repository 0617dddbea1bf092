#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "store/experiment.hpp"
#include "store/run.hpp"

namespace plimsoll::store {

/// As MLflow 3 has them; in its protocol READY is LOGGED_MODEL_READY and FAILED LOGGED_MODEL_UPLOAD_FAILED.
enum class ModelStatus { unspecified, pending, ready, failed };
[[nodiscard]] std::string_view name(ModelStatus status);  ///< "READY"
[[nodiscard]] std::optional<ModelStatus> model_status_named(std::string_view name);
/// By the number that MLflow's own stores keep; unspecified for one that they do not know.
[[nodiscard]] ModelStatus model_status_numbered(std::int64_t number);

/// The latest point of a run's metric that was logged for a model.
struct ModelMetric {
  std::string run;
  std::string metric;
  Point latest = {};
  std::string dataset_name = {};
  std::string dataset_digest = {};
  friend bool operator==(const ModelMetric&, const ModelMetric&) = default;
};

/// A model that a run has logged, in MLflow's sense; its files are artifacts.
struct LoggedModel {
  std::string id;  ///< "m-" and 32 hexadecimal digits
  std::int64_t experiment_id = 0;
  std::string name = {};
  std::string artifact_uri = {};
  Time created = 0;
  Time changed = 0;
  ModelStatus status = ModelStatus::pending;
  std::string type = {};
  std::string source_run = {};
  bool deleted = false;
  std::map<std::string, std::string> tags = {};
  std::map<std::string, std::string> params = {};
  std::vector<ModelMetric> metrics = {};
  friend bool operator==(const LoggedModel&, const LoggedModel&) = default;
};

struct NewModel {
  std::int64_t experiment_id = 0;
  std::string name = {};
  std::string artifact_uri = {};
  std::string type = {};
  std::string source_run = {};
  std::map<std::string, std::string> tags = {};
  std::map<std::string, std::string> params = {};
  ModelStatus status = ModelStatus::pending;
  std::optional<std::string> id = {};  ///< given by who copies from elsewhere
  std::optional<Time> created = {};    ///< nothing: now
};

struct ModelChange {
  std::optional<ModelStatus> status = {};
  std::optional<std::string> artifact_uri = {};
  std::map<std::string, std::string> tags = {};    ///< set or replaced
  std::vector<std::string> tags_removed = {};      ///< each must be there
  std::map<std::string, std::string> params = {};  ///< added
  std::optional<bool> deleted = {};
};

struct ModelSearch {
  std::vector<std::int64_t> experiment_ids = {};  ///< empty: all
  /// In MLflow's language: name, model_id, model_type, status, source_run_id, creation_timestamp,
  /// last_updated_timestamp, metrics.NAME, params.NAME, tags.NAME.
  std::string filter = {};
  std::vector<std::string> order_by = {};  ///< then the newest first
  View view = View::active;
  std::size_t limit = 1000;
  std::size_t offset = 0;
};

}  // namespace plimsoll::store
