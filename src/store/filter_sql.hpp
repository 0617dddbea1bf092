#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "store/database.hpp"
#include "store/experiment.hpp"
#include "store/filter.hpp"

namespace plimsoll::store {

/// A part of a statement over `run r JOIN experiment e`, `experiment e` or `model m`, and the values of its
/// question marks in their order. Nothing of a filter is ever part of the text.
struct Sql {
  std::string text = {};
  std::vector<std::variant<double, std::string>> values = {};
};

void add_condition(Sql& sql, Subject subject, const Comparison& comparison);
/// Things without the value come last in either direction.
void add_order(Sql& sql, Subject subject, const Order& order);

/// " AND …" for every comparison of a filter as people write it.
[[nodiscard]] Status add_filter(Sql& sql, Subject subject, std::string_view text);
/// " ORDER BY …", `last` after all that is asked for.
[[nodiscard]] Status add_orders(Sql& sql, Subject subject, std::span<const std::string> orders,
                                std::string_view last);
/// " AND COLUMN = 0", or 1, or nothing.
void add_view(Sql& sql, std::string_view column, View view);
/// " AND COLUMN IN (…)"; nothing where there are no numbers.
[[nodiscard]] Status add_numbers(Sql& sql, std::string_view column, std::span<const std::int64_t> numbers);

/// "1, 2, 3".
[[nodiscard]] std::string listed(std::span<const std::int64_t> numbers);

/// The integers of the statement's first column.
[[nodiscard]] Result<std::vector<std::int64_t>> page_of_numbers(Database& database, const Sql& sql,
                                                                std::size_t limit, std::size_t offset);

}  // namespace plimsoll::store
