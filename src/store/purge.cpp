#include "store/purge.hpp"

#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include "base/file_descriptor.hpp"
#include "store/run_rows.hpp"

namespace plimsoll::store {
namespace {

namespace fs = std::filesystem;

Result<std::vector<std::string>> listed_texts(Query query) {
  std::vector<std::string> out;
  PLIMSOLL_TRY(for_each_row(query, [&](const Query& row) { out.push_back(row.text(0)); }));
  return out;
}

Status note_leftovers(Database& database, const std::vector<std::string>& ids) {
  for (const std::string& id : ids)
    PLIMSOLL_TRY(database.query("INSERT INTO leftover(id) VALUES (?) ON CONFLICT DO NOTHING").bind(id).run());
  return {};
}

/// Whether a directory of this name is a run's or a model's, and none that a stranger wrote into the
/// database.
bool names_a_directory(std::string_view id) {
  return is_run_id(id) || (id.starts_with("m-") && is_run_id(id.substr(2)));
}

/// Where files wait for their removal: one by one they go from a place where nobody looks for them.
fs::path doomed(const fs::path& artifacts, const std::string& id) {
  return artifacts / ("purged-" + id);
}

Error cannot_remove(const fs::path& path, const std::error_code& problem) {
  return Error{fmt::format("the runs are removed, but not all of their files: {}", problem.message()),
               path.string(), "Mend that and purge again: what is left over is known.",
               Error::Kind::machine_lacks};
}

Result<bool> is_there(Query query, std::string_view id) {
  return query.bind(id).next();
}

/// Takes the files out of the way, unless a run or model of this id has come again. The note is locked before
/// that is looked at: who makes one waits for it.
Status set_aside(Database& database, const fs::path& artifacts, const std::string& id) {
  PLIMSOLL_TRY(hold_leftover(database, id));
  for (const Literal select :
       {Literal("SELECT 1 FROM run WHERE id = ?"), Literal("SELECT 1 FROM model WHERE id = ?")}) {
    const Result<bool> again = is_there(database.query(select), id);
    if (!again) return std::unexpected(again.error());
    if (*again) return {};
  }
  std::error_code problem;
  fs::rename(artifacts / id, doomed(artifacts, id), problem);
  if (!problem || problem == std::errc::no_such_file_or_directory) return {};
  return std::unexpected(cannot_remove(artifacts / id, problem));
}

/// On the disk before the note goes.
void flush_directory(const fs::path& directory) {
  const FileDescriptor opened(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (opened) ::fsync(opened.get());
}

Status remove_files(const Transactions& transactions, const fs::path& artifacts, const std::string& id) {
  if (names_a_directory(id)) {
    std::error_code problem;
    // Of a purge before this one, where a run of the same id came and went in between.
    fs::remove_all(doomed(artifacts, id), problem);
    if (problem) return std::unexpected(cannot_remove(doomed(artifacts, id), problem));
    PLIMSOLL_TRY(transactions.write([&](Database& database) { return set_aside(database, artifacts, id); }));
    fs::remove_all(doomed(artifacts, id), problem);
    if (problem) return std::unexpected(cannot_remove(doomed(artifacts, id), problem));
    flush_directory(artifacts);
  }
  return transactions.write(
      [&](Database& database) { return database.query("DELETE FROM leftover WHERE id = ?").bind(id).run(); });
}

}  // namespace

Result<Purged> purge_rows(Database& database) {
  Result<std::vector<std::string>> runs =
      listed_texts(database.query("DELETE FROM run WHERE deleted = 1 RETURNING id"));
  if (!runs) return std::unexpected(std::move(runs).error());
  PLIMSOLL_TRY(note_leftovers(database, *runs));
  Result<std::vector<std::string>> models = listed_texts(
      database.query("DELETE FROM model WHERE deleted = 1 OR experiment IN (SELECT id FROM experiment "
                     "WHERE deleted = 1 AND id != 0) RETURNING id"));
  if (!models) return std::unexpected(std::move(models).error());
  PLIMSOLL_TRY(note_leftovers(database, *models));
  PLIMSOLL_TRY(database
                   .query("DELETE FROM dataset WHERE NOT EXISTS "
                          "(SELECT 1 FROM input WHERE input.dataset = dataset.id)")
                   .run());
  // One whose runs were brought back one by one stays; so does number 0, which always is there.
  Result<std::vector<std::string>> experiments =
      listed_texts(database.query("DELETE FROM experiment WHERE deleted = 1 AND id != 0 AND NOT EXISTS "
                                  "(SELECT 1 FROM run WHERE run.experiment = experiment.id) RETURNING name"));
  if (!experiments) return std::unexpected(std::move(experiments).error());
  return Purged{runs->size(), !models->empty() || !experiments->empty()};
}

Status hold_leftover(Database& database, std::string_view id) {
  const Result<bool> noted = is_there(database.query("SELECT id FROM leftover WHERE id = ? FOR UPDATE"), id);
  if (!noted) return std::unexpected(noted.error());
  return {};
}

Status remove_leftovers(const Transactions& transactions, const fs::path& artifacts) {
  const Result<std::vector<std::string>> ids = transactions.read<std::vector<std::string>>(
      [](Database& database) { return listed_texts(database.query("SELECT id FROM leftover ORDER BY id")); });
  if (!ids) return std::unexpected(ids.error());
  Status first;
  for (const std::string& id : *ids) {
    Status removed = remove_files(transactions, artifacts, id);
    if (removed) continue;
    const bool away = removed.error().kind == Error::Kind::unavailable;
    if (first) first = std::move(removed);
    if (away) break;  // the database: each of the others would wait for it too
  }
  return first;
}

}  // namespace plimsoll::store
