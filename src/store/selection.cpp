#include "store/selection.hpp"

#include <algorithm>
#include <iterator>
#include <limits>

#include <fmt/ranges.h>

namespace plimsoll::store {
namespace {

constexpr std::size_t kMostOrders = 16;
constexpr std::size_t kMostNumbers = 20'000;
/// More tables than that are no join that a database plans well; SQLite takes no more than 64.
constexpr std::size_t kMostJoins = 12;

/// Where things stand.
struct Source {
  std::string_view tables;
  std::string_view deleted;
  std::string_view experiment;
  std::string_view last_order;
};

Source source(Subject subject) {
  switch (subject) {
    case Subject::experiments: return {"experiment e", "e.deleted", "e.id", "e.created DESC, e.id DESC"};
    case Subject::models: return {"model m", "m.deleted", "m.experiment", "m.created DESC, m.number DESC"};
    case Subject::registered_models: return {"registered_model g", "", "", "g.name"};
    case Subject::model_versions:
      return {"model_version v JOIN registered_model g ON g.number = v.model", "", "",
              "g.name, v.version DESC"};
    default: return {"run r", "r.deleted", "r.experiment", "r.start DESC, r.id"};
  }
}

std::string_view run_attribute(Field::Attribute attribute) {
  switch (attribute) {
    case Field::Attribute::run_id: return "r.id";
    case Field::Attribute::run_name: return "r.name";
    case Field::Attribute::status: return "r.status";
    // MLflow's times are milliseconds.
    case Field::Attribute::start_time: return "(r.start / 1000)";
    case Field::Attribute::end_time: return "(r.\"end\" / 1000)";
    case Field::Attribute::duration: return "((r.\"end\" - r.start) / 1e6)";
    case Field::Attribute::user_id: return "r.user_name";
    // As `plimsoll serve` names it, and MLflow where the experiment says nothing else.
    case Field::Attribute::artifact_uri:
      return "((CASE WHEN e.artifact_location = '' THEN 'mlflow-artifacts:/' || e.id ELSE "
             "rtrim(e.artifact_location, '/') END) || '/' || r.id || '/artifacts')";
    default: return "e.name";  // experiment_name
  }
}

std::string_view experiment_attribute(Field::Attribute attribute) {
  if (attribute == Field::Attribute::experiment_id) return "e.id";
  if (attribute == Field::Attribute::creation_time) return "(e.created / 1000)";
  return attribute == Field::Attribute::last_update_time ? "(e.changed / 1000)" : "e.name";
}

std::string_view model_attribute(Field::Attribute attribute) {
  switch (attribute) {
    case Field::Attribute::model_id: return "m.id";
    case Field::Attribute::model_type: return "m.type";
    case Field::Attribute::status: return "m.status";
    case Field::Attribute::source_run_id: return "m.source_run";
    case Field::Attribute::creation_time: return "(m.created / 1000)";
    case Field::Attribute::last_update_time: return "(m.changed / 1000)";
    default: return "m.name";
  }
}

std::string_view registered_attribute(Field::Attribute attribute) {
  if (attribute == Field::Attribute::creation_time) return "(g.created / 1000)";
  return attribute == Field::Attribute::last_update_time ? "(g.changed / 1000)" : "g.name";
}

std::string_view version_attribute(Field::Attribute attribute) {
  switch (attribute) {
    case Field::Attribute::version_number: return "v.version";
    case Field::Attribute::run_id: return "v.run";
    case Field::Attribute::source_path: return "v.source";
    case Field::Attribute::creation_time: return "(v.created / 1000)";
    case Field::Attribute::last_update_time: return "(v.changed / 1000)";
    default: return "g.name";
  }
}

std::string_view attribute_expression(Subject subject, Field::Attribute attribute) {
  switch (subject) {
    case Subject::runs: return run_attribute(attribute);
    case Subject::experiments: return experiment_attribute(attribute);
    case Subject::models: return model_attribute(attribute);
    case Subject::registered_models: return registered_attribute(attribute);
    case Subject::model_versions: return version_attribute(attribute);
  }
  return {};
}

/// Where the value of a key stands.
struct Keyed {
  std::string_view table;
  std::string_view column;
  std::string_view owner;       ///< its column
  std::string_view owned_by;    ///< that column's value
  std::string_view which = {};  ///< of several
};

Keyed keyed(Subject subject, Field::Kind kind) {
  if (subject == Subject::experiments) return {"experiment_tag", "value", "experiment", "e.id"};
  if (subject == Subject::registered_models) return {"registered_tag", "value", "model", "g.number"};
  if (subject == Subject::model_versions) return {"version_tag", "value", "version", "v.number"};
  if (subject == Subject::models) {
    if (kind == Field::Kind::metric)
      return {"model_metric", "value", "model", "m.number", " ORDER BY step DESC, time DESC LIMIT 1"};
    return {kind == Field::Kind::param ? "model_param" : "model_tag", "value", "model", "m.number"};
  }
  if (kind == Field::Kind::metric) return {"metric", "latest_value", "run", "r.number"};
  return {kind == Field::Kind::param ? "param" : "tag", "value", "run", "r.number"};
}

void bind_values(Query& query, std::span<const std::variant<double, std::string>> values) {
  for (const auto& value : values) {
    if (const auto* number = std::get_if<double>(&value))
      query.bind(*number);
    else
      query.bind(std::string_view(std::get<std::string>(value)));
  }
}

std::string_view sign(Comparator comparator) {
  switch (comparator) {
    case Comparator::not_equal: return " != ";
    case Comparator::less: return " < ";
    case Comparator::less_equal: return " <= ";
    case Comparator::greater: return " > ";
    case Comparator::greater_equal: return " >= ";
    default: return " = ";
  }
}

}  // namespace

void Selection::add_attribute(Part& out, Field::Attribute attribute) {
  const std::string_view expression = attribute_expression(subject_, attribute);
  if (attribute == Field::Attribute::experiment_name || attribute == Field::Attribute::artifact_uri)
    join_experiment();
  out.text += expression;
}

void Selection::join_experiment() {
  if (subject_ != Subject::runs || std::exchange(has_experiment_, true)) return;
  joins_.text += " JOIN experiment e ON e.id = r.experiment";
}

/// NULL where there is none.
void Selection::add_value(Part& out, const Field& field) {
  if (field.kind == Field::Kind::attribute) return add_attribute(out, field.attribute);
  if (field.kind == Field::Kind::dataset) {  // in the condition that add_condition begins
    out.text += field.key == "name" ? "d.name" : field.key == "digest" ? "d.digest" : "t.value";
    return;
  }
  const Keyed k = keyed(subject_, field.kind);
  const auto place = std::ranges::find(joined_, field);
  const auto number = std::distance(joined_.begin(), place);
  const bool fresh = place == joined_.end();
  if (!k.which.empty() || (fresh && joined_.size() == kMostJoins)) {
    out.text += fmt::format("(SELECT {} FROM {} WHERE {} = {} AND name = ?{})", k.column, k.table, k.owner,
                            k.owned_by, k.which);
    out.values.emplace_back(field.key);
    return;
  }
  if (fresh) {
    joins_.text += fmt::format(" LEFT JOIN {0} k{1} ON k{1}.{2} = {3} AND k{1}.name = ?", k.table, number,
                               k.owner, k.owned_by);
    joins_.values.emplace_back(field.key);
    joined_.push_back(field);
  }
  out.text += fmt::format("k{}.{}", number, k.column);
}

/// Whether there is a value for the key, be it one that is no number, which stands as NULL.
void Selection::add_presence(Part& out, const Field& field) {
  const Keyed k = keyed(subject_, field.kind);
  if (const auto place = std::ranges::find(joined_, field); k.which.empty() && place != joined_.end()) {
    out.text += fmt::format("k{}.name IS NOT NULL", std::distance(joined_.begin(), place));
    return;
  }
  out.text +=
      fmt::format("EXISTS (SELECT 1 FROM {} WHERE {} = {} AND name = ?)", k.table, k.owner, k.owned_by);
  out.values.emplace_back(field.key);
}

void Selection::add_null_test(const Comparison& c) {
  const bool wants_null = c.comparator == Comparator::is_null;
  std::string& out = conditions_.text;
  if (c.field.kind == Field::Kind::attribute) {
    add_attribute(conditions_, c.field.attribute);
    out += wants_null ? " IS NULL" : " IS NOT NULL";
    return;
  }
  if (c.field.kind == Field::Kind::dataset) {
    out += fmt::format("{}EXISTS (SELECT 1 FROM input i WHERE i.run = r.number)", wants_null ? "NOT " : "");
    return;
  }
  // A metric whose latest value is not a number is there, though its value is NULL.
  const Keyed k = keyed(subject_, c.field.kind);
  out += fmt::format("{}EXISTS (SELECT 1 FROM {} WHERE {} = {} AND name = ?)", wants_null ? "NOT " : "",
                     k.table, k.owner, k.owned_by);
  conditions_.values.emplace_back(c.field.key);
}

void Selection::add_comparison(const Comparison& c) {
  Part& out = conditions_;
  const std::string_view place = is_id(c.field) ? "CAST(? AS BIGINT)" : "?";  // an id comes as its digits
  const auto add_values = [&] { std::ranges::copy(c.values, std::back_inserter(out.values)); };
  switch (c.comparator) {
    case Comparator::like:
    case Comparator::ilike:
      out.text += "plimsoll_like(";
      add_value(out, c.field);
      out.text += c.comparator == Comparator::ilike ? ", ?, 1)" : ", ?, 0)";
      return add_values();
    case Comparator::in:
    case Comparator::not_in:
      add_value(out, c.field);
      out.text += c.comparator == Comparator::in ? " IN (" : " NOT IN (";
      for (std::size_t i = 0; i < c.values.size(); ++i) out.text.append(i == 0 ? "" : ", ").append(place);
      out.text += ')';
      return add_values();
    default: {
      // A NaN is a value, and no other equals it.
      const bool nan_fits = c.field.kind == Field::Kind::metric && c.comparator == Comparator::not_equal;
      if (nan_fits) out.text += '(';
      add_value(out, c.field);
      out.text.append(sign(c.comparator)).append(place);
      add_values();
      if (!nan_fits) return;
      out.text += " OR (";
      add_value(out, c.field);
      out.text += " IS NULL AND ";
      add_presence(out, c.field);
      out.text += "))";
      return;
    }
  }
}

void Selection::add_condition(const Comparison& c) {
  std::string& out = conditions_.text;
  out += " AND ";
  if (c.comparator == Comparator::is_null || c.comparator == Comparator::is_not_null) return add_null_test(c);
  if (c.field.kind != Field::Kind::dataset) return add_comparison(c);
  // A run has several inputs: one that fits will do.
  out += "EXISTS (SELECT 1 FROM input i JOIN dataset d ON d.id = i.dataset";
  if (c.field.key == "context")
    out += " JOIN input_tag t ON t.input = i.id AND t.name = 'mlflow.data.context'";
  out += " WHERE i.run = r.number AND ";
  add_comparison(c);
  out += ')';
}

void Selection::in_view(View view) {
  if (view == View::all) return;
  conditions_.text += fmt::format(" AND {} = {}", source(subject_).deleted, view == View::deleted ? 1 : 0);
}

void Selection::in_experiment(const std::string& name) {
  join_experiment();
  conditions_.text += " AND e.name = ?";
  conditions_.values.emplace_back(name);
}

Status Selection::in_experiments(std::span<const std::int64_t> numbers) {
  if (numbers.size() > kMostNumbers) return fail("more than {} experiments at once", kMostNumbers);
  if (!numbers.empty())
    conditions_.text += fmt::format(" AND {} IN ({})", source(subject_).experiment, fmt::join(numbers, ", "));
  return {};
}

Status Selection::matching(std::string_view text) {
  const Result<Filter> filter = parse_filter(text, subject_);
  if (!filter) return std::unexpected(filter.error());
  matching(*filter);
  return {};
}

void Selection::matching(const Filter& filter) {
  for (const Comparison& comparison : filter) add_condition(comparison);
}

Status Selection::ordered_by(std::span<const std::string> orders) {
  if (orders.size() > kMostOrders) return fail("more than {} orders", kMostOrders);
  for (const std::string& text : orders) {
    const Result<Order> order = parse_order(text, subject_);
    if (!order) return std::unexpected(order.error());
    if (order->field.kind == Field::Kind::dataset) return fail("runs cannot be ordered by their datasets");
    add_value(orders_, order->field);
    orders_.text += order->descending ? " DESC NULLS LAST, " : " ASC NULLS LAST, ";
    if (order->field.kind != Field::Kind::metric) continue;
    // Of those without a number, the ones that have a NaN come before the ones that have nothing.
    orders_.text += "CASE WHEN ";
    add_presence(orders_, order->field);
    orders_.text += " THEN 0 ELSE 1 END, ";
  }
  return {};
}

Query Selection::page(Database& database, std::string_view columns, std::size_t limit,
                      std::size_t offset) const {
  constexpr auto kMost = static_cast<std::size_t>(std::numeric_limits<std::int64_t>::max());
  const Source from = source(subject_);
  // Used once: what a server knows of a key and its values (that nearly every run has a loss) is what makes
  // the plan.
  Query query = database.query_once(fmt::format(
      "SELECT {} FROM {}{} WHERE 1 = 1{} ORDER BY {}{} LIMIT {} OFFSET {}", columns, from.tables, joins_.text,
      conditions_.text, orders_.text, from.last_order, std::min(limit, kMost), std::min(offset, kMost)));
  for (const Part* part : {&joins_, &conditions_, &orders_}) bind_values(query, part->values);
  return query;
}

Query Selection::count(Database& database) const {
  Query query = database.query_once(fmt::format("SELECT count(*) FROM {}{} WHERE 1 = 1{}",
                                                source(subject_).tables, joins_.text, conditions_.text));
  for (const Part* part : {&joins_, &conditions_}) bind_values(query, part->values);
  return query;
}

Result<std::vector<std::int64_t>> numbers_of(Query page) {
  std::vector<std::int64_t> out;
  PLIMSOLL_TRY(for_each_row(page, [&](const Query& row) { out.push_back(row.integer(0)); }));
  return out;
}

}  // namespace plimsoll::store
