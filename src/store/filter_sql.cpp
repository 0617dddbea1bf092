#include "store/filter_sql.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

#include <fmt/ranges.h>

namespace plimsoll::store {
namespace {

constexpr std::size_t kMostOrders = 16;
constexpr std::size_t kMostNumbers = 20'000;

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
             "e.artifact_location "
             "END) || '/' || r.id || '/artifacts')";
    default: return "e.name";
  }
}

std::string_view experiment_attribute(Field::Attribute attribute) {
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

std::string_view attribute_expression(Subject subject, Field::Attribute attribute) {
  if (subject == Subject::experiments) return experiment_attribute(attribute);
  return subject == Subject::models ? model_attribute(attribute) : run_attribute(attribute);
}

/// Where the value of a key stands.
struct Keyed {
  std::string_view table;
  std::string_view column;
  std::string_view owner;       ///< "run = r.number"
  std::string_view which = {};  ///< of several
};

Keyed keyed(Subject subject, Field::Kind kind) {
  if (subject == Subject::experiments) return {"experiment_tag", "value", "experiment = e.id"};
  if (subject == Subject::models) {
    constexpr std::string_view kOwner = "model = m.number";
    if (kind == Field::Kind::metric)
      return {"model_metric", "value", kOwner, " ORDER BY step DESC, time DESC LIMIT 1"};
    return {kind == Field::Kind::param ? "model_param" : "model_tag", "value", kOwner};
  }
  constexpr std::string_view kOwner = "run = r.number";
  if (kind == Field::Kind::metric) return {"metric", "latest_value", kOwner};
  return {kind == Field::Kind::param ? "param" : "tag", "value", kOwner};
}

/// The field's value; NULL where there is none.
void add_value(Sql& sql, Subject subject, const Field& field) {
  if (field.kind == Field::Kind::attribute) {
    sql.text += attribute_expression(subject, field.attribute);
    return;
  }
  if (field.kind == Field::Kind::dataset) {  // in the condition that add_dataset_condition begins
    sql.text += field.key == "name" ? "d.name" : field.key == "digest" ? "d.digest" : "t.value";
    return;
  }
  const auto [table, column, owner, which] = keyed(subject, field.kind);
  sql.text += fmt::format("(SELECT {} FROM {} WHERE {} AND name = ?{})", column, table, owner, which);
  sql.values.emplace_back(field.key);
}

void add_null_test(Sql& sql, Subject subject, const Comparison& c) {
  const bool wants_null = c.comparator == Comparator::is_null;
  if (c.field.kind == Field::Kind::attribute) {
    sql.text += fmt::format("{} IS {}NULL", attribute_expression(subject, c.field.attribute),
                            wants_null ? "" : "NOT ");
    return;
  }
  if (c.field.kind == Field::Kind::dataset) {
    sql.text +=
        fmt::format("{}EXISTS (SELECT 1 FROM input i WHERE i.run = r.number)", wants_null ? "NOT " : "");
    return;
  }
  // A metric whose latest value is not a number is there, though its value is NULL.
  const Keyed where = keyed(subject, c.field.kind);
  sql.text += fmt::format("{}EXISTS (SELECT 1 FROM {} WHERE {} AND name = ?)", wants_null ? "NOT " : "",
                          where.table, where.owner);
  sql.values.emplace_back(c.field.key);
}

std::string_view sign(Comparator comparator) {
  switch (comparator) {
    case Comparator::not_equal: return " != ?";
    case Comparator::less: return " < ?";
    case Comparator::less_equal: return " <= ?";
    case Comparator::greater: return " > ?";
    case Comparator::greater_equal: return " >= ?";
    default: return " = ?";
  }
}

void add_comparison(Sql& sql, Subject subject, const Comparison& c) {
  const auto add_values = [&] { std::ranges::copy(c.values, std::back_inserter(sql.values)); };
  switch (c.comparator) {
    case Comparator::like:
    case Comparator::ilike:
      sql.text += "plimsoll_like(";
      add_value(sql, subject, c.field);
      sql.text += c.comparator == Comparator::ilike ? ", ?, 1)" : ", ?, 0)";
      return add_values();
    case Comparator::in:
    case Comparator::not_in:
      add_value(sql, subject, c.field);
      sql.text += c.comparator == Comparator::in ? " IN (?" : " NOT IN (?";
      for (std::size_t i = 1; i < c.values.size(); ++i) sql.text += ", ?";
      sql.text += ')';
      return add_values();
    default:
      add_value(sql, subject, c.field);
      sql.text += sign(c.comparator);
      return add_values();
  }
}

}  // namespace

