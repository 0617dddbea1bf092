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

/// Chunks of a metric that may come together before appending joins some: reading them all stays quick, and
/// one call in a few hundred waits for it. Where nothing is added any more maintain() joins them earlier (at
/// 32, as the index metric_to_join says).
inline constexpr std::int64_t kManyChunks = 256;

/// Adds points to metrics whose rows are known as new chunks, and joins the small ones of some metrics where
/// many have come together; of the others with the next points.
[[nodiscard]] Status append_points(Database& database, std::span<Growth> growths);

/// Joins the small chunks of every metric of a run.
[[nodiscard]] Status compact_points(Database& database, std::int64_t run);

/// Joins small chunks of one metric that has many of them, of a run that has not changed since `settled`.
/// Returns whether there was one.
[[nodiscard]] Result<bool> join_somewhere(Database& database, Time settled);

/// In the order of time, no point twice.
[[nodiscard]] Result<std::vector<Point>> read_points(Database& database, std::int64_t run,
                                                     std::string_view metric, std::optional<Time> from,
                                                     std::optional<Time> to);

}  // namespace plimsoll::store
