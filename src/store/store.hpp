#pragma once
#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "store/claim.hpp"
#include "store/experiment.hpp"
#include "store/model.hpp"
#include "store/queue.hpp"
#include "store/registry.hpp"
#include "store/run.hpp"

namespace plimsoll::store {

struct NewRun {
  std::string experiment = "Default";
  std::string name = {};
  RunStatus status = RunStatus::running;
  Time start = 0;  ///< 0: now
  std::map<std::string, std::string> params = {};
  std::map<std::string, std::string> tags = {};
  std::optional<std::int64_t> experiment_id = {};  ///< instead of its name; must be there
  std::optional<std::string> id = {};              ///< given by who copies from elsewhere
  std::string user = {};
  std::optional<Time> end = {};
};

struct Change {
  std::optional<RunStatus> status = {};
  std::optional<Time> end = {};
  /// Added; refused where one is set already to another value.
  std::map<std::string, std::string> params = {};
  std::map<std::string, std::string> tags = {};  ///< set or replaced
  std::optional<std::string> name = {};
  std::vector<std::string> tags_removed = {};  ///< each must be there
  std::optional<Time> start = {};
};

struct Search {
  std::string filter = {};                     ///< in MLflow's language; empty: all
  std::vector<std::string> order_by = {};      ///< "metrics.loss ASC"; then by start, newest first
  std::optional<std::string> experiment = {};  ///< by name
  std::size_t limit = 1000;
  View view = View::active;
  std::size_t offset = 0;                         ///< so many are left out at the beginning of the answer
  std::vector<std::int64_t> experiment_ids = {};  ///< empty: all
};

/// A run of a search. With every change but of the number of a metric's points, some of which may be there
/// twice, a run has another version, and never one that it had before.
struct Found {
  std::string id;
  std::int64_t version = 0;
  std::optional<Run> run = {};  ///< nothing where the caller knows it
};
/// Whether the caller has a run of this id in this version.
using Known = std::function<bool(const std::string& id, std::int64_t version)>;

/// Names that runs have in use, each list in the order of the alphabet.
struct RunKeys {
  std::vector<std::string> metrics, params, tags, users;
  bool is_complete = true;  ///< there may be others, of older runs or beyond what was asked for
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
/// find(). Names have 1 to 250 characters, values of params and tags up to 64 KiB. Errors: not_found and
/// exists_already where that is so, unavailable where the disk is full, another writer does not let go or the
/// server is away, so that a caller can keep what it has and try again; bad_input for what is wrong in the
/// question.
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
  [[nodiscard]] Result<std::vector<Run>> search(const Search& search);
  /// The same without the runs that the caller has already in their present version.
  [[nodiscard]] virtual Result<std::vector<Found>> search(const Search& search, const Known& known) = 0;
  /// How many runs there are, whatever the search's limit and offset.
  [[nodiscard]] virtual Result<std::int64_t> count(const Search& search) = 0;
  /// What the newest runs of these experiments (none: of all) have; `most` names of each kind at most.
  [[nodiscard]] virtual Result<RunKeys> keys(std::span<const std::int64_t> experiments, std::size_t most) = 0;
  /// In the order of time; of `from` and `to` both are included. Empty where the run has no such metric.
  [[nodiscard]] virtual Result<std::vector<Point>> history(std::string_view run, std::string_view metric,
                                                           std::optional<Time> from = {},
                                                           std::optional<Time> to = {}) = 0;

  /// In the order of time, then step, then value (a NaN last), as MLflow's get-history; no point twice.
  /// `token`: what the page before gave as `next`, "" at first.
  [[nodiscard]] virtual Result<Page> history_page(std::string_view run, std::string_view metric,
                                                  std::string_view token, std::size_t limit) = 0;
  /// A metric's history in `most` spans at most, in the order of time. Long ones come from summaries that are
  /// kept beside the points, so that few of these are read.
  [[nodiscard]] virtual Result<std::vector<Span>> outline(std::string_view run, std::string_view metric,
                                                          std::size_t most, std::optional<Time> from = {},
                                                          std::optional<Time> to = {}) = 0;
  /// `most` points at most, evenly spread in the order of step, time and value, with the first and the last
  /// among them. Of a history of hundreds of times as many, the points that open its summaries' blocks are
  /// taken, so that few chunks are read: each may stand up to 127 places before the one that is due.
  [[nodiscard]] virtual Result<std::vector<Point>> sample(std::string_view run, std::string_view metric,
                                                          std::size_t most, const Steps& steps = {}) = 0;

