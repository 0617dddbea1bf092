#pragma once
#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "store/run.hpp"

namespace plimsoll::store {

struct NewRun {
  std::string experiment = "Default";
  std::string name = {};
  RunStatus status = RunStatus::running;
  Time start = 0;  ///< 0: now
  std::map<std::string, std::string> params = {};
  std::map<std::string, std::string> tags = {};
};

struct Change {
  std::optional<RunStatus> status = {};
  std::optional<Time> end = {};
  std::map<std::string, std::string> params =
      {};                                        ///< added; refused where one is set already to another value
  std::map<std::string, std::string> tags = {};  ///< set or replaced
};

struct Search {
  std::string filter = {};                     ///< in MLflow's language; empty: all
  std::vector<std::string> order_by = {};      ///< "metrics.loss ASC"; then by start, newest first
  std::optional<std::string> experiment = {};  ///< by name
  std::size_t limit = 1000;
  std::size_t offset = 0;  ///< of the answer, so many are left out at its beginning
  bool deleted = false;    ///< the deleted ones instead of the others
};

/// A file among a run's artifacts.
struct File {
  std::string path;  ///< below the directory that artifacts() gives
  std::int64_t bytes = 0;
  friend bool operator==(const File&, const File&) = default;
};

/// Runs and all that is kept of them. Every call that returns without an error is durable: it survives
/// kill -9 of this process at once. Several processes may write to one store, and several threads use one
/// object; but not a child after fork. Where a run is asked for, the beginning of its id will do, as in
/// find(). Names have 1 to 250 bytes, values of params and tags up to 64 KiB. Errors: machine_lacks where the
/// disk is full or another writer does not let go, so that a caller can keep what it has and try again.
class Store {
 public:
  virtual ~Store() = default;

  [[nodiscard]] virtual Result<std::string> create(const NewRun& run) = 0;  ///< its id
  [[nodiscard]] virtual Status change(std::string_view run, const Change& change) = 0;
  /// All of it or nothing, in one transaction.
  [[nodiscard]] virtual Status append(std::span<const Batch> batches) = 0;
  /// Joins the many small pieces that appending leaves; called when a run has ended.
  [[nodiscard]] virtual Status compact(std::string_view run) = 0;

  /// By its id or the beginning of it (at least 4 digits); refused where it fits several.
  [[nodiscard]] virtual Result<Run> find(std::string_view id) = 0;
  [[nodiscard]] virtual Result<std::vector<Run>> search(const Search& search) = 0;
  /// In the order of time; of `from` and `to` both are included. Empty where the run has no such metric.
  [[nodiscard]] virtual Result<std::vector<Point>> history(std::string_view run, std::string_view metric,
                                                           std::optional<Time> from = {},
                                                           std::optional<Time> to = {}) = 0;

  /// Marks it; `purge` removes marked runs for good, with their artifacts.
  [[nodiscard]] virtual Status remove(std::string_view run) = 0;
  [[nodiscard]] virtual Status restore(std::string_view run) = 0;
  [[nodiscard]] virtual Result<std::size_t> purge() = 0;

  /// Where the run's files are kept (logs, patches, profiles); made on the first call, for this user only.
  [[nodiscard]] virtual Result<std::filesystem::path> artifacts(std::string_view run) = 0;
  /// Those files in the order of their paths, 10,000 at most; symbolic links are left out. Makes nothing.
  [[nodiscard]] virtual Result<std::vector<File>> files(std::string_view run) = 0;
  [[nodiscard]] virtual std::string location() const = 0;  ///< for people: the file's path

 protected:
  Store() = default;
  Store(const Store&) = default;
  Store& operator=(const Store&) = default;
};

struct OpenOptions {
  bool create = true;  ///< make the store where there is none; else that is an error
  /// How long a call waits for another process that is writing before it gives up.
  std::chrono::milliseconds busy_timeout = std::chrono::seconds(10);
};

/// Opens the store, and makes it where there is none. `location`: a path, or "" for PLIMSOLL_STORE, else
/// $XDG_DATA_HOME/plimsoll/plimsoll.db, else ~/.local/share/plimsoll/plimsoll.db.
[[nodiscard]] Result<std::unique_ptr<Store>> open(const std::string& location = {},
                                                  const OpenOptions& options = {});

}  // namespace plimsoll::store
