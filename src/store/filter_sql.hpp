#pragma once
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "store/filter.hpp"
#include "store/sqlite.hpp"

namespace plimsoll::store {

/// A part of a statement over `run r JOIN experiment e`, and the values of its question marks in their order.
/// Nothing of a filter is ever part of the text.
struct Sql {
  std::string text = {};
  std::vector<std::variant<double, std::string>> values = {};
};

void add_condition(Sql& sql, const Comparison& comparison);
/// Runs without the value come last in either direction.
void add_order(Sql& sql, const Order& order);

/// Makes like() known to a connection as a function of SQL.
[[nodiscard]] Status register_like(sqlite::Database& database);

}  // namespace plimsoll::store
