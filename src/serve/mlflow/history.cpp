#include <algorithm>
#include <cmath>
#include <optional>
#include <tuple>
#include <utility>

#include "serve/mlflow/entities.hpp"
#include "serve/mlflow/handlers.hpp"
#include "serve/mlflow/message.hpp"

namespace plimsoll::serve::mlflow {
namespace {

constexpr std::size_t kMostBulkRuns = 100, kMostBulkPoints = 25'000;
constexpr std::int64_t kMostSampled = 2500;
/// Of one answer, some 8 MB of JSON; a longer history comes in pages, which MLflow's client follows.
constexpr std::size_t kMostAtOnce = 100'000;

void write_point(JsonWriter& out, std::string_view key, const store::Point& point, std::string_view run) {
  out.begin_object();
  write_metric(out, key, point);
  if (!run.empty()) out.member("run_id", run);
  out.end_object();
}

/// In MLflow's order: time, step, value.
Outcome<store::Page> page(Api& api, const std::string& run, const std::string& metric,
                          const std::string& token, std::size_t limit) {
  Result<store::Page> found = api.store().history_page(run, metric, token, limit);
  if (!found && !token.empty() && found.error().kind == Error::Kind::bad_input)
    return invalid("Invalid page token: {}", found.error().message);
  if (!found) return std::unexpected(fault_of(found.error()));
  return std::move(*found);
}

struct Interval {
  std::vector<std::string> runs;
  std::string metric;
  std::size_t most = kMostSampled;
  store::Steps steps = {};
};

Outcome<Interval> interval_of(const Message& message) {
  Interval out{.runs = message.texts("run_ids"), .metric = message.text("metric_key")};
  if (out.runs.size() > kMostBulkRuns)
    return invalid(
        "GetMetricHistoryBulkInterval request must specify at most {} run_ids. Received {} run_ids.",
        kMostBulkRuns, out.runs.size());
  const std::int64_t most = message.integer("max_results").value_or(kMostSampled);
  if (most < 1 || most > kMostSampled) return invalid("max_results must be between 1 and {}.", kMostSampled);
  out.most = static_cast<std::size_t>(most);
  const std::optional<std::int64_t> first = message.integer("start_step"), last = message.integer("end_step");
  if (first && last && *first > *last)
    return invalid("end_step must be greater than start_step. Found start_step={} and end_step={}.", *first,
                   *last);
  if (first.has_value() != last.has_value())
    return invalid("If either start step or end step are specified, both must be specified.");
  if (first) out.steps = {*first, *last};
  return out;
}

}  // namespace

Outcome<Response> get_history(Api& api, Call& call) {
  static constexpr Field kFields[] = {{"run_id", Type::text, true},
                                      {"metric_key", Type::text, true},
                                      {"page_token"},
                                      {"max_results", Type::integer}};
  PLIMSOLL_TAKE(document, Document::read(call.request, kFields));
  const Message message = document.message();
  const std::optional<std::int64_t> wanted = message.integer("max_results");
  if (wanted && *wanted <= 0)
    return invalid("Invalid value {} for parameter 'max_results' supplied. It must be a positive integer.",
                   *wanted);
  PLIMSOLL_TAKE(run, api.run(message.text("run_id")));
  const std::string metric = message.text("metric_key");
  const std::size_t limit =
      std::min<std::size_t>(wanted ? static_cast<std::size_t>(*wanted) : kMostAtOnce, kMostAtOnce);
  PLIMSOLL_TAKE(found, page(api, run.id, metric, message.text("page_token"), limit));
  JsonWriter out;
  out.begin_object().key("metrics").begin_array();
  for (const store::Point& point : found.points) write_point(out, metric, point, {});
  out.end_array();
  if (found.next) out.member("next_page_token", *found.next);
  out.end_object();
  return json_response(out.take());
}

Outcome<Response> get_history_bulk(Api& api, Call& call) {
  std::vector<std::string> runs = call.request.query.all("run_id");
  if (runs.empty()) return invalid("GetMetricHistoryBulk request must specify at least one run_id.");
  if (runs.size() > kMostBulkRuns)
    return invalid("GetMetricHistoryBulk request cannot specify more than {} run_ids. Received {} run_ids.",
                   kMostBulkRuns, runs.size());
  const std::string* metric = call.request.query.find("metric_key");
  if (metric == nullptr) return invalid("GetMetricHistoryBulk request must specify a metric_key.");
  static constexpr Field kFields[] = {{"max_results", Type::integer}};
  PLIMSOLL_TAKE(document, Document::read(call.request, kFields));
  const std::int64_t wanted =
      document.message().integer("max_results").value_or(static_cast<std::int64_t>(kMostBulkPoints));
  std::size_t left = std::min(static_cast<std::size_t>(std::max<std::int64_t>(wanted, 0)), kMostBulkPoints);
  std::ranges::sort(runs);
  JsonWriter out;
  out.begin_object().key("metrics").begin_array();
  for (const std::string& id : runs) {
    if (left == 0) break;
    const Outcome<store::Run> run = api.run(id);
    if (!run && run.error().code == Code::resource_does_not_exist) continue;  // as MLflow does
    if (!run) return std::unexpected(run.error());
    PLIMSOLL_TAKE(found, page(api, run->id, *metric, {}, left));
    for (const store::Point& point : found.points) write_point(out, *metric, point, run->id);
    left -= std::min(left, found.points.size());
  }
  out.end_array().end_object();
  return json_response(out.take());
}

Outcome<Response> get_history_bulk_interval(Api& api, Call& call) {
  static constexpr Field kFields[] = {{"run_ids", Type::texts, true},
                                      {"metric_key", Type::text, true},
                                      {"start_step", Type::integer},
                                      {"end_step", Type::integer},
                                      {"max_results", Type::integer}};
  PLIMSOLL_TAKE(document, Document::read(call.request, kFields));
  PLIMSOLL_TAKE(interval, interval_of(document.message()));
  JsonWriter out;
  out.begin_object().key("metrics").begin_array();
  for (const std::string& id : interval.runs) {
    PLIMSOLL_TAKE(run, api.run(id));
    PLIMSOLL_TAKE(points, api.store().sample(run.id, interval.metric, interval.most, interval.steps));
    for (const store::Point& point : points) write_point(out, interval.metric, point, run.id);
  }
  out.end_array().end_object();
  return json_response(out.take());
}

Outcome<Response> get_outline(Api& api, Call& call) {
  static constexpr Field kFields[] = {{"run_id", Type::text, true},
                                      {"metric_key", Type::text, true},
                                      {"max_results", Type::integer},
                                      {"from", Type::integer},
                                      {"to", Type::integer}};
  PLIMSOLL_TAKE(document, Document::read(call.request, kFields));
  const Message message = document.message();
  std::optional<store::Time> from, to;
  for (const auto& [name, bound] : {std::pair("from", &from), std::pair("to", &to)})
    if (const auto asked = message.integer(name)) {
      PLIMSOLL_TAKE(time, moment_of(*asked, name));
      *bound = time;
    }
  if (to) *to += 999;  // to the end of that millisecond
  const std::int64_t most = message.integer("max_results").value_or(kMostSampled);
  if (most < 1 || most > kMostSampled) return invalid("max_results must be between 1 and {}.", kMostSampled);
  PLIMSOLL_TAKE(run, api.run(message.text("run_id")));
  PLIMSOLL_TAKE(spans, api.store().outline(run.id, message.text("metric_key"), static_cast<std::size_t>(most),
                                           from, to));
  JsonWriter out;
  out.begin_object().key("spans").begin_array();
  for (const store::Span& span : spans) {
    out.begin_object();
    out.integer_member("first_timestamp", milliseconds(span.first));
    out.integer_member("last_timestamp", milliseconds(span.last));
    out.integer_member("first_step", span.first_step).integer_member("last_step", span.last_step);
    out.number_member("minimum", span.minimum).number_member("maximum", span.maximum);
    out.number_member("mean", span.mean).integer_member("points", span.points);
    out.end_object();
  }
  out.end_array().end_object();
  return json_response(out.take());
}

}  // namespace plimsoll::serve::mlflow