  [[nodiscard]] virtual Result<std::int64_t> create_experiment(const NewExperiment& experiment) = 0;
  [[nodiscard]] virtual Result<Experiment> experiment(std::int64_t id) = 0;
  [[nodiscard]] virtual Result<std::optional<Experiment>> experiment_named(std::string_view name) = 0;
  [[nodiscard]] virtual Result<std::vector<Experiment>> search_experiments(
      const ExperimentSearch& search) = 0;
  [[nodiscard]] virtual Status change_experiment(std::int64_t id, const ExperimentChange& change) = 0;

  /// What is there already stays as it is.
  [[nodiscard]] virtual Status add_inputs(std::string_view run, std::span<const Input> inputs,
                                          std::span<const ModelLink> models = {}) = 0;
  [[nodiscard]] virtual Status add_outputs(std::string_view run, std::span<const ModelLink> models) = 0;

  /// Models are named by their whole id.
  [[nodiscard]] virtual Result<std::string> create_model(const NewModel& model) = 0;
  [[nodiscard]] virtual Result<LoggedModel> model(std::string_view id) = 0;
  [[nodiscard]] virtual Result<std::vector<LoggedModel>> search_models(const ModelSearch& search) = 0;
  [[nodiscard]] virtual Status change_model(std::string_view id, const ModelChange& change) = 0;

  /// A slice of some milliseconds of what is better done when nobody waits: small pieces of metrics are
  /// joined, of runs that have not changed for so long, since who adds to a run waits meanwhile. Returns
  /// whether there is more to do.
  [[nodiscard]] virtual Result<bool> maintain(std::chrono::seconds quiet) = 0;

  /// Who holds what of those that share the store; as long as the store is there.
  [[nodiscard]] virtual Claims& claims() = 0;
  /// The jobs of those that share the store; as long as the store is there.
  [[nodiscard]] virtual Queue& queue() = 0;
  /// The registered models; as long as the store is there.
  [[nodiscard]] virtual Registry& registry() = 0;

  /// Marks it; `purge` removes marked runs, experiments and models for good, with their artifacts, and gives
  /// their space back. Where that ends halfway, or files cannot be removed, the next one does the rest.
  [[nodiscard]] virtual Status remove(std::string_view run) = 0;
  [[nodiscard]] virtual Status restore(std::string_view run) = 0;
  [[nodiscard]] virtual Result<std::size_t> purge() = 0;

  /// Where the run's files are kept (logs, patches, profiles); made on the first call, for this user only.
  [[nodiscard]] virtual Result<std::filesystem::path> artifacts(std::string_view run) = 0;
  /// Those files in the order of their paths, 10,000 at most; symbolic links are left out. Makes nothing.
  [[nodiscard]] virtual Result<std::vector<File>> files(std::string_view run) = 0;
  /// Where a logged model's files are kept; made on the first call.
  [[nodiscard]] virtual Result<std::filesystem::path> model_artifacts(std::string_view model) = 0;
  /// Where files wait that are on their way to be artifacts, on the same file system; made on the first call.
  [[nodiscard]] virtual Result<std::filesystem::path> uploads() = 0;
  [[nodiscard]] virtual std::string location() const = 0;  ///< for people: the path or the masked address

 protected:
  Store() = default;
  Store(const Store&) = default;
  Store& operator=(const Store&) = default;
};

/// How commits are kept. A write-ahead log is several times quicker, and readers and the writer do not wait
/// for each other, but all processes must be on one machine: its index is shared memory. A rollback journal
/// needs locks alone.
enum class Journal {
  automatic,  ///< rollback on a file system of the network (NFS, Lustre, CephFS…), else write_ahead
  write_ahead,
  rollback,
};

struct OpenOptions {
  bool create = true;  ///< make the store where there is none; else that is an error
  /// How long a call waits for another process that is writing before it gives up.
  std::chrono::milliseconds busy_timeout = std::chrono::seconds(10);
  Journal journal = Journal::automatic;
  /// False: a commit to a write-ahead log of SQLite returns once no process' death can undo it, before it is
  /// on the disk. Many times as quick; a power cut may cost the last seconds, never the order or the whole.
  bool survives_power_cut = true;
  /// Where artifacts of a store in PostgreSQL are kept; empty: PLIMSOLL_ARTIFACTS, else
  /// $XDG_DATA_HOME/plimsoll/artifacts. Those of a file are beside it.
  std::filesystem::path artifacts = {};
};

/// Opens the store, and makes it where there is none. `location`: a path, postgresql://…, or "" for
/// PLIMSOLL_STORE, else $XDG_DATA_HOME/plimsoll/plimsoll.db, else ~/.local/share/plimsoll/plimsoll.db.
[[nodiscard]] Result<std::unique_ptr<Store>> open(const std::string& location = {},
                                                  const OpenOptions& options = {});

}  // namespace plimsoll::store
