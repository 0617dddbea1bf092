#include "store/run_rows.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <span>
#include <unordered_map>

#include "base/printable.hpp"
#include "base/text.hpp"
#include "store/experiment_rows.hpp"
#include "store/input_rows.hpp"
#include "store/purge.hpp"
#include "store/selection.hpp"
#include "store/texts.hpp"
#include "store/timestamp.hpp"

namespace plimsoll::store {
namespace {

constexpr std::size_t kIdDigits = 32, kLeastDigits = 4;
constexpr Literal kSetRunTag =
    "INSERT INTO tag(run, name, value) VALUES (?, ?, ?) "
    "ON CONFLICT(run, name) DO UPDATE SET value = excluded.value";

Error no_such_run(std::string_view id) {
  return Error{fmt::format("there is no run {}", quote(id)),
               {},
               "`plimsoll runs` lists them, `plimsoll runs --deleted` "
               "the deleted ones.",
               Error::Kind::not_found};
}

using Params = std::map<std::string, std::string>;

/// Those from `first` on and before `last`, all asked for before the first answer is read.
Status insert_some(Database& database, std::int64_t run, Params::const_iterator first,
                   Params::const_iterator last) {
  std::vector<Query> found;
  for (auto param = first; param != last; ++param) {
    const auto& [name, value] = *param;
    PLIMSOLL_TRY(check_name("parameter", name));
    PLIMSOLL_TRY(check_value("parameter", name, value));
    PLIMSOLL_TRY(database.query("INSERT INTO param(run, name, value) VALUES (?, ?, ?) ON CONFLICT DO NOTHING")
                     .bind(run)
                     .bind(name)
                     .bind(value)
                     .run());
    found.push_back(database.query("SELECT value FROM param WHERE run = ? AND name = ?"));
    PLIMSOLL_TRY(found.back().bind(run).bind(name).start());
  }
  for (Query& query : found) {
    PLIMSOLL_TRY(query.row());
    const auto& [name, value] = *first++;
    if (const std::string there = query.text(0); there != value)
      return std::unexpected(Error{fmt::format("parameter {} is {} already, and cannot become {}",
                                               quote(name), quote(there), quote(value)),
                                   {},
                                   "A parameter is set once; a tag can be changed."});
  }
  return {};
}

Status insert_params(Database& database, std::int64_t run, const Params& params) {
  constexpr std::ptrdiff_t kAtOnce = 64;
  for (auto next = params.begin(); next != params.end();) {
    const auto first = next;
    std::ranges::advance(next, kAtOnce, params.end());
    PLIMSOLL_TRY(insert_some(database, run, first, next));
  }
  return {};
}

/// What load_head() reads.
constexpr Literal kHeads =
    "SELECT r.number, r.id, e.name, r.name, r.status, r.start, r.\"end\", r.deleted, r.experiment, "
    "r.user_name, r.deleted_at FROM run r JOIN experiment e ON e.id = r.experiment WHERE r.number = ?";

Result<Run> load_head(const Query& row) {
  const std::optional<RunStatus> status = status_named(row.text(4));
  if (!status) return fail("the store is damaged: a run has the status {}", quote(row.text(4)));
  return Run{.id = row.text(1),
             .experiment = row.text(2),
             .name = row.text(3),
             .status = *status,
             .start = row.integer(5),
             .end = row.optional_integer(6),
             .deleted = row.boolean(7),
             .experiment_id = row.integer(8),
             .user = row.text(9),
             .deleted_at = row.optional_integer(10)};
}

Status load_texts(Query& query, const RunsByNumber& runs, Texts Run::* texts) {
  return for_each_row(query, [&](const Query& row) {
    if (const auto found = runs.find(row.integer(0)); found != runs.end())
      (found->second->*texts).emplace(row.text(1), row.text(2));
  });
}

Status load_metrics(Query& query, const RunsByNumber& runs) {
  return for_each_row(query, [&](const Query& row) {
    if (const auto found = runs.find(row.integer(0)); found != runs.end())
      found->second->metrics.emplace(row.text(1),
                                     Metric{.description = {row.text(2), row.text(3), row.text(8)},
                                            .latest = {row.integer(4), row.integer(5), row.real(6)},
                                            .points = row.integer(7)});
  });
}

/// All that is kept of some runs: a few statements for all of them, whatever their number, which the database
/// is asked at once.
class RunQueries {
 public:
  RunQueries(Database& database, std::span<const std::int64_t> numbers)
      : heads_(query_of(database, kHeads, numbers)),
        params_(query_of(database, "SELECT run, name, value FROM param WHERE run = ?", numbers)),
        tags_(query_of(database, "SELECT run, name, value FROM tag WHERE run = ?", numbers)),
        metrics_(query_of(database,
                          "SELECT run, name, unit, source, latest_time, latest_step, latest_value, points, "
                          "host FROM metric WHERE run = ?",
                          numbers)),
        inputs_(database, numbers) {}

