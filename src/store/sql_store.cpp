#include "store/sql_store.hpp"

#include <algorithm>
#include <utility>

#include "base/printable.hpp"
#include "base/random_text.hpp"
#include "store/append.hpp"
#include "store/append_at_once.hpp"
#include "store/claim_rows.hpp"
#include "store/experiment_rows.hpp"
#include "store/history.hpp"
#include "store/input_rows.hpp"
#include "store/location.hpp"
#include "store/model_rows.hpp"
#include "store/points.hpp"
#include "store/purge.hpp"
#include "store/queue_rows.hpp"
#include "store/registry_rows.hpp"
#include "store/run_rows.hpp"
#include "store/timestamp.hpp"
#include "store/transactions.hpp"

namespace plimsoll::store {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kIdBytes = 16;

/// The id that was given, or a new one.
Result<std::string> new_run_id(const std::optional<std::string>& given) {
  if (!given) return random_hex(kIdBytes);
  if (!is_run_id(*given))
    return fail("{} is not the id of a run: 32 hexadecimal digits in lower case", quote(*given));
  return *given;
}

class SqlStore final : public Store {
 public:
  explicit SqlStore(SqlStoreParts parts)
      : parts_(std::move(parts)),
        transactions_(*parts_.writers, parts_.readers.get()),
        claims_(make_claims(transactions_)),
        queue_(make_queue(transactions_)),
        registry_(make_registry(transactions_)) {}

  Result<std::string> create(const NewRun& run) override {
    Result<std::string> id = new_run_id(run.id);
    if (!id) return id;
    PLIMSOLL_TRY(write([&](Database& database) { return insert_run(database, *id, run); }));
    return id;
  }

  Status change(std::string_view run, const Change& change) override {
    return write_run(
        run, [&](Database& database, std::int64_t number) { return update_run(database, number, change); });
  }

  Status append(std::span<const Batch> batches) override {
    if (parts_.appends_at_once && batches.size() == 1 && fits_at_once(batches.front())) {
      const Result<bool> done = try_at_once(batches.front());
      if (!done) return std::unexpected(done.error());
      if (*done) return {};
    }
    return write([&](Database& database) { return append_batches(database, batches); });
  }

  Status compact(std::string_view run) override {
    return write_run(
        run, [&](Database& database, std::int64_t number) { return compact_points(database, number); });
  }

  Result<Run> find(std::string_view id) override {
    return read_run<Run>(id,
                         [&](Database& database, std::int64_t number) { return load_run(database, number); });
  }

  Result<std::vector<Found>> search(const Search& search, const Known& known) override {
    return read<std::vector<Found>>([&](Database& database) { return find_runs(database, search, known); });
  }

  Result<std::int64_t> count(const Search& search) override {
    return read<std::int64_t>([&](Database& database) { return count_runs(database, search); });
  }

  Result<RunKeys> keys(std::span<const std::int64_t> experiments, std::size_t most) override {
    return read<RunKeys>([&](Database& database) { return keys_of_runs(database, experiments, most); });
  }

  Result<std::vector<Point>> history(std::string_view run, std::string_view metric, std::optional<Time> from,
                                     std::optional<Time> to) override {
    return read_run<std::vector<Point>>(run, [&](Database& database, std::int64_t number) {
      return read_points(database, number, metric, from, to);
    });
  }

  Result<Page> history_page(std::string_view run, std::string_view metric, std::string_view token,
                            std::size_t limit) override {
    return read_run<Page>(run, [&](Database& database, std::int64_t number) {
      return read_page(database, number, metric, token, limit);
    });
  }

  Result<std::vector<Span>> outline(std::string_view run, std::string_view metric, std::size_t most,
                                    std::optional<Time> from, std::optional<Time> to) override {
    return read_run<std::vector<Span>>(run, [&](Database& database, std::int64_t number) {
      return read_outline(database, number, metric, most, from, to);
    });
  }

  Result<std::vector<Point>> sample(std::string_view run, std::string_view metric, std::size_t most,
                                    const Steps& steps) override {
    return read_run<std::vector<Point>>(run, [&](Database& database, std::int64_t number) {
      return read_sample(database, number, metric, most, steps);
    });
  }

