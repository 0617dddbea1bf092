#include "store/filter_sql.hpp"

#include <utility>

namespace plimsoll::store {
namespace {

std::string_view attribute_expression(Field::Attribute attribute) {
  switch (attribute) {
    case Field::Attribute::run_id: return "r.id";
    case Field::Attribute::run_name: return "r.name";
    case Field::Attribute::status: return "r.status";
    // MLflow's times are milliseconds.
    case Field::Attribute::start_time: return "(r.start / 1000)";
    case Field::Attribute::end_time: return "(r.\"end\" / 1000)";
    case Field::Attribute::duration: return "((r.\"end\" - r.start) / 1e6)";
    case Field::Attribute::experiment_name: return "e.name";
  }
  std::unreachable();
}

struct Keyed {
  std::string_view table;
  std::string_view column;
};

Keyed keyed(Field::Kind kind) {
  if (kind == Field::Kind::metric) return {"metric", "latest_value"};
  return {kind == Field::Kind::param ? "param" : "tag", "value"};
}

/// The field's value; NULL where the run has none.
void add_value(Sql& sql, const Field& field) {
  if (field.kind == Field::Kind::attribute) {
    sql.text += attribute_expression(field.attribute);
    return;
  }
  const auto [table, column] = keyed(field.kind);
  sql.text += fmt::format("(SELECT {} FROM {} WHERE run = r.number AND name = ?)", column, table);
  sql.values.emplace_back(field.key);
}

void add_null_test(Sql& sql, const Comparison& c) {
  const bool wants_null = c.comparator == Comparator::is_null;
  if (c.field.kind == Field::Kind::attribute) {
    sql.text +=
        fmt::format("{} IS {}NULL", attribute_expression(c.field.attribute), wants_null ? "" : "NOT ");
    return;
  }
  // A metric whose latest value is not a number is there, though its value is NULL.
  sql.text += fmt::format("{}EXISTS (SELECT 1 FROM {} WHERE run = r.number AND name = ?)",
                          wants_null ? "NOT " : "", keyed(c.field.kind).table);
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

std::string_view text_of(sqlite3_value* value) {
  const void* const bytes = sqlite3_value_blob(value);
  if (bytes == nullptr) return {};
  return {static_cast<const char*>(bytes), static_cast<std::size_t>(sqlite3_value_bytes(value))};
}

void like_function(sqlite3_context* context, int /*count*/, sqlite3_value** values) {
  if (sqlite3_value_type(values[0]) == SQLITE_NULL) return sqlite3_result_null(context);
  const bool ignore_case = sqlite3_value_int(values[2]) != 0;
  sqlite3_result_int(context, like(text_of(values[0]), text_of(values[1]), ignore_case) ? 1 : 0);
}

}  // namespace

void add_condition(Sql& sql, const Comparison& c) {
  const auto add_values = [&] { sql.values.insert(sql.values.end(), c.values.begin(), c.values.end()); };
  switch (c.comparator) {
    case Comparator::is_null:
    case Comparator::is_not_null: return add_null_test(sql, c);
    case Comparator::like:
    case Comparator::ilike:
      sql.text += "plimsoll_like(";
      add_value(sql, c.field);
      sql.text += c.comparator == Comparator::ilike ? ", ?, 1)" : ", ?, 0)";
      return add_values();
    case Comparator::in:
    case Comparator::not_in:
      add_value(sql, c.field);
      sql.text += c.comparator == Comparator::in ? " IN (?" : " NOT IN (?";
      for (std::size_t i = 1; i < c.values.size(); ++i) sql.text += ", ?";
      sql.text += ')';
      return add_values();
    default:
      add_value(sql, c.field);
      sql.text += sign(c.comparator);
      return add_values();
  }
}

void add_order(Sql& sql, const Order& order) {
  add_value(sql, order.field);
  sql.text += order.descending ? " DESC NULLS LAST" : " ASC NULLS LAST";
}

Status register_like(sqlite::Database& database) {
  constexpr int kTraits = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_DIRECTONLY;
  const int code = sqlite3_create_function_v2(database.handle(), "plimsoll_like", 3, kTraits, nullptr,
                                              like_function, nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) return std::unexpected(database.error(code));
  return {};
}

}  // namespace plimsoll::store
