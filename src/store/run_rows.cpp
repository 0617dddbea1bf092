#include "store/run_rows.hpp"

#include <algorithm>
#include <span>
#include <unordered_map>

#include "base/printable.hpp"
#include "base/text.hpp"
#include "store/experiment_rows.hpp"
#include "store/filter_sql.hpp"
#include "store/input_rows.hpp"
#include "store/texts.hpp"
#include "store/timestamp.hpp"

namespace plimsoll::store {
namespace {

constexpr std::size_t kIdDigits = 32, kLeastDigits = 4;
constexpr Literal kSetTag =
    "INSERT INTO tag(run, name, value) VALUES (?, ?, ?) "
    "ON CONFLICT(run, name) DO UPDATE SET value = excluded.value";

Error no_such_run(std::string_view id) {
  return Error{fmt::format("there is no run {}", quote(id)),
               {},
               "`plimsoll runs` lists them, `plimsoll runs --deleted` "
               "the deleted ones.",
               Error::Kind::not_found};
}

Status insert_params(Database& database, std::int64_t run, const std::map<std::string, std::string>& params) {
  for (const auto& [name, value] : params) {
    PLIMSOLL_TRY(check_name("parameter", name));
    PLIMSOLL_TRY(check_value("parameter", name, value));
    PLIMSOLL_TRY(database.query("INSERT INTO param(run, name, value) VALUES (?, ?, ?) ON CONFLICT DO NOTHING")
                     .bind(run)
                     .bind(name)
                     .bind(value)
                     .run());
    Query query = database.query("SELECT value FROM param WHERE run = ? AND name = ?");
    const Result<bool> row = query.bind(run).bind(name).next();
    if (!row) return std::unexpected(row.error());
    if (query.text(0) != value)
      return std::unexpected(Error{fmt::format("parameter {} is {} already, and cannot become {}",
                                               quote(name), quote(query.text(0)), quote(value)),
                                   {},
                                   "A parameter is set once; a tag can be changed."});
  }
  return {};
}

using RunsByNumber = std::unordered_map<std::int64_t, Run*>;

Status load_heads(Database& database, const std::vector<std::int64_t>& numbers, const RunsByNumber& runs) {
  Query query = query_of(database,
                         "SELECT r.number, r.id, e.name, r.name, r.status, r.start, r.\"end\", r.deleted, "
                         "r.experiment, r.user_name, r.deleted_at "
                         "FROM run r JOIN experiment e ON e.id = r.experiment WHERE r.number = ?",
                         numbers);
  return for_each_row(query, [&](const Query& row) -> Status {
    const std::optional<RunStatus> status = status_named(row.text(4));
    if (!status) return fail("the store is damaged: a run has the status {}", quote(row.text(4)));
    if (const auto found = runs.find(row.integer(0)); found != runs.end())
      *found->second = Run{.id = row.text(1),
                           .experiment = row.text(2),
                           .name = row.text(3),
                           .status = *status,
                           .start = row.integer(5),
                           .end = row.optional_integer(6),
                           .deleted = row.boolean(7),
                           .experiment_id = row.integer(8),
                           .user = row.text(9),
                           .deleted_at = row.optional_integer(10)};
    return {};
  });
}

Status load_texts(Query query, const RunsByNumber& runs, Texts Run::* texts) {
  return for_each_row(query, [&](const Query& row) {
    if (const auto found = runs.find(row.integer(0)); found != runs.end())
      (found->second->*texts).emplace(row.text(1), row.text(2));
  });
}

Status load_metrics(Database& database, const std::vector<std::int64_t>& numbers, const RunsByNumber& runs) {
  Query query = query_of(database,
                         "SELECT run, name, unit, source, latest_time, latest_step, latest_value, points "
                         "FROM metric WHERE run = ?",
                         numbers);
  return for_each_row(query, [&](const Query& row) {
    if (const auto found = runs.find(row.integer(0)); found != runs.end())
      found->second->metrics.emplace(row.text(1),
                                     Metric{.description = {row.text(2), row.text(3)},
                                            .latest = {row.integer(4), row.integer(5), row.real(6)},
                                            .points = row.integer(7)});
  });
}

/// A few statements for all of them, whatever their number.
Status load_page(Database& database, const std::vector<std::int64_t>& numbers, std::span<Run> out) {
  RunsByNumber runs;
  for (std::size_t i = 0; i < numbers.size(); ++i) runs.emplace(numbers[i], &out[i]);
  PLIMSOLL_TRY(load_heads(database, numbers, runs));
  PLIMSOLL_TRY(load_texts(query_of(database, "SELECT run, name, value FROM param WHERE run = ?", numbers),
                          runs, &Run::params));
  PLIMSOLL_TRY(load_texts(query_of(database, "SELECT run, name, value FROM tag WHERE run = ?", numbers), runs,
                          &Run::tags));
  PLIMSOLL_TRY(load_metrics(database, numbers, runs));
  return load_inputs(database, numbers, runs);
}

}  // namespace

namespace {

/// The one run of the range that begins with `wanted`; `query` takes its ends.
Result<std::int64_t> number_from(Query query, std::string_view id, const std::string& wanted) {
  // 'g' follows the last digit: the range holds all that begin so, and the index serves it.
  query.bind(wanted).bind(wanted + 'g');
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

/// An id's beginning as ids are written.
Result<std::string> wanted_beginning(std::string_view id) {
  std::string wanted = lower_case(id);
  const bool digits = wanted.find_first_not_of("0123456789abcdef") == std::string::npos;
  if (!digits || wanted.size() > kIdDigits) return std::unexpected(no_such_run(id));
  if (wanted.size() < kLeastDigits)
    return std::unexpected(Error{fmt::format("{} is too short for a run's id", quote(id)),
                                 {},
                                 fmt::format("Give at least {} of its digits.", kLeastDigits)});
  return wanted;
}

}  // namespace

Result<std::int64_t> run_number(Database& database, std::string_view id) {
  const Result<std::string> wanted = wanted_beginning(id);
  if (!wanted) return std::unexpected(wanted.error());
  return number_from(
      database.query("SELECT number, id, name FROM run WHERE id >= ? AND id < ? ORDER BY id LIMIT 4"), id,
      *wanted);
}

Result<std::int64_t> locked_run(Database& database, std::string_view id) {
  const Result<std::string> wanted = wanted_beginning(id);
  if (!wanted) return std::unexpected(wanted.error());
  return number_from(
      database.query(
          "SELECT number, id, name FROM run WHERE id >= ? AND id < ? ORDER BY id LIMIT 4 FOR UPDATE"),
      id, *wanted);
}

Status insert_run(Database& database, const std::string& id, const NewRun& run) {
  PLIMSOLL_TRY(check_value("run", "name", run.name));
  PLIMSOLL_TRY(check_value("run", "user", run.user));
  const Result<std::int64_t> experiment = experiment_for_run(database, run.experiment_id, run.experiment);
  if (!experiment) return std::unexpected(experiment.error());
  Query query = database.query(
      "INSERT INTO run(id, experiment, name, status, start, \"end\", user_name) VALUES (?, ?, ?, ?, ?, ?, ?) "
      "ON CONFLICT DO NOTHING RETURNING number");
  const Result<bool> row = query.bind(id)
                               .bind(*experiment)
                               .bind(run.name)
                               .bind(name(run.status))
                               .bind(run.start == 0 ? now() : run.start)
                               .bind(run.end)
                               .bind(run.user)
                               .next();
  if (!row) return std::unexpected(row.error());
  if (!*row)
    return std::unexpected(
        Error{fmt::format("there is a run {} already", quote(id)), {}, {}, Error::Kind::exists_already});
  const std::int64_t number = query.integer(0);
  PLIMSOLL_TRY(insert_params(database, number, run.params));
  return write_texts(database, kSetTag, number, "tag", run.tags);
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
  return write_texts(database, kSetTag, number, "tag", change.tags);
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
  PLIMSOLL_TRY(load_page(database, {number}, {&run, 1}));
  if (run.id.empty())
    return std::unexpected(Error{"the run has been purged meanwhile", {}, {}, Error::Kind::not_found});
  return run;
}

Result<std::vector<Run>> find_runs(Database& database, const Search& search) {
  Sql sql{"SELECT r.number FROM run r JOIN experiment e ON e.id = r.experiment WHERE 1 = 1", {}};
  add_view(sql, "r.deleted", search.view);
  if (search.experiment) {
    sql.text += " AND e.name = ?";
    sql.values.emplace_back(*search.experiment);
  }
  PLIMSOLL_TRY(add_numbers(sql, "r.experiment", search.experiment_ids));
  PLIMSOLL_TRY(add_filter(sql, Subject::runs, search.filter));
  PLIMSOLL_TRY(add_orders(sql, Subject::runs, search.order_by, "r.start DESC, r.id"));
  const Result<std::vector<std::int64_t>> found = page_of_numbers(database, sql, search.limit, search.offset);
  if (!found) return std::unexpected(found.error());
  std::vector<Run> out(found->size());
  // A statement of bounded length, and of some lengths only.
  constexpr std::size_t kAtOnce = 1000;
  for (std::size_t i = 0; i < found->size(); i += kAtOnce) {
    const std::size_t end = std::min(i + kAtOnce, found->size());
    const std::vector<std::int64_t> some(found->begin() + static_cast<std::ptrdiff_t>(i),
                                         found->begin() + static_cast<std::ptrdiff_t>(end));
    PLIMSOLL_TRY(load_page(database, some, std::span(out).subspan(i, end - i)));
  }
  return out;
}

}  // namespace plimsoll::store
