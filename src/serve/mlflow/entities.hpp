#pragma once
#include <string_view>

#include "serve/mlflow/json_writer.hpp"
#include "store/store.hpp"

namespace plimsoll::serve::mlflow {

/// The store's values as MLflow's messages.
void write(JsonWriter& out, const store::Experiment& experiment);
/// `location`: of its experiment's artifacts.
void write_info(JsonWriter& out, const store::Run& run, std::string_view location);
void write(JsonWriter& out, const store::Run& run, std::string_view location);
void write_metric(JsonWriter& out, std::string_view key, const store::Point& point);
void write(JsonWriter& out, const store::LoggedModel& model);
void write(JsonWriter& out, const store::ModelVersion& version);
void write(JsonWriter& out, const store::RegisteredModel& model);
/// [{"key": …, "value": …}]
void write_pairs(JsonWriter& out, std::string_view name, const std::map<std::string, std::string>& pairs);

}  // namespace plimsoll::serve::mlflow
