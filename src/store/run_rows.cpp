#include "store/run_rows.hpp"

#include <algorithm>
#include <limits>

#include "base/printable.hpp"
#include "base/text.hpp"
#include "store/filter_sql.hpp"
#include "store/timestamp.hpp"

namespace plimsoll::store {
namespace {

constexpr std::size_t kIdDigits = 32, kLeastDigits = 4;
constexpr std::size_t kLongestName = 250;  // MLflow's limit
constexpr std::size_t kLongestValue = std::size_t{64} << 10;
constexpr std::size_t kMostOrders = 16;

Error no_such_run(std::string_view id) {
  return Error{fmt::format("there is no run {}", quote(id)),
               {},
               "`plimsoll runs` lists them, `plimsoll runs --deleted` "
               "the deleted ones."};
}

Status check_value(std::string_view what, std::string_view name, std::string_view value) {
  if (value.size() <= kLongestValue) return {};
  return fail("the value of {} {} has {} bytes; {} is the most", what, quote(name), value.size(),
              kLongestValue);
}

Result<std::int64_t> experiment_id(sqlite::Database& database, const std::string& name) {
  PLIMSOLL_TRY(check_name("experiment", name));
  PLIMSOLL_TRY(database.query("INSERT INTO experiment(name) VALUES (?) ON CONFLICT(name) DO NOTHING")
                   .bind(name)
                   .run());
  sqlite::Query query = database.query("SELECT id FROM experiment WHERE name = ?");
  const Result<bool> row = query.bind(name).next();
  if (!row) return std::unexpected(row.error());
  return query.integer(0);
}

Status insert_params(sqlite::Database& database, std::int64_t run,
                     const std::map<std::string, std::string>& params) {
  for (const auto& [name, value] : params) {
    PLIMSOLL_TRY(check_name("parameter", name));
    PLIMSOLL_TRY(check_value("parameter", name, value));
    PLIMSOLL_TRY(database.query("INSERT INTO param(run, name, value) VALUES (?, ?, ?) ON CONFLICT DO NOTHING")
                     .bind(run)
                     .bind(name)
                     .bind(value)
                     .run());
    sqlite::Query query = database.query("SELECT value FROM param WHERE run = ? AND name = ?");
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

Status set_tags(sqlite::Database& database, std::int64_t run,
                const std::map<std::string, std::string>& tags) {
  for (const auto& [name, value] : tags) {
    PLIMSOLL_TRY(check_name("tag", name));
    PLIMSOLL_TRY(check_value("tag", name, value));
    PLIMSOLL_TRY(database
                     .query("INSERT INTO tag(run, name, value) VALUES (?, ?, ?) "
                            "ON CONFLICT(run, name) DO UPDATE SET value = excluded.value")
                     .bind(run)
                     .bind(name)
                     .bind(value)
                     .run());
  }
  return {};
}

Status load_texts(sqlite::Query query, std::int64_t number, std::map<std::string, std::string>& out) {
  query.bind(number);
  for (;;) {
    const Result<bool> row = query.next();
    if (!row) return std::unexpected(row.error());
    if (!*row) return {};
    out.emplace(query.text(0), query.text(1));
  }
}

Status load_metrics(sqlite::Database& database, Run& run, std::int64_t number) {
  sqlite::Query query = database.query(
      "SELECT name, unit, source, latest_time, latest_step, latest_value, points FROM metric WHERE run = ?");
  query.bind(number);
  for (;;) {
    const Result<bool> row = query.next();
    if (!row) return std::unexpected(row.error());
    if (!*row) return {};
    run.metrics.emplace(query.text(0), Metric{.description = {query.text(1), query.text(2)},
                                              .latest = {query.integer(3), query.integer(4), query.real(5)},
                                              .points = query.integer(6)});
  }
}

Result<Sql> search_statement(const Search& search) {
  const Result<Filter> filter = parse_filter(search.filter);
  if (!filter) return std::unexpected(filter.error());
  if (search.order_by.size() > kMostOrders) return fail("more than {} orders", kMostOrders);
  Sql sql{"SELECT r.number FROM run r JOIN experiment e ON e.id = r.experiment WHERE r.deleted = ?",
          {search.deleted ? 1.0 : 0.0}};
  if (search.experiment) {
    sql.text += " AND e.name = ?";
    sql.values.emplace_back(*search.experiment);
  }
  for (const Comparison& comparison : *filter) {
    sql.text += " AND ";
    add_condition(sql, comparison);
  }
  sql.text += " ORDER BY ";
  for (const std::string& text : search.order_by) {
    const Result<Order> order = parse_order(text);
    if (!order) return std::unexpected(order.error());
    add_order(sql, *order);
    sql.text += ", ";
  }
  sql.text += "r.start DESC, r.number DESC LIMIT ? OFFSET ?";
  return sql;
}

}  // namespace

Status check_name(std::string_view what, std::string_view name) {
  if (!name.empty() && name.size() <= kLongestName) return {};
  return fail("the name of {} {} {} has {} bytes; 1 to {} are allowed", what == "experiment" ? "an" : "a",
              what, quote(name), name.size(), kLongestName);
}

Result<std::int64_t> run_number(sqlite::Database& database, std::string_view id) {
  const std::string wanted = lower_case(id);
  const bool digits = wanted.find_first_not_of("0123456789abcdef") == std::string::npos;
  if (!digits || wanted.size() > kIdDigits) return std::unexpected(no_such_run(id));
  if (wanted.size() < kLeastDigits)
    return std::unexpected(Error{fmt::format("{} is too short for a run's id", quote(id)),
                                 {},
                                 fmt::format("Give at least {} of its digits.", kLeastDigits)});
  // 'g' follows the last digit: the range holds all that begin so, and the index serves it.
  sqlite::Query query =
      database.query("SELECT number, id, name FROM run WHERE id >= ? AND id < ? ORDER BY id LIMIT 4");
  query.bind(wanted).bind(wanted + 'g');
  std::vector<std::int64_t> numbers;
  std::string found;
  for (;;) {
    const Result<bool> row = query.next();
    if (!row) return std::unexpected(row.error());
    if (!*row) break;
    numbers.push_back(query.integer(0));
    found +=
        fmt::format("{}{} {}", found.empty() ? "" : ", ", query.text(1).substr(0, 12), quote(query.text(2)));
  }
  if (numbers.empty()) return std::unexpected(no_such_run(id));
  if (numbers.size() > 1)
    return std::unexpected(Error{
        fmt::format("{} fits several runs", quote(id)), {}, fmt::format("Give more digits: {}", found)});
  return numbers.front();
}

Status insert_run(sqlite::Database& database, const std::string& id, const NewRun& run) {
  PLIMSOLL_TRY(check_value("run", "name", run.name));
  const Result<std::int64_t> experiment = experiment_id(database, run.experiment);
  if (!experiment) return std::unexpected(experiment.error());
  PLIMSOLL_TRY(database.query("INSERT INTO run(id, experiment, name, status, start) VALUES (?, ?, ?, ?, ?)")
                   .bind(id)
                   .bind(*experiment)
                   .bind(run.name)
                   .bind(name(run.status))
                   .bind(run.start == 0 ? now() : run.start)
                   .run());
  const std::int64_t number = database.last_inserted();
  PLIMSOLL_TRY(insert_params(database, number, run.params));
  return set_tags(database, number, run.tags);
}

Status update_run(sqlite::Database& database, std::int64_t number, const Change& change) {
  if (change.status)
    PLIMSOLL_TRY(database.query("UPDATE run SET status = ? WHERE number = ?")
                     .bind(name(*change.status))
                     .bind(number)
                     .run());
  if (change.end)
    PLIMSOLL_TRY(
        database.query("UPDATE run SET \"end\" = ? WHERE number = ?").bind(*change.end).bind(number).run());
  PLIMSOLL_TRY(insert_params(database, number, change.params));
  return set_tags(database, number, change.tags);
}

Result<Run> load_run(sqlite::Database& database, std::int64_t number) {
  Run run;
  {
    sqlite::Query query = database.query(
        "SELECT r.id, e.name, r.name, r.status, r.start, r.\"end\", r.deleted "
        "FROM run r JOIN experiment e ON e.id = r.experiment WHERE r.number = ?");
    const Result<bool> row = query.bind(number).next();
    if (!row) return std::unexpected(row.error());
    if (!*row) return fail("the run has been purged meanwhile");
    const std::optional<RunStatus> status = status_named(query.text(3));
    if (!status) return fail("the store is damaged: a run has the status {}", quote(query.text(3)));
    run = Run{.id = query.text(0),
              .experiment = query.text(1),
              .name = query.text(2),
              .status = *status,
              .start = query.integer(4),
              .end = query.is_null(5) ? std::nullopt : std::optional(query.integer(5)),
              .deleted = query.integer(6) != 0};
  }
  PLIMSOLL_TRY(load_texts(database.query("SELECT name, value FROM param WHERE run = ?"), number, run.params));
  PLIMSOLL_TRY(load_texts(database.query("SELECT name, value FROM tag WHERE run = ?"), number, run.tags));
  PLIMSOLL_TRY(load_metrics(database, run, number));
  return run;
}

Result<std::vector<std::int64_t>> search_runs(sqlite::Database& database, const Search& search) {
  const Result<Sql> sql = search_statement(search);
  if (!sql) return std::unexpected(sql.error());
  sqlite::Query query = database.query_once(sql->text);
  for (const auto& value : sql->values) {
    if (const auto* number = std::get_if<double>(&value))
      query.bind(*number);
    else
      query.bind(std::string_view(std::get<std::string>(value)));
  }
  constexpr auto kMost = static_cast<std::size_t>(std::numeric_limits<std::int64_t>::max());
  query.bind(static_cast<std::int64_t>(std::min(search.limit, kMost)))
      .bind(static_cast<std::int64_t>(std::min(search.offset, kMost)));
  std::vector<std::int64_t> out;
  for (;;) {
    const Result<bool> row = query.next();
    if (!row) return std::unexpected(row.error());
    if (!*row) return out;
    out.push_back(query.integer(0));
  }
}

}  // namespace plimsoll::store