void add_condition(Sql& sql, Subject subject, const Comparison& c) {
  if (c.comparator == Comparator::is_null || c.comparator == Comparator::is_not_null)
    return add_null_test(sql, subject, c);
  if (c.field.kind != Field::Kind::dataset) return add_comparison(sql, subject, c);
  // A run has several inputs: one that fits will do.
  sql.text += "EXISTS (SELECT 1 FROM input i JOIN dataset d ON d.id = i.dataset";
  if (c.field.key == "context")
    sql.text += " JOIN input_tag t ON t.input = i.id AND t.name = 'mlflow.data.context'";
  sql.text += " WHERE i.run = r.number AND ";
  add_comparison(sql, subject, c);
  sql.text += ')';
}

void add_order(Sql& sql, Subject subject, const Order& order) {
  add_value(sql, subject, order.field);
  sql.text += order.descending ? " DESC NULLS LAST" : " ASC NULLS LAST";
}

Status add_filter(Sql& sql, Subject subject, std::string_view text) {
  const Result<Filter> filter = parse_filter(text, subject);
  if (!filter) return std::unexpected(filter.error());
  for (const Comparison& comparison : *filter) {
    sql.text += " AND ";
    add_condition(sql, subject, comparison);
  }
  return {};
}

Status add_orders(Sql& sql, Subject subject, std::span<const std::string> orders, std::string_view last) {
  if (orders.size() > kMostOrders) return fail("more than {} orders", kMostOrders);
  sql.text += " ORDER BY ";
  for (const std::string& text : orders) {
    const Result<Order> order = parse_order(text, subject);
    if (!order) return std::unexpected(order.error());
    if (order->field.kind == Field::Kind::dataset) return fail("nothing is ordered by its datasets");
    add_order(sql, subject, *order);
    sql.text += ", ";
  }
  sql.text += last;
  return {};
}

void add_view(Sql& sql, std::string_view column, View view) {
  if (view != View::all) sql.text += fmt::format(" AND {} = {}", column, view == View::deleted ? 1 : 0);
}

Status add_numbers(Sql& sql, std::string_view column, std::span<const std::int64_t> numbers) {
  if (numbers.size() > kMostNumbers) return fail("more than {} experiments at once", kMostNumbers);
  if (!numbers.empty()) sql.text += fmt::format(" AND {} IN ({})", column, listed(numbers));
  return {};
}

std::string listed(std::span<const std::int64_t> numbers) {
  return fmt::format("{}", fmt::join(numbers, ", "));
}

Result<std::vector<std::int64_t>> page_of_numbers(Database& database, const Sql& sql, std::size_t limit,
                                                  std::size_t offset) {
  Query query = database.query_once(sql.text + " LIMIT ? OFFSET ?");
  for (const auto& value : sql.values) {
    if (const auto* number = std::get_if<double>(&value))
      query.bind(*number);
    else
      query.bind(std::string_view(std::get<std::string>(value)));
  }
  constexpr auto kMost = static_cast<std::size_t>(std::numeric_limits<std::int64_t>::max());
  query.bind(static_cast<std::int64_t>(std::min(limit, kMost)))
      .bind(static_cast<std::int64_t>(std::min(offset, kMost)));
  std::vector<std::int64_t> out;
  PLIMSOLL_TRY(for_each_row(query, [&](const Query& row) { out.push_back(row.integer(0)); }));
  return out;
}

}  // namespace plimsoll::store
