#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "store/database.hpp"
#include "store/run.hpp"

/// Metrics as rows of the database, many at a time. Callers hold a transaction and the run.
namespace plimsoll::store {

/// A metric's row, as far as appending changes it.
struct MetricRow {
  std::int64_t id = 0;
  std::int64_t full_chunks = 0;
  std::int64_t chunks = 0;
  std::optional<Point> latest = {};
  std::int64_t dropped = 0;  ///< points that were there twice
};

/// What one call adds to a metric.
struct Growth {
  std::string_view metric;
  std::vector<Point> points = {};
  std::string_view unit = {}, source = {};  ///< empty: nothing was said, and what is there stays
  std::string_view host = {};               ///< the same; another than the one that is there is refused
  MetricRow row = {};
};

using GrowthsByName = std::unordered_map<std::string_view, Growth*>;

/// Finds the rows of a run's metrics, and makes those that are missing, still without points. In three steps,
/// so that who has several runs asks the database for all of them before the first answer is read.
class MetricEntry {
 public:
  explicit MetricEntry(std::span<Growth> growths);
  [[nodiscard]] Status find(Database& database, std::string_view run);  ///< by its id
  [[nodiscard]] Status make(Database& database, std::int64_t run);
  [[nodiscard]] Status finish();

 private:
  std::span<Growth> growths_;
  GrowthsByName by_name_;
  std::vector<Query> queries_;
};
/// Writes the rows with all that was added.
[[nodiscard]] Status save_metrics(Database& database, std::span<const Growth> growths);
/// Writes how a metric's chunks are counted after some were joined.
[[nodiscard]] Status save_chunks(Database& database, const MetricRow& metric);

/// Rows in one statement where there are many: a server is asked less often.
inline constexpr std::size_t kRowsAtOnce = 64;
/// "INSERT … VALUES (?, ?)" with kRowsAtOnce times the parentheses, which hold `columns` values.
[[nodiscard]] std::string rows_at_once(std::string_view insert, int columns);

}  // namespace plimsoll::store
