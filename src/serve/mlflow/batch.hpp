#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "serve/mlflow/fault.hpp"
#include "serve/mlflow/message.hpp"
#include "store/store.hpp"

namespace plimsoll::serve::mlflow {

/// One value of a metric as a client sends it; nothing but the types has been checked.
struct LoggedMetric {
  std::string key;
  double value = 0;
  std::int64_t timestamp = 0;  ///< ms
  std::int64_t step = 0;
  std::string model = {}, dataset_name = {}, dataset_digest = {};
  friend bool operator==(const LoggedMetric&, const LoggedMetric&) = default;
};

/// The message of log-batch.
struct LoggedBatch {
  using Pair = std::pair<std::string, std::string>;
  std::string run;
  std::vector<LoggedMetric> metrics = {};
  std::vector<Pair> params = {}, tags = {};
  friend bool operator==(const LoggedBatch&, const LoggedBatch&) = default;
};

/// Reads any message that MLflow takes, and says what is wrong with the others.
[[nodiscard]] Outcome<LoggedBatch> read_batch(std::string_view json);
/// The same several times as fast, for what MLflow's client sends; nothing where the message has a form of
/// its own, be it right or wrong.
[[nodiscard]] std::optional<LoggedBatch> read_plain_batch(std::string_view json);

/// The fields of a metric, alone or in a list.
[[nodiscard]] LoggedMetric metric_of(const Message& message);

/// What goes to the store, once MLflow's limits are kept: the points of each metric together, in the order in
/// which they came. `path` is how an error calls the metrics: "metrics", or nothing for a single one.
[[nodiscard]] Outcome<std::vector<store::Batch>> batches_of(std::string_view run,
                                                            const std::vector<LoggedMetric>& metrics,
                                                            std::string_view path);
[[nodiscard]] Outcome<store::Change> change_of(const LoggedBatch& batch);
[[nodiscard]] Outcome<void> check_limits(const LoggedBatch& batch);

}  // namespace plimsoll::serve::mlflow
