#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "store/database.hpp"
#include "store/metric_rows.hpp"

/// Points of metrics as chunks in the database. Callers hold a transaction.
namespace plimsoll::store {

/// Chunks of a metric that may come together before appending joins some: reading them all stays quick. Who
/// calls maintain() has them joined earlier (at 32, as the index metric_to_join says), while nobody waits.
inline constexpr std::int64_t kManyChunks = 128;

/// Adds points to metrics whose rows are known as new chunks, and joins a metric's small ones where many have
/// come together.
[[nodiscard]] Status append_points(Database& database, std::span<Growth> growths);

/// Joins the small chunks of every metric of a run.
[[nodiscard]] Status compact_points(Database& database, std::int64_t run);

/// Joins small chunks of one metric that has many of them. Returns whether there was one.
[[nodiscard]] Result<bool> join_somewhere(Database& database);

/// In the order of time, no point twice.
[[nodiscard]] Result<std::vector<Point>> read_points(Database& database, std::int64_t run,
                                                     std::string_view metric, std::optional<Time> from,
                                                     std::optional<Time> to);

}  // namespace plimsoll::store
