#pragma once
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "store/run.hpp"
#include "store/sqlite.hpp"

/// Points of metrics as chunks in the database. Callers hold a transaction.
namespace plimsoll::store {

/// Of two points of a metric the one that counts as its latest, by MLflow's rule: of the larger step, then
/// the later time, then the larger value.
[[nodiscard]] const Point& later(const Point& a, const Point& b);

/// Adds points as new chunks, and joins the metric's small ones where many have come together.
[[nodiscard]] Status append_points(sqlite::Database& database, std::int64_t run, const Batch& batch);

/// Joins the small chunks of every metric of a run.
[[nodiscard]] Status compact_points(sqlite::Database& database, std::int64_t run);

[[nodiscard]] Result<std::vector<Point>> read_points(sqlite::Database& database, std::int64_t run,
                                                     std::string_view metric, std::optional<Time> from,
                                                     std::optional<Time> to);

}  // namespace plimsoll::store
