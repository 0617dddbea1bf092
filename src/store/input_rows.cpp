#include "store/input_rows.hpp"

#include "base/printable.hpp"
#include "store/mlflow_limits.hpp"
#include "store/texts.hpp"

namespace plimsoll::store {
namespace {

// MLflow's limits.
constexpr std::size_t kLongestDataset = 500, kLongestDigest = 36, kLongestModel = 250;
constexpr std::size_t kLongestSource = std::size_t{64} << 10, kLongestSchema = std::size_t{1} << 20,
                      kLongestProfile = std::size_t{16} << 20;

Status check_length(std::string_view what, std::string_view text, std::size_t least, std::size_t most) {
  if (text.size() >= least && text.size() <= most) return {};
  return fail("the {} of a dataset has {} bytes; {} to {} are allowed", what, text.size(), least, most);
}

Status check(const Dataset& d) {
  PLIMSOLL_TRY(check_length("name", d.name, 1, kLongestDataset));
  PLIMSOLL_TRY(check_length("digest", d.digest, 1, kLongestDigest));
  PLIMSOLL_TRY(check_length("source type", d.source_type, 0, kLongestDigest));
  PLIMSOLL_TRY(check_length("source", d.source, 0, kLongestSource));
  PLIMSOLL_TRY(check_length("schema", d.schema, 0, kLongestSchema));
  return check_length("profile", d.profile, 0, kLongestProfile);
}

/// One that an experiment has already, by name and digest, is used again as it is.
Result<std::int64_t> enter_dataset(Database& database, std::int64_t run, const Dataset& dataset) {
  PLIMSOLL_TRY(check(dataset));
  PLIMSOLL_TRY(
      database
          .query("INSERT INTO dataset(experiment, name, digest, source_type, source, schema, profile) "
                 "SELECT experiment, ?, ?, ?, ?, ?, ? FROM run WHERE number = ? ON CONFLICT DO NOTHING")
          .bind(dataset.name)
          .bind(dataset.digest)
          .bind(dataset.source_type)
          .bind(dataset.source)
          .bind(dataset.schema)
          .bind(dataset.profile)
          .bind(run)
          .run());
  Query query = database.query(
      "SELECT d.id FROM dataset d JOIN run r ON r.experiment = d.experiment "
      "WHERE r.number = ? AND d.name = ? AND d.digest = ?");
  PLIMSOLL_TRY(query.bind(run).bind(dataset.name).bind(dataset.digest).row());
  return query.integer(0);
}

}  // namespace

Status insert_inputs(Database& database, std::int64_t run, std::span<const Input> inputs) {
  for (const Input& input : inputs) {
    const Result<std::int64_t> dataset = enter_dataset(database, run, input.dataset);
    if (!dataset) return std::unexpected(dataset.error());
    Query query =
        database.query("INSERT INTO input(run, dataset) VALUES (?, ?) ON CONFLICT DO NOTHING RETURNING id");
    const Result<bool> added = query.bind(run).bind(*dataset).next();
    if (!added) return std::unexpected(added.error());
    if (*added)
      PLIMSOLL_TRY(write_texts(database, "INSERT INTO input_tag(input, name, value) VALUES (?, ?, ?)",
                               query.integer(0), "tag", input.tags, mlflow_limits::kLongestInputTagKey));
  }
  return {};
}

Status insert_model_links(Database& database, std::int64_t run, bool output,
                          std::span<const ModelLink> links) {
  for (const ModelLink& link : links) {
    if (link.model.empty() || link.model.size() > kLongestModel)
      return fail("{} is not the id of a model", quote(link.model));
    PLIMSOLL_TRY(database
                     .query("INSERT INTO model_link(run, output, model, step) VALUES (?, ?, ?, ?) "
                            "ON CONFLICT DO NOTHING")
                     .bind(run)
                     .bind(std::int64_t{output})
                     .bind(link.model)
                     .bind(link.step)
                     .run());
  }
  return {};
}

InputQueries::InputQueries(Database& database, std::span<const std::int64_t> runs)
    : inputs_(query_of(database,
                       "SELECT i.run, i.id, d.name, d.digest, d.source_type, d.source, d.schema, d.profile "
                       "FROM input i JOIN dataset d ON d.id = i.dataset WHERE i.run = ? ORDER BY i.id",
                       runs)),
      tags_(query_of(database,
                     "SELECT t.input, t.name, t.value FROM input i JOIN input_tag t ON t.input = i.id "
                     "WHERE i.run = ?",
                     runs)),
      links_(query_of(database,
                      "SELECT run, output, model, step FROM model_link WHERE run = ? ORDER BY model, step",
                      runs)) {}

Status InputQueries::start() {
  for (Query* query : {&inputs_, &tags_, &links_}) PLIMSOLL_TRY(query->start());
  return {};
}

Status InputQueries::load(const RunsByNumber& runs) {
  struct Place {
    Run* run;
    std::size_t at;
  };
  std::unordered_map<std::int64_t, Place> places;  // of an input, by its id
  PLIMSOLL_TRY(for_each_row(inputs_, [&](const Query& row) {
    const auto run = runs.find(row.integer(0));
    if (run == runs.end()) return;
    places.emplace(row.integer(1), Place{run->second, run->second->inputs.size()});
    run->second->inputs.push_back({Dataset{.name = row.text(2),
                                           .digest = row.text(3),
                                           .source_type = row.text(4),
                                           .source = row.text(5),
                                           .schema = row.text(6),
                                           .profile = row.text(7)}});
  }));
  PLIMSOLL_TRY(for_each_row(tags_, [&](const Query& row) {
    const auto place = places.find(row.integer(0));
    if (place != places.end())
      place->second.run->inputs[place->second.at].tags.emplace(row.text(1), row.text(2));
  }));
  return for_each_row(links_, [&](const Query& row) {
    const auto run = runs.find(row.integer(0));
    if (run == runs.end()) return;
    auto& links = row.boolean(1) ? run->second->model_outputs : run->second->model_inputs;
    links.push_back({row.text(2), row.integer(3)});
  });
}

}  // namespace plimsoll::store
