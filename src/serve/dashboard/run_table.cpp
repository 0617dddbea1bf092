#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "serve/dashboard/handlers.hpp"
#include "serve/mlflow/json_writer.hpp"
#include "serve/mlflow/message.hpp"
#include "store/host_series.hpp"

namespace plimsoll::serve::dashboard {
namespace {

using mlflow::Api;
using mlflow::Call;
using mlflow::Field;
using mlflow::invalid;
using mlflow::JsonWriter;
using mlflow::Outcome;
using mlflow::Type;

constexpr std::int64_t kMostRows = 1000, kUsualRows = 50;
constexpr std::size_t kMostColumns = 100;
/// Figures that are read from histories, each by a question of its own.
constexpr std::size_t kMostFigures = 5000;
constexpr std::size_t kMostKeys = 1000;

struct Column {
  enum class Kind { metric, param, tag, hardware };
  enum class Figure { latest, step, points, minimum, maximum, mean };
  std::string text;  ///< as it was asked for
  Kind kind = Kind::metric;
  std::string key;
  Figure figure = Figure::latest;
  [[nodiscard]] bool is_of_history() const {
    return figure == Figure::minimum || figure == Figure::maximum || figure == Figure::mean;
  }
};

constexpr std::array<std::pair<std::string_view, Column::Figure>, 5> kFigures = {{
    {":min", Column::Figure::minimum},
    {":max", Column::Figure::maximum},
    {":mean", Column::Figure::mean},
    {":points", Column::Figure::points},
    {":step", Column::Figure::step},
}};

/// What the watcher of a run sums up at its end, and what of its series says the same while it goes on.
struct Hardware {
  std::string_view name;
  std::array<std::string_view, 2> summaries;  ///< the first that is there
  std::string_view series;                    ///< their last part, of "system/run/gpu/…"; empty: none
};
constexpr std::array<Hardware, 6> kHardware = {{
    {"energy", {"summary/gpu_energy_share", "summary/gpu_energy"}, "energy"},
    {"sm_activity", {"summary/sm_activity_share_mean", "summary/sm_activity_mean"}, "sm_activity"},
    {"gpu_memory", {"summary/gpu_memory_peak", ""}, "memory"},
    {"host_energy", {"summary/host_energy", ""}, ""},
    {"cpu_seconds", {"summary/cpu_seconds", ""}, ""},
    {"memory", {"summary/memory_peak", ""}, ""},
}};

Outcome<Column> column_named(const std::string& text) {
  static constexpr std::array<std::pair<std::string_view, Column::Kind>, 4> kKinds = {{
      {"metrics.", Column::Kind::metric},
      {"params.", Column::Kind::param},
      {"tags.", Column::Kind::tag},
      {"hardware.", Column::Kind::hardware},
  }};
  const auto* kind =
      std::ranges::find_if(kKinds, [&](const auto& one) { return text.starts_with(one.first); });
  if (kind == kKinds.end() || text.size() == kind->first.size())
    return invalid("A column is metrics.KEY, params.KEY, tags.KEY or hardware.NAME.");
  Column out{.text = text, .kind = kind->second, .key = text.substr(kind->first.size())};
  if (out.kind == Column::Kind::hardware &&
      std::ranges::find(kHardware, out.key, &Hardware::name) == kHardware.end())
    return invalid(
        "Of hardware there are energy, sm_activity, gpu_memory, host_energy, cpu_seconds and memory.");
  if (out.kind != Column::Kind::metric) return out;
  for (const auto& [ending, figure] : kFigures)
    if (out.key.ends_with(ending) && out.key.size() > ending.size()) {
      out.key.resize(out.key.size() - ending.size());
      out.figure = figure;
      break;
    }
  return out;
}

std::optional<double> hardware_figure(const store::Run& run, std::string_view name) {
  const Hardware& wanted = *std::ranges::find(kHardware, name, &Hardware::name);
  for (const std::string_view summary : wanted.summaries)
    if (const auto found = run.metrics.find(std::string(summary)); found != run.metrics.end())
      return found->second.latest.value;
  if (wanted.series.empty() || run.status != store::RunStatus::running) return std::nullopt;
  std::optional<double> sum;  // over all GPUs of all hosts
  for (auto it = run.metrics.lower_bound("system/"); it != run.metrics.end(); ++it) {
    if (!it->first.starts_with("system/")) break;
    if (store::run_gpu_figure(it->first) == wanted.series) sum = sum.value_or(0) + it->second.latest.value;
  }
  return sum;
}

void write_text_of(JsonWriter& out, const std::map<std::string, std::string>& texts, const std::string& key) {
  if (const auto found = texts.find(key); found != texts.end())
    out.text(found->second);
  else
    out.written("null");
}

void write_number(JsonWriter& out, const std::optional<double>& value) {
  if (value)
    out.number(*value);
  else
    out.written("null");
}

Outcome<std::optional<double>> metric_figure(Api& api, const store::Run& run, const Column& column) {
  const auto found = run.metrics.find(column.key);
  if (found == run.metrics.end()) return std::nullopt;
  const store::Metric& metric = found->second;
  if (column.figure == Column::Figure::latest) return metric.latest.value;
  if (column.figure == Column::Figure::step) return static_cast<double>(metric.latest.step);
  if (column.figure == Column::Figure::points) return static_cast<double>(metric.points);
  PLIMSOLL_TAKE(spans, api.store().outline(run.id, column.key, 1));
  if (spans.empty()) return std::nullopt;
  if (column.figure == Column::Figure::minimum) return spans.front().minimum;
  return column.figure == Column::Figure::maximum ? spans.front().maximum : spans.front().mean;
}

Outcome<void> write_cell(Api& api, JsonWriter& out, const store::Run& run, const Column& column) {
  switch (column.kind) {
    case Column::Kind::param: write_text_of(out, run.params, column.key); break;
    case Column::Kind::tag: write_text_of(out, run.tags, column.key); break;
    case Column::Kind::hardware: write_number(out, hardware_figure(run, column.key)); break;
    case Column::Kind::metric: {
      PLIMSOLL_TAKE(value, metric_figure(api, run, column));
      write_number(out, value);
    }
  }
  return {};
}

Outcome<void> write_row(Api& api, JsonWriter& out, const store::Run& run, std::span<const Column> columns) {
  out.begin_object().member("id", run.id).member("name", run.name);
  out.member("experiment_id", fmt::format("{}", run.experiment_id)).member("experiment", run.experiment);
  out.member("status", store::name(run.status)).integer_member("start", mlflow::milliseconds(run.start));
  out.key("end");
  if (run.end)
    out.integer(mlflow::milliseconds(*run.end));
  else
    out.written("null");
  out.member("user", run.user).boolean_member("deleted", run.deleted);
  out.key("cells").begin_array();
  for (const Column& column : columns) PLIMSOLL_TRY(write_cell(api, out, run, column));
  out.end_array().end_object();
  return {};
}

struct Wanted {
  store::Search search;
  std::vector<Column> columns = {};
  bool with_total = false;
};

Outcome<store::View> view_named(std::string_view name) {
  if (name.empty() || name == "active") return store::View::active;
  if (name == "deleted") return store::View::deleted;
  if (name == "all") return store::View::all;
  return invalid("view is active, deleted or all.");
}

Outcome<Wanted> wanted_of(const mlflow::Message& message) {
  Wanted out{.search = {.filter = message.text("filter"), .order_by = message.texts("order_by")}};
  PLIMSOLL_TAKE(view, view_named(message.text("view")));
  out.search.view = view;
  const std::int64_t limit = message.integer("limit").value_or(kUsualRows);
  const std::int64_t offset = message.integer("offset").value_or(0);
  if (limit < 0 || limit > kMostRows) return invalid("limit must be between 0 and {}.", kMostRows);
  if (offset < 0) return invalid("offset must not be negative.");
  out.search.limit = static_cast<std::size_t>(limit);
  out.search.offset = static_cast<std::size_t>(offset);
  for (const std::string& id : message.texts("experiment_id")) {
    PLIMSOLL_TAKE(number, mlflow::experiment_number(id));
    out.search.experiment_ids.push_back(number);
  }
  const std::vector<std::string> columns = message.texts("column");
  if (columns.size() > kMostColumns) return invalid("More than {} columns.", kMostColumns);
  std::size_t figures = 0;
  for (const std::string& text : columns) {
    PLIMSOLL_TAKE(column, column_named(text));
    figures += column.is_of_history() ? out.search.limit : 0;
    out.columns.push_back(std::move(column));
  }
  if (figures > kMostFigures) return invalid("Ask for fewer rows with :min, :max and :mean at a time.");
  out.with_total = message.integer("total").value_or(0) != 0;
  return out;
}

void write_texts(JsonWriter& out, std::string_view name, std::span<const std::string> texts) {
  out.key(name).begin_array();
  for (const std::string& text : texts) out.text(text);
  out.end_array();
}

}  // namespace

Outcome<Response> run_table(Api& api, Call& call) {
  static constexpr Field kFields[] = {{"filter"},
                                      {"order_by", Type::texts},
                                      {"experiment_id", Type::texts},
                                      {"view"},
                                      {"column", Type::texts},
                                      {"limit", Type::integer},
                                      {"offset", Type::integer},
                                      {"total", Type::integer}};
  PLIMSOLL_TAKE(document, mlflow::Document::read(call.request, kFields));
  PLIMSOLL_TAKE(wanted, wanted_of(document.message()));
  const std::size_t limit = std::exchange(wanted.search.limit, wanted.search.limit + 1);
  PLIMSOLL_TAKE(runs, api.store().search(wanted.search));
  JsonWriter out;
  out.begin_object().key("columns").begin_array();
  for (const Column& column : wanted.columns) out.text(column.text);
  out.end_array().key("runs").begin_array();
  for (const store::Run& run : std::span(runs).first(std::min(runs.size(), limit)))
    PLIMSOLL_TRY(write_row(api, out, run, wanted.columns));
  out.end_array().key("next");
  if (runs.size() > limit)
    out.integer(static_cast<std::int64_t>(wanted.search.offset + limit));
  else
    out.written("null");
  out.key("total");
  if (wanted.with_total) {
    PLIMSOLL_TAKE(total, api.store().count(wanted.search));
    out.integer(total);
  } else {
    out.written("null");
  }
  out.end_object();
  return mlflow::json_response(out.take());
}

Outcome<Response> facets(Api& api, Call& call) {
  static constexpr Field kFields[] = {{"experiment_id", Type::texts}};
  PLIMSOLL_TAKE(document, mlflow::Document::read(call.request, kFields));
  std::vector<std::int64_t> experiments;
  for (const std::string& id : document.message().texts("experiment_id")) {
    PLIMSOLL_TAKE(number, mlflow::experiment_number(id));
    experiments.push_back(number);
  }
  PLIMSOLL_TAKE(keys, api.store().keys(experiments, kMostKeys));
  PLIMSOLL_TAKE(known, api.store().search_experiments({.limit = kMostKeys}));
  JsonWriter out;
  out.begin_object();
  write_texts(out, "metrics", keys.metrics);
  write_texts(out, "params", keys.params);
  write_texts(out, "tags", keys.tags);
  write_texts(out, "users", keys.users);
  out.key("experiments").begin_array();
  for (const store::Experiment& experiment : known)
    out.begin_object()
        .member("id", fmt::format("{}", experiment.id))
        .member("name", experiment.name)
        .end_object();
  out.end_array().boolean_member("complete", keys.is_complete).end_object();
  return mlflow::json_response(out.take());
}

}  // namespace plimsoll::serve::dashboard