  Status start() {
    for (Query* query : {&heads_, &params_, &tags_, &metrics_}) PLIMSOLL_TRY(query->start());
    return inputs_.start();
  }

  Status load(const RunsByNumber& runs) {
    PLIMSOLL_TRY(for_each_row(heads_, [&](const Query& row) -> Status {
      Result<Run> head = load_head(row);
      if (!head) return std::unexpected(std::move(head).error());
      if (const auto found = runs.find(row.integer(0)); found != runs.end())
        *found->second = std::move(*head);
      return {};
    }));
    PLIMSOLL_TRY(load_texts(params_, runs, &Run::params));
    PLIMSOLL_TRY(load_texts(tags_, runs, &Run::tags));
    PLIMSOLL_TRY(load_metrics(metrics_, runs));
    return inputs_.load(runs);
  }

 private:
  Query heads_, params_, tags_, metrics_;
  InputQueries inputs_;
};

}  // namespace

namespace {

/// All ids from `first` on and before `end`: those that begin alike, which the index serves.
struct IdRange {
  std::string first;
  std::string end;
};

/// Of a run's id or the beginning of it.
Result<IdRange> ids_from(std::string_view id) {
  std::string wanted = lower_case(id);
  const bool digits = wanted.find_first_not_of("0123456789abcdef") == std::string::npos;
  if (!digits || wanted.size() > kIdDigits) return std::unexpected(no_such_run(id));
  if (wanted.size() < kLeastDigits)
    return std::unexpected(Error{fmt::format("{} is too short for a run's id", quote(id)),
                                 {},
                                 fmt::format("Give at least {} of its digits.", kLeastDigits)});
  return IdRange{wanted, wanted + 'g'};  // which follows the last digit
}

/// The one run that `query` finds.
Result<std::int64_t> number_from(Query& query, std::string_view id) {
  std::vector<std::int64_t> numbers;
  std::string found;
  PLIMSOLL_TRY(for_each_row(query, [&](const Query& row) {
    numbers.push_back(row.integer(0));
    found += fmt::format("{}{} {}", found.empty() ? "" : ", ", row.text(1).substr(0, 12), quote(row.text(2)));
  }));
  if (numbers.empty()) return std::unexpected(no_such_run(id));
  if (numbers.size() > 1)
    return std::unexpected(Error{
        fmt::format("{} fits several runs", quote(id)), {}, fmt::format("Give more digits: {}", found)});
  return numbers.front();
}

}  // namespace

bool is_run_id(std::string_view id) {
  return id.size() == kIdDigits && id.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

Result<std::int64_t> run_number(Database& database, std::string_view id) {
  const Result<IdRange> ids = ids_from(id);
  if (!ids) return std::unexpected(ids.error());
  Query query =
      database.query("SELECT number, id, name FROM run WHERE id >= ? AND id < ? ORDER BY id LIMIT 4");
  query.bind(ids->first).bind(ids->end);
  return number_from(query, id);
}

Result<std::string> whole_id(std::string_view id) {
  Result<IdRange> ids = ids_from(id);
  if (!ids) return std::unexpected(std::move(ids).error());
  if (ids->first.size() < kIdDigits) return std::unexpected(no_such_run(id));
  return std::move(ids->first);
}

Result<std::string> full_id(Database& database, std::string_view id) {
  if (Result<std::string> whole = whole_id(id)) return whole;
  const Result<std::int64_t> number = run_number(database, id);
  if (!number) return std::unexpected(number.error());
  Query query = database.query("SELECT id FROM run WHERE number = ?");
  PLIMSOLL_TRY(query.bind(*number).row());
  return query.text(0);
}

LockedRun::LockedRun(Database& database, std::string_view id)
    : id_(id),
      query_(database.query(
          "UPDATE run SET version = CASE WHEN version < ? THEN ? ELSE version + 1 END WHERE id = ? "
          "RETURNING number, id, name")) {
  const Time version = now();
  query_.bind(version).bind(version).bind(id);
}

Result<std::int64_t> LockedRun::number() {
  return number_from(query_, id_);
}

Result<std::int64_t> locked_run(Database& database, std::string_view id) {
  const Result<std::string> whole = full_id(database, id);
  if (!whole) return std::unexpected(whole.error());
  return LockedRun(database, *whole).number();
}

Status insert_run(Database& database, const std::string& id, const NewRun& run) {
  PLIMSOLL_TRY(check_value("run", "name", run.name));
  PLIMSOLL_TRY(check_value("run", "user", run.user));
  const Result<std::int64_t> experiment = experiment_for_run(database, run.experiment_id, run.experiment);
  if (!experiment) return std::unexpected(experiment.error());
  if (run.id) PLIMSOLL_TRY(hold_leftover(database, id));
  Query query = database.query(
      "INSERT INTO run(id, experiment, name, status, start, \"end\", user_name, version) "
      "VALUES (?, ?, ?, ?, ?, ?, ?, ?) "
      "ON CONFLICT DO NOTHING RETURNING number");
  const Result<bool> row = query.bind(id)
                               .bind(*experiment)
                               .bind(run.name)
                               .bind(name(run.status))
                               .bind(run.start == 0 ? now() : run.start)
                               .bind(run.end)
                               .bind(run.user)
                               .bind(now())  // so that one that was purged and comes again is another
                               .next();
  if (!row) return std::unexpected(row.error());
  if (!*row)
    return std::unexpected(
        Error{fmt::format("there is a run {} already", quote(id)), {}, {}, Error::Kind::exists_already});
  const std::int64_t number = query.integer(0);
  PLIMSOLL_TRY(insert_params(database, number, run.params));
  return write_texts(database, kSetRunTag, number, "tag", run.tags);
}

Status update_run(Database& database, std::int64_t number, const Change& change) {
  if (change.status)
    PLIMSOLL_TRY(database.query("UPDATE run SET status = ? WHERE number = ?")
                     .bind(name(*change.status))
                     .bind(number)
                     .run());
  if (change.start)
    PLIMSOLL_TRY(
        database.query("UPDATE run SET start = ? WHERE number = ?").bind(*change.start).bind(number).run());
  if (change.end)
    PLIMSOLL_TRY(
        database.query("UPDATE run SET \"end\" = ? WHERE number = ?").bind(*change.end).bind(number).run());
  if (change.name) {
    PLIMSOLL_TRY(check_value("run", "name", *change.name));
    PLIMSOLL_TRY(
        database.query("UPDATE run SET name = ? WHERE number = ?").bind(*change.name).bind(number).run());
  }
  PLIMSOLL_TRY(insert_params(database, number, change.params));
  PLIMSOLL_TRY(remove_texts(database, "DELETE FROM tag WHERE run = ? AND name = ? RETURNING name", number,
                            "tag", change.tags_removed));
  return write_texts(database, kSetRunTag, number, "tag", change.tags);
}

Status mark_run(Database& database, std::int64_t number, bool deleted) {
  return database.query("UPDATE run SET deleted = ?, deleted_at = ? WHERE number = ?")
      .bind(std::int64_t{deleted})
      .bind(deleted ? std::optional(now()) : std::nullopt)
      .bind(number)
      .run();
}

Result<Run> load_run(Database& database, std::int64_t number) {
  Run run;
  RunQueries queries(database, {&number, 1});
  PLIMSOLL_TRY(queries.start());
  PLIMSOLL_TRY(queries.load({{number, &run}}));
  if (run.id.empty())
    return std::unexpected(Error{"the run has been purged meanwhile", {}, {}, Error::Kind::not_found});
  return run;
}

namespace {

Status select(Selection& selection, const Search& search) {
  selection.in_view(search.view);
  if (search.experiment) selection.in_experiment(*search.experiment);
  PLIMSOLL_TRY(selection.in_experiments(search.experiment_ids));
  return selection.matching(search.filter);
}

}  // namespace

Result<std::int64_t> count_runs(Database& database, const Search& search) {
  Selection selection(Subject::runs);
  PLIMSOLL_TRY(select(selection, search));
  Query query = selection.count(database);
  PLIMSOLL_TRY(query.row());
  return query.integer(0);
}

Result<RunKeys> keys_of_runs(Database& database, std::span<const std::int64_t> experiments,
                             std::size_t most) {
  // To look at all of a hundred thousand runs takes a second; the newest have what people ask for.
  constexpr std::size_t kRuns = 1000;
  Selection newest(Subject::runs);
  newest.in_view(View::active);
  PLIMSOLL_TRY(newest.in_experiments(experiments));
  std::vector<std::int64_t> numbers;
  {
    auto found = numbers_of(newest.page(database, "r.number", kRuns + 1, 0));
    PLIMSOLL_TRY(found);
    numbers = *std::move(found);
  }
  RunKeys out;
  out.is_complete = numbers.size() <= kRuns;
  if (!out.is_complete) numbers.pop_back();
  const auto read = [&](std::string_view what, std::vector<std::string>& names) -> Status {
    Query query = database.query_once(
        fmt::format("SELECT DISTINCT {} {} ORDER BY 1 LIMIT {}", what, database.one_of(), most + 1));
    query.bind_integers(numbers);
    PLIMSOLL_TRY(for_each_row(query, [&](const Query& row) { names.push_back(row.text(0)); }));
    if (names.size() <= most) return {};
    names.resize(most);
    out.is_complete = false;
    return {};
  };
  PLIMSOLL_TRY(read("name FROM metric WHERE run", out.metrics));
  PLIMSOLL_TRY(read("name FROM param WHERE run", out.params));
  PLIMSOLL_TRY(read("name FROM tag WHERE run", out.tags));
  PLIMSOLL_TRY(read("user_name FROM run WHERE user_name <> '' AND number", out.users));
  return out;
}

Result<std::vector<Found>> find_runs(Database& database, const Search& search, const Known& known) {
  Selection selection(Subject::runs);
  PLIMSOLL_TRY(select(selection, search));
  PLIMSOLL_TRY(selection.ordered_by(search.order_by));
  std::vector<Found> out;
  std::vector<std::int64_t> numbers;  // of those that are not known
  {
    Query page = selection.page(database, "r.number, r.id, r.version", search.limit, search.offset);
    PLIMSOLL_TRY(for_each_row(page, [&](const Query& row) {
      Found& found = out.emplace_back(row.text(1), row.integer(2));
      if (known && known(found.id, found.version)) return;
      found.run.emplace();
      numbers.push_back(row.integer(0));
    }));
  }
  // A value of bounded length, and answers too.
  constexpr std::size_t kAtOnce = 1000;
  auto next = out.begin();
  for (std::span<const std::int64_t> rest = numbers; !rest.empty();) {
    const std::span<const std::int64_t> some = rest.first(std::min(kAtOnce, rest.size()));
    RunsByNumber runs;
    for (const std::int64_t number : some) {
      while (!next->run) ++next;
      runs.emplace(number, &*next++->run);
    }
    RunQueries queries(database, some);
    PLIMSOLL_TRY(queries.start());
    PLIMSOLL_TRY(queries.load(runs));
    rest = rest.subspan(some.size());
  }
  return out;
}

}  // namespace plimsoll::store
