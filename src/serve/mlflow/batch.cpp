#include "serve/mlflow/batch.hpp"

#include <map>
#include <tuple>

#include "base/utf8.hpp"
#include "serve/mlflow/api.hpp"
#include "serve/mlflow/validation.hpp"

namespace plimsoll::serve::mlflow {
namespace {

constexpr Field kMetric[] = {
    {"key", Type::text, true},
    {"value", Type::number, true},
    {"timestamp", Type::integer, true},
    {"step", Type::integer},
    {"model_id"},
    {"dataset_name"},
    {"dataset_digest"},
};

/// "metrics[3].name", or "name" of a single one.
std::string path_of(std::string_view list, std::size_t place, std::string_view field) {
  return list.empty() ? std::string(field) : fmt::format("{}[{}].{}", list, place, field);
}

Outcome<std::vector<LoggedBatch::Pair>> pairs_of(const Message& message, std::string_view name) {
  static constexpr Field kPair[] = {{"key", Type::text, true}, {"value"}};
  PLIMSOLL_TAKE(entries, message.list(name, kPair));
  std::vector<LoggedBatch::Pair> out;
  out.reserve(entries.size());
  for (const Message& entry : entries) out.emplace_back(entry.text("key"), entry.text("value"));
  return out;
}

/// A metric's name is looked at once, not once a point.
Outcome<store::Batch> begin(std::string_view run, const LoggedMetric& metric, std::string_view list,
                            std::size_t place) {
  PLIMSOLL_TRY(check_key(metric.key, path_of(list, place, "name")));
  PLIMSOLL_TRY(check_length(metric.key, limits::kLongestKey, "Metric name"));
  PLIMSOLL_TRY(check_length(metric.dataset_name, limits::kLongestDatasetName, "dataset_name"));
  PLIMSOLL_TRY(check_length(metric.dataset_digest, limits::kLongestDatasetDigest, "dataset_digest"));
  return store::Batch{.run = std::string(run),
                      .metric = metric.key,
                      .model = metric.model,
                      .dataset_name = metric.dataset_name,
                      .dataset_digest = metric.dataset_digest};
}

Outcome<void> check_params_unique(const std::vector<LoggedBatch::Pair>& params) {
  std::map<std::string_view, int> seen;
  std::string twice;
  for (const auto& [key, value] : params)
    if (++seen[key] > 1) twice += fmt::format("{}'{}'", twice.empty() ? "" : ", ", key);
  if (twice.empty()) return {};
  return invalid(
      "Duplicate parameter keys have been submitted: [{}]. Please ensure the request contains only one param "
      "value "
      "per param key.",
      twice);
}

}  // namespace

LoggedMetric metric_of(const Message& message) {
  return {.key = message.text("key"),
          .value = message.number("value").value_or(0),
          .timestamp = message.integer("timestamp").value_or(0),
          .step = message.integer("step").value_or(0),
          .model = message.text("model_id"),
          .dataset_name = message.text("dataset_name"),
          .dataset_digest = message.text("dataset_digest")};
}

Outcome<LoggedBatch> read_batch(std::string_view json) {
  static constexpr Field kFields[] = {
      {"run_id", Type::text, true}, {"metrics", Type::list}, {"params", Type::list}, {"tags", Type::list}};
  PLIMSOLL_TAKE(document, Document::parse(json, kFields));
  const Message message = document.message();
  LoggedBatch out{.run = message.text("run_id")};
  PLIMSOLL_TAKE(entries, message.list("metrics", kMetric));
  out.metrics.reserve(entries.size());
  for (const Message& entry : entries) out.metrics.push_back(metric_of(entry));
  PLIMSOLL_TAKE(params, pairs_of(message, "params"));
  out.params = std::move(params);
  PLIMSOLL_TAKE(tags, pairs_of(message, "tags"));
  out.tags = std::move(tags);
  return out;
}

Outcome<std::vector<store::Batch>> batches_of(std::string_view run, const std::vector<LoggedMetric>& metrics,
                                              std::string_view path) {
  using Target = std::tuple<std::string_view, std::string_view, std::string_view, std::string_view>;
  std::vector<store::Batch> out;
  std::map<Target, std::size_t> places;
  for (std::size_t i = 0; i < metrics.size(); ++i) {
    const LoggedMetric& metric = metrics[i];
    const Outcome<store::Time> time = time_of(metric.timestamp, {});
    if (!time) return std::unexpected(time_of(metric.timestamp, path_of(path, i, "timestamp")).error());
    const auto [place, fresh] = places.try_emplace(
        {metric.key, metric.model, metric.dataset_name, metric.dataset_digest}, out.size());
    if (fresh) {
      PLIMSOLL_TAKE(batch, begin(run, metric, path, i));
      out.push_back(std::move(batch));
    }
    out[place->second].points.push_back({.time = *time, .step = metric.step, .value = metric.value});
  }
  return out;
}

Outcome<store::Change> change_of(const LoggedBatch& batch) {
  store::Change change;
  for (std::size_t i = 0; i < batch.params.size(); ++i) {
    const auto& [key, whole] = batch.params[i];
    const std::string_view value = first_characters(whole, limits::kLongestParam);  // as MLflow's server does
    PLIMSOLL_TRY(check_param(key, value, fmt::format("params[{}]", i)));
    change.params.insert_or_assign(key, std::string(value));
  }
  for (std::size_t i = 0; i < batch.tags.size(); ++i) {
    const auto& [key, whole] = batch.tags[i];
    const std::string_view value = first_characters(whole, limits::kLongestTag);  // as MLflow's server does
    PLIMSOLL_TRY(check_tag(key, value, fmt::format("tags[{}]", i)));
    change.tags.insert_or_assign(key, std::string(value));
  }
  PLIMSOLL_TRY(check_params_unique(batch.params));
  if (const auto name = change.tags.find("mlflow.runName"); name != change.tags.end())
    change.name = name->second;
  return change;
}

Outcome<void> check_limits(const LoggedBatch& batch) {
  const std::size_t metrics = batch.metrics.size(), params = batch.params.size(), tags = batch.tags.size();
  PLIMSOLL_TRY(check_batch("metrics", limits::kMostBatchMetrics, metrics));
  PLIMSOLL_TRY(check_batch("params", limits::kMostBatchParams, params));
  PLIMSOLL_TRY(check_batch("tags", limits::kMostBatchTags, tags));
  return check_batch("metrics, params, and tags", limits::kMostBatchEntities, metrics + params + tags);
}

}  // namespace plimsoll::serve::mlflow