  Result<std::int64_t> create_experiment(const NewExperiment& experiment) override {
    std::int64_t id = 0;
    PLIMSOLL_TRY(write([&](Database& database) -> Status {
      const Result<std::int64_t> made = insert_experiment(database, experiment);
      if (!made) return std::unexpected(made.error());
      id = *made;
      return {};
    }));
    return id;
  }

  Result<Experiment> experiment(std::int64_t id) override {
    return read<Experiment>([&](Database& database) { return load_experiment(database, id); });
  }

  Result<std::optional<Experiment>> experiment_named(std::string_view name) override {
    using Found = std::optional<Experiment>;
    return read<Found>([&](Database& database) -> Result<Found> {
      const Result<std::optional<std::int64_t>> id = experiment_number(database, name);
      if (!id) return std::unexpected(id.error());
      if (!*id) return Found();
      Result<Experiment> experiment = load_experiment(database, **id);
      if (!experiment) return std::unexpected(std::move(experiment).error());
      return Found(std::move(*experiment));
    });
  }

  Result<std::vector<Experiment>> search_experiments(const ExperimentSearch& search) override {
    return read<std::vector<Experiment>>(
        [&](Database& database) { return find_experiments(database, search); });
  }

  Status change_experiment(std::int64_t id, const ExperimentChange& change) override {
    return write([&](Database& database) { return update_experiment(database, id, change); });
  }

  Status add_inputs(std::string_view run, std::span<const Input> inputs,
                    std::span<const ModelLink> models) override {
    return write_run(run, [&](Database& database, std::int64_t number) -> Status {
      PLIMSOLL_TRY(insert_inputs(database, number, inputs));
      return insert_model_links(database, number, false, models);
    });
  }

  Status add_outputs(std::string_view run, std::span<const ModelLink> models) override {
    return write_run(run, [&](Database& database, std::int64_t number) {
      return insert_model_links(database, number, true, models);
    });
  }

  Result<std::string> create_model(const NewModel& model) override {
    Result<std::string> id = model.id ? Result<std::string>(*model.id) : random_hex(kIdBytes);
    if (!id) return id;
    if (!model.id) *id = "m-" + *id;
    PLIMSOLL_TRY(write([&](Database& database) { return insert_model(database, *id, model); }));
    return id;
  }

  Result<LoggedModel> model(std::string_view id) override {
    return read<LoggedModel>([&](Database& database) { return load_model(database, id); });
  }

  Result<std::vector<LoggedModel>> search_models(const ModelSearch& search) override {
    return read<std::vector<LoggedModel>>([&](Database& database) { return find_models(database, search); });
  }

  Status change_model(std::string_view id, const ModelChange& change) override {
    return write([&](Database& database) { return update_model(database, id, change); });
  }

  Result<bool> maintain(std::chrono::seconds quiet) override {
    bool more = false;
    PLIMSOLL_TRY(write([&](Database& database) -> Status {
      const Result<bool> joined = join_somewhere(database, now() - std::chrono::microseconds(quiet).count());
      if (!joined) return std::unexpected(joined.error());
      more = *joined;
      return {};
    }));
    if (!more && parts_.refresh_statistics) PLIMSOLL_TRY(write(parts_.refresh_statistics));
    return more;
  }

  Status remove(std::string_view run) override {
    return write_run(
        run, [&](Database& database, std::int64_t number) { return mark_run(database, number, true); });
  }

  Status restore(std::string_view run) override {
    return write_run(
        run, [&](Database& database, std::int64_t number) { return mark_run(database, number, false); });
  }

  Claims& claims() override { return *claims_; }
  Queue& queue() override { return *queue_; }
  Registry& registry() override { return *registry_; }
  Result<std::size_t> purge() override;
  Result<fs::path> artifacts(std::string_view run) override;
  Result<std::vector<File>> files(std::string_view run) override;
  Result<fs::path> model_artifacts(std::string_view model) override;
  Result<fs::path> uploads() override;
  std::string location() const override { return parts_.location; }

