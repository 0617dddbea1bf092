// Keeping metrics: points per second appended, bytes per point on disk and points per second read back,
// against the same points as one row each in SQLite with the same durability (write-ahead log,
// synchronous=FULL) and an index by which a metric's history is found.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <sqlite3.h>

#include "base/files.hpp"
#include "store/store.hpp"

namespace {

namespace fs = std::filesystem;
using namespace plimsoll;
using Clock = std::chrono::steady_clock;

struct Case {
  const char* title;
  std::size_t metrics;
  std::size_t points_per_append;  ///< of each metric
  std::size_t appends;
};

constexpr Case kCases[] = {
    {"one metric, 1,000 points a call", 1, 1000, 500},
    {"50 metrics, 10 points each a call", 50, 10, 1000},
    {"50 metrics, 1 point each a call", 50, 1, 2000},
};

struct Figures {
  double append_seconds = 0, read_seconds = 0;
  std::uintmax_t bytes = 0;
  std::size_t points = 0;
};

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// What a run is made of: watts to the milliwatt, a noisy loss in single precision, bytes that change now and
/// then.
double sample(std::size_t metric, std::size_t step, std::mt19937& random) {
  const double noise = std::uniform_real_distribution<>(-1, 1)(random);
  switch (metric % 3) {
    case 0: return std::round(1000 * (300 + 50 * noise)) / 1000;
    case 1: return static_cast<float>(2.5 / (1 + 0.001 * static_cast<double>(step)) + 0.1 * noise);
    default: return 1048576.0 * static_cast<double>(4000 + step / 500);
  }
}

/// The points of every metric for one call, every 100 ms with a sampler's jitter.
std::vector<std::vector<store::Point>> call_of(const Case& c, std::size_t call, std::mt19937& random) {
  std::vector<std::vector<store::Point>> out(c.metrics);
  for (std::size_t m = 0; m < c.metrics; ++m)
    for (std::size_t i = 0; i < c.points_per_append; ++i) {
      const std::size_t step = call * c.points_per_append + i;
      out[m].push_back({static_cast<store::Time>(1'763'202'605'000'000 + step * 100'000 + random() % 200),
                        static_cast<std::int64_t>(step), sample(m, step, random)});
    }
  return out;
}

std::string metric_name(std::size_t m) {
  return fmt::format("gpu/0/metric_{}", m);
}

void expect(bool condition, std::string_view what) {
  if (condition) return;
  fmt::print("FAILED: {}\n", what);
  std::exit(1);
}

Figures ours(const Case& c, const fs::path& path) {
  Figures out;
  std::mt19937 random(1);
  {
    const auto opened = store::open(path.string());
    expect(opened.has_value(), "open");
    store::Store& store = **opened;
    const std::string run = store.create({}).value_or("");
    for (std::size_t call = 0; call < c.appends; ++call) {
      auto points = call_of(c, call, random);
      const auto start = Clock::now();
      std::vector<store::Batch> batches;
      for (std::size_t m = 0; m < c.metrics; ++m)
        batches.push_back({run, metric_name(m), {"1", "bench"}, std::move(points[m])});
      expect(store.append(batches).has_value(), "append");
      out.append_seconds += seconds_since(start);
    }
    const auto start = Clock::now();
    expect(store.compact(run).has_value(), "compact");
    out.append_seconds += seconds_since(start);
    const auto reading = Clock::now();
    for (std::size_t m = 0; m < c.metrics; ++m) out.points += store.history(run, metric_name(m))->size();
    out.read_seconds = seconds_since(reading);
  }
  out.bytes = fs::file_size(path);  // closed: the log is in it
  return out;
}

Figures rows(const Case& c, const fs::path& path) {
  Figures out;
  std::mt19937 random(1);
  sqlite3* handle = nullptr;
  sqlite3_stmt *insert = nullptr, *select = nullptr;
  expect(sqlite3_open(path.c_str(), &handle) == SQLITE_OK, "open");
  const auto execute = [&](const char* sql) {
    expect(sqlite3_exec(handle, sql, nullptr, nullptr, nullptr) == SQLITE_OK, sql);
  };
  execute(
      "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"
      "CREATE TABLE point(metric INTEGER, time INTEGER, step INTEGER, value REAL);"
      "CREATE INDEX point_by_metric ON point(metric, time)");
  sqlite3_prepare_v2(handle, "INSERT INTO point VALUES (?, ?, ?, ?)", -1, &insert, nullptr);
  sqlite3_prepare_v2(handle, "SELECT time, step, value FROM point WHERE metric = ? ORDER BY time", -1,
                     &select, nullptr);
  for (std::size_t call = 0; call < c.appends; ++call) {
    const auto points = call_of(c, call, random);
    const auto start = Clock::now();
    execute("BEGIN IMMEDIATE");
    for (std::size_t m = 0; m < c.metrics; ++m)
      for (const store::Point& p : points[m]) {
        sqlite3_bind_int64(insert, 1, static_cast<std::int64_t>(m));
        sqlite3_bind_int64(insert, 2, p.time);
        sqlite3_bind_int64(insert, 3, p.step);
        sqlite3_bind_double(insert, 4, p.value);
        expect(sqlite3_step(insert) == SQLITE_DONE, "insert");
        sqlite3_reset(insert);
      }
    execute("COMMIT");
    out.append_seconds += seconds_since(start);
  }
  const auto reading = Clock::now();
  for (std::size_t m = 0; m < c.metrics; ++m) {
    std::vector<store::Point> history;
    sqlite3_bind_int64(select, 1, static_cast<std::int64_t>(m));
    while (sqlite3_step(select) == SQLITE_ROW)
      history.push_back({sqlite3_column_int64(select, 0), sqlite3_column_int64(select, 1),
                         sqlite3_column_double(select, 2)});
    sqlite3_reset(select);
    out.points += history.size();
  }
  out.read_seconds = seconds_since(reading);
  sqlite3_finalize(insert);
  sqlite3_finalize(select);
  sqlite3_close(handle);
  out.bytes = fs::file_size(path);
  return out;
}

}  // namespace

int main() {
  const Result<TemporaryDirectory> folder = TemporaryDirectory::make("plimsoll-bench");
  if (!folder) return 1;
  fmt::print("{:<36}{:>10}{:>24}{:>22}{:>24}\n", "", "points", "appended, k points/s", "bytes per point",
             "read, k points/s");
  for (std::size_t i = 0; i < std::size(kCases); ++i) {
    const Case& c = kCases[i];
    const Figures peer = rows(c, folder->path() / fmt::format("rows{}.db", i));
    const Figures own = ours(c, folder->path() / fmt::format("store{}.db", i));
    expect(own.points == peer.points, "both hold the same");
    const auto count = static_cast<double>(own.points);
    const auto line = [&](std::string_view title, const Figures& f) {
      fmt::print("{:<36}{:>10}{:>24.0f}{:>22.2f}{:>24.0f}\n", title, f.points,
                 1e-3 * count / f.append_seconds, static_cast<double>(f.bytes) / count,
                 1e-3 * count / f.read_seconds);
    };
    fmt::print("{}\n", c.title);
    line("  a row per point", peer);
    line("  the store, compacted", own);
    fmt::print("{:<36}{:>10}{:>23.2f}x{:>21.2f}x{:>23.2f}x\n", "  ratio (above 1: the store is better)", "",
               peer.append_seconds / own.append_seconds,
               static_cast<double>(peer.bytes) / static_cast<double>(own.bytes),
               peer.read_seconds / own.read_seconds);
  }
  return 0;
}
