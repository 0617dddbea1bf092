// Keeping metrics: points per second appended, bytes per point on disk and points per second read back,
// against the same points as one row each in SQLite with the same durability (write-ahead log,
// synchronous=FULL) and an index by which a metric's history is found.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <ctime>
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
  double append_seconds = 0, append_processor = 0, read_seconds = 0;
  std::uintmax_t bytes = 0;
  std::size_t points = 0;
};

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// Adds what passes until its end to the figures of appending: on the clock, most of which the disk's
/// flushing takes, and of the processor, which does not depend on the disk.
class Appending {
 public:
  explicit Appending(Figures& figures) : figures_(&figures) {}
  Appending(const Appending&) = delete;
  Appending& operator=(const Appending&) = delete;
  ~Appending() {
    figures_->append_seconds += seconds_since(start_);
    figures_->append_processor += processor_seconds() - processor_;
  }

 private:
  Figures* figures_;
  Clock::time_point start_ = Clock::now();
  double processor_ = processor_seconds();
};

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

using Call = std::vector<std::vector<store::Point>>;  ///< by metric

class Chunks {
 public:
  explicit Chunks(const fs::path& path) : path_(path), store_(store::open(path.string())) {
    expect(store_.has_value(), "open");
    run_ = (*store_)->create({}).value_or("");
  }
  void append(const Call& call) {
    const Appending appending(figures_);
    std::vector<store::Batch> batches;
    for (std::size_t m = 0; m < call.size(); ++m)
      batches.push_back({run_, metric_name(m), {"1", "bench"}, call[m]});
    expect((*store_)->append(batches).has_value(), "append");
  }
  Figures finish(std::size_t metrics) {
    {
      const Appending appending(figures_);
      expect((*store_)->compact(run_).has_value(), "compact");
    }
    const auto reading = Clock::now();
    for (std::size_t m = 0; m < metrics; ++m)
      figures_.points += (*store_)->history(run_, metric_name(m))->size();
    figures_.read_seconds = seconds_since(reading);
    store_->reset();
    figures_.bytes = fs::file_size(path_);  // closed: the log is in it
    return figures_;
  }

 private:
  fs::path path_;
  Result<std::unique_ptr<store::Store>> store_;
  std::string run_;
  Figures figures_;
};

class Rows {
 public:
  explicit Rows(const fs::path& path) : path_(path) {
    expect(sqlite3_open(path.c_str(), &handle_) == SQLITE_OK, "open");
    execute(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"
        "CREATE TABLE point(metric INTEGER, time INTEGER, step INTEGER, value REAL);"
        "CREATE INDEX point_by_metric ON point(metric, time)");
    sqlite3_prepare_v2(handle_, "INSERT INTO point VALUES (?, ?, ?, ?)", -1, &insert_, nullptr);
    sqlite3_prepare_v2(handle_, "SELECT time, step, value FROM point WHERE metric = ? ORDER BY time", -1,
                       &select_, nullptr);
  }
  void append(const Call& call) {
    const Appending appending(figures_);
    execute("BEGIN IMMEDIATE");
    for (std::size_t m = 0; m < call.size(); ++m)
      for (const store::Point& p : call[m]) {
        sqlite3_bind_int64(insert_, 1, static_cast<std::int64_t>(m));
        sqlite3_bind_int64(insert_, 2, p.time);
        sqlite3_bind_int64(insert_, 3, p.step);
        sqlite3_bind_double(insert_, 4, p.value);
        expect(sqlite3_step(insert_) == SQLITE_DONE, "insert");
        sqlite3_reset(insert_);
      }
    execute("COMMIT");
  }
  Figures finish(std::size_t metrics) {
    const auto reading = Clock::now();
    for (std::size_t m = 0; m < metrics; ++m) {
      std::vector<store::Point> history;
      sqlite3_bind_int64(select_, 1, static_cast<std::int64_t>(m));
      while (sqlite3_step(select_) == SQLITE_ROW)
        history.push_back({sqlite3_column_int64(select_, 0), sqlite3_column_int64(select_, 1),
                           sqlite3_column_double(select_, 2)});
      sqlite3_reset(select_);
      figures_.points += history.size();
    }
    figures_.read_seconds = seconds_since(reading);
    sqlite3_finalize(insert_);
    sqlite3_finalize(select_);
    sqlite3_close(handle_);
    figures_.bytes = fs::file_size(path_);
    return figures_;
  }

 private:
  void execute(const char* sql) {
    expect(sqlite3_exec(handle_, sql, nullptr, nullptr, nullptr) == SQLITE_OK, sql);
  }

  fs::path path_;
  sqlite3* handle_ = nullptr;
  sqlite3_stmt *insert_ = nullptr, *select_ = nullptr;
  Figures figures_;
};

}  // namespace

int main() {
  const Result<TemporaryDirectory> folder = TemporaryDirectory::make("plimsoll-bench");
  if (!folder) return 1;
  fmt::print("{:<40}{:>8}{:>22}{:>24}{:>17}{:>18}\n", "", "points", "appended, k points/s",
             "processor, us per point", "bytes per point", "read, k points/s");
  for (std::size_t i = 0; i < std::size(kCases); ++i) {
    const Case& c = kCases[i];
    Rows rows(folder->path() / fmt::format("rows{}.db", i));
    Chunks chunks(folder->path() / fmt::format("store{}.db", i));
    std::mt19937 random(1);
    // Both take turns, call by call: a machine that changes its speed changes it for both.
    for (std::size_t call = 0; call < c.appends; ++call) {
      const Call points = call_of(c, call, random);
      rows.append(points);
      chunks.append(points);
    }
    const Figures peer = rows.finish(c.metrics), own = chunks.finish(c.metrics);
    expect(own.points == peer.points, "both hold the same");
    const auto count = static_cast<double>(own.points);
    const auto line = [&](std::string_view title, const Figures& f) {
      fmt::print("{:<40}{:>8}{:>22.0f}{:>24.2f}{:>17.2f}{:>18.0f}\n", title, f.points,
                 1e-3 * count / f.append_seconds, 1e6 * f.append_processor / count,
                 static_cast<double>(f.bytes) / count, 1e-3 * count / f.read_seconds);
    };
    fmt::print("{}\n", c.title);
    line("  a row per point", peer);
    line("  the store, compacted", own);
    fmt::print("{:<48}{:>21.2f}x{:>23.2f}x{:>16.2f}x{:>17.2f}x\n", "  ratio (above 1: the store is better)",
               peer.append_seconds / own.append_seconds, peer.append_processor / own.append_processor,
               static_cast<double>(peer.bytes) / static_cast<double>(own.bytes),
               peer.read_seconds / own.read_seconds);
  }
  return 0;
}