 private:
  template <class Work>
  Status write(const Work& work) {
    return transactions_.write(work);
  }

  /// Whether it was done; else it is to be done in the usual way.
  Result<bool> try_at_once(const Batch& batch) {
    const Result<Connections::Lease> database = parts_.writers->take();
    if (!database) return std::unexpected(database.error());
    Result<bool> done = with_patience(**database, [&] { return append_at_once(**database, batch); });
    // With the connection went the answer. The same points again do no harm: each counts once.
    if (!done && (*database)->is_lost()) return false;
    return done;
  }

  template <class Work>
  Status write_run(std::string_view run, const Work& work) {
    return write([&](Database& database) -> Status {
      const Result<std::int64_t> number = locked_run(database, run);
      if (!number) return std::unexpected(number.error());
      return work(database, *number);
    });
  }

  template <class T, class Work>
  Result<T> read(const Work& work) {
    return transactions_.read<T>(work);
  }

  template <class T, class Work>
  Result<T> read_run(std::string_view run, const Work& work) {
    return read<T>([&](Database& database) -> Result<T> {
      const Result<std::int64_t> number = run_number(database, run);
      if (!number) return std::unexpected(number.error());
      return work(database, *number);
    });
  }

  Result<fs::path> artifact_directory(std::string_view run);

  SqlStoreParts parts_;
  Transactions transactions_;
  std::unique_ptr<Claims> claims_;
  std::unique_ptr<Queue> queue_;
  std::unique_ptr<Registry> registry_;
};

Result<std::size_t> SqlStore::purge() {
  Result<Purged> purged = transactions_.write_for<Purged>(purge_rows);
  if (!purged) return std::unexpected(std::move(purged).error());
  // The files go after the rows: a purge that is cut short leaves files without a run, not a run without
  // files; and the store knows which.
  const Status files = remove_leftovers(transactions_, parts_.artifacts);
  if (parts_.give_space_back && (purged->runs > 0 || purged->others)) {
    const Result<Connections::Lease> database = parts_.writers->take();
    if (!database) return std::unexpected(database.error());
    PLIMSOLL_TRY(parts_.give_space_back(**database));
  }
  if (!files) return std::unexpected(files.error());
  return purged->runs;
}

Result<fs::path> SqlStore::artifact_directory(std::string_view run) {
  const Result<std::string> id =
      read_run<std::string>(run, [&](Database& database, std::int64_t number) -> Result<std::string> {
        Query query = database.query("SELECT id FROM run WHERE number = ?");
        PLIMSOLL_TRY(query.bind(number).row());
        return query.text(0);
      });
  if (!id) return std::unexpected(id.error());
  if (!is_run_id(*id)) return fail("the store is damaged: {} is not the id of a run", quote(*id));
  return parts_.artifacts / *id;
}

Result<fs::path> SqlStore::artifacts(std::string_view run) {
  Result<fs::path> directory = artifact_directory(run);
  if (directory) PLIMSOLL_TRY(make_private_directory(*directory));
  return directory;
}

Result<std::vector<File>> SqlStore::files(std::string_view run) {
  constexpr std::size_t kMostFiles = 10'000;
  const Result<fs::path> directory = artifact_directory(run);
  if (!directory) return std::unexpected(directory.error());
  return list_files(*directory, kMostFiles);
}

Result<fs::path> SqlStore::model_artifacts(std::string_view model) {
  const Result<LoggedModel> found = this->model(model);
  if (!found) return std::unexpected(found.error());
  if (!found->id.starts_with("m-") || !is_run_id(found->id.substr(2)))
    return fail("the store is damaged: {} is not the id of a model", quote(found->id));
  fs::path directory = parts_.artifacts / found->id;
  PLIMSOLL_TRY(make_private_directory(directory));
  return directory;
}

Result<fs::path> SqlStore::uploads() {
  fs::path directory = parts_.artifacts / "uploads";
  PLIMSOLL_TRY(make_private_directory(directory));
  return directory;
}

}  // namespace

std::unique_ptr<Store> make_sql_store(SqlStoreParts parts) {
  return std::make_unique<SqlStore>(std::move(parts));
}

}  // namespace plimsoll::store
