#include "store/purge.hpp"

namespace plimsoll::store {
namespace {

Result<std::vector<std::string>> listed_texts(Query query) {
  std::vector<std::string> out;
  PLIMSOLL_TRY(for_each_row(query, [&](const Query& row) { out.push_back(row.text(0)); }));
  return out;
}

}  // namespace

Result<Purged> purge_rows(Database& database) {
  Result<std::vector<std::string>> runs =
      listed_texts(database.query("DELETE FROM run WHERE deleted = 1 RETURNING id"));
  if (!runs) return std::unexpected(std::move(runs).error());
  Result<std::vector<std::string>> models = listed_texts(
      database.query("DELETE FROM model WHERE deleted = 1 OR experiment IN (SELECT id FROM experiment "
                     "WHERE deleted = 1 AND id != 0) RETURNING id"));
  if (!models) return std::unexpected(std::move(models).error());
  PLIMSOLL_TRY(database
                   .query("DELETE FROM dataset WHERE NOT EXISTS "
                          "(SELECT 1 FROM input WHERE input.dataset = dataset.id)")
                   .run());
  // One whose runs were brought back one by one stays; so does number 0, which always is there.
  Result<std::vector<std::string>> experiments =
      listed_texts(database.query("DELETE FROM experiment WHERE deleted = 1 AND id != 0 AND NOT EXISTS "
                                  "(SELECT 1 FROM run WHERE run.experiment = experiment.id) RETURNING name"));
  if (!experiments) return std::unexpected(std::move(experiments).error());
  const bool others = !models->empty() || !experiments->empty();
  return Purged{std::move(*runs), std::move(*models), others};
}

}  // namespace plimsoll::store
