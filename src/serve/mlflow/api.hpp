#pragma once
#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

#include "serve/http/request.hpp"
#include "serve/http/response.hpp"
#include "serve/metric_writer.hpp"
#include "serve/mlflow/fault.hpp"
#include "serve/mlflow/run_texts.hpp"
#include "store/store.hpp"
#include "store/timestamp.hpp"

namespace plimsoll::serve::mlflow {

/// A request with what the route's braces took from its path.
struct Call {
  Request request;
  Pairs parameters = {};

  [[nodiscard]] std::string parameter(std::string_view name) const {
    const std::string* value = parameters.find(name);
    return value == nullptr ? std::string() : *value;
  }
};

/// What the handlers of MLflow's API work with. Several threads use it.
class Api {
 public:
  /// Both outlive it.
  Api(store::Store& store, MetricWriter& writer) : store_(store), writer_(writer) {}

  [[nodiscard]] store::Store& store() { return store_; }
  [[nodiscard]] MetricWriter& writer() { return writer_; }

  /// The run with exactly that id: a beginning of it, which the store would take, is not enough.
  [[nodiscard]] Outcome<store::Run> run(const std::string& id);
  /// Whether the run of that id is there and not deleted. What is known is believed for some seconds, so that
  /// a single metric costs no search; forget() where this server changes it.
  [[nodiscard]] Outcome<void> check_active(const std::string& id);
  void forget(const std::string& run);
  void forget_all();

  /// An experiment's number in text: "7".
  [[nodiscard]] Outcome<store::Experiment> experiment(std::string_view id);
  /// Where the artifacts of an experiment go: what it says, else this server's proxy. Never changes.
  [[nodiscard]] Outcome<std::string> artifact_location(std::int64_t experiment);

  /// Runs that a search has found before.
  [[nodiscard]] RunTexts& run_texts() { return run_texts_; }

  /// Held by who reads a tag and writes it back.
  [[nodiscard]] std::mutex& tag_edit() { return tag_edit_; }

 private:
  using Clock = std::chrono::steady_clock;

  store::Store& store_;
  MetricWriter& writer_;
  std::mutex mutex_;
  std::unordered_map<std::string, Clock::time_point> active_;  // and until when that is believed
  std::map<std::int64_t, std::string> locations_;
  RunTexts run_texts_{std::size_t{32} << 20};
  std::mutex tag_edit_;
};

/// "7" as 7, in MLflow's words where it is none.
[[nodiscard]] Outcome<std::int64_t> experiment_number(std::string_view id);

/// The location of an experiment that says nothing of its own: "mlflow-artifacts:/7".
[[nodiscard]] std::string artifact_location(const store::Experiment& experiment);

using store::milliseconds;
/// Of a metric: refuses what is negative or does not fit.
[[nodiscard]] Outcome<store::Time> time_of(std::int64_t milliseconds, std::string_view field);
/// Of a run's start or end: MLflow takes times before 1970 here.
[[nodiscard]] Outcome<store::Time> moment_of(std::int64_t milliseconds, std::string_view field);

[[nodiscard]] inline Response json_response(std::string body) {
  Response response;
  response.body = std::move(body);
  return response;
}
[[nodiscard]] inline Response empty_response() {
  return json_response("{}");
}

}  // namespace plimsoll::serve::mlflow
