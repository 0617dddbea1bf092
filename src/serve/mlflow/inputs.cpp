#include <set>
#include <tuple>

#include "base/printable.hpp"
#include "serve/mlflow/handlers.hpp"
#include "serve/mlflow/json_writer.hpp"
#include "serve/mlflow/message.hpp"
#include "serve/mlflow/validation.hpp"

namespace plimsoll::serve::mlflow {
namespace {

constexpr Field kDataset[] = {{"name", Type::text, true},
                              {"digest", Type::text, true},
                              {"source_type", Type::text, true},
                              {"source", Type::text, true},
                              {"schema"},
                              {"profile"}};
constexpr std::size_t kMostDatasets = 10'000;

Outcome<void> check_dataset(const store::Dataset& dataset) {
  PLIMSOLL_TRY(check_length(dataset.name, limits::kLongestDatasetName, "name"));
  PLIMSOLL_TRY(check_length(dataset.digest, limits::kLongestDatasetDigest, "digest"));
  PLIMSOLL_TRY(check_length(dataset.source, limits::kLongestDatasetSource, "source"));
  PLIMSOLL_TRY(check_length(dataset.schema, limits::kLongestDatasetSchema, "schema"));
  return check_length(dataset.profile, limits::kLongestDatasetProfile, "profile");
}

Outcome<store::Input> input_of(const Message& entry) {
  PLIMSOLL_TAKE(described, entry.object("dataset", kDataset));
  if (!described) return invalid("Dataset cannot be None");
  store::Input input{.dataset = {.name = described->text("name"),
                                 .digest = described->text("digest"),
                                 .source_type = described->text("source_type"),
                                 .source = described->text("source"),
                                 .schema = described->text("schema"),
                                 .profile = described->text("profile")}};
  PLIMSOLL_TRY(check_dataset(input.dataset));
  PLIMSOLL_TAKE(tags, entry.pairs("tags"));
  for (const auto& [key, value] : tags) {
    PLIMSOLL_TRY(check_length(key, limits::kLongestInputTagKey, "key"));
    PLIMSOLL_TRY(check_length(value, limits::kLongestInputTagValue, "value"));
  }
  input.tags = std::move(tags);
  return input;
}

Outcome<std::vector<store::ModelLink>> links_of(const Message& message) {
  static constexpr Field kLink[] = {{"model_id", Type::text, true}, {"step", Type::integer}};
  PLIMSOLL_TAKE(entries, message.list("models", kLink));
  PLIMSOLL_TRY(check_batch("models", kMostDatasets, entries.size()));
  std::vector<store::ModelLink> out;
  for (const Message& entry : entries)
    out.push_back({.model = entry.text("model_id"), .step = entry.integer("step").value_or(0)});
  return out;
}

}  // namespace

Outcome<Response> log_inputs(Api& api, Call& call) {
  static constexpr Field kFields[] = {
      {"run_id", Type::text, true}, {"datasets", Type::list}, {"models", Type::list}};
  static constexpr Field kEntry[] = {{"tags", Type::list}, {"dataset", Type::object, true}};
  PLIMSOLL_TAKE(document, Document::read(call.request, kFields));
  const Message message = document.message();
  PLIMSOLL_TRY(check_batch("datasets", kMostDatasets, message.size("datasets")));
  PLIMSOLL_TAKE(entries, message.list("datasets", kEntry));
  std::vector<store::Input> inputs;
  for (const Message& entry : entries) {
    PLIMSOLL_TAKE(input, input_of(entry));
    inputs.push_back(std::move(input));
  }
  PLIMSOLL_TAKE(links, links_of(message));
  const std::string run = message.text("run_id");
  PLIMSOLL_TRY(check_run_id(run));
  PLIMSOLL_TRY(api.check_active(run));
  PLIMSOLL_DO(api.store().add_inputs(run, inputs, links));
  return empty_response();
}

Outcome<Response> log_outputs(Api& api, Call& call) {
  static constexpr Field kFields[] = {{"run_id", Type::text, true}, {"models", Type::list, true}};
  PLIMSOLL_TAKE(document, Document::read(call.request, kFields));
  PLIMSOLL_TAKE(links, links_of(document.message()));
  const std::string run = document.message().text("run_id");
  PLIMSOLL_TRY(api.check_active(run));
  PLIMSOLL_DO(api.store().add_outputs(run, links));
  return empty_response();
}

Outcome<Response> search_datasets(Api& api, Call& call) {
  static constexpr Field kFields[] = {{"experiment_ids", Type::texts}};
  constexpr std::size_t kMostExperiments = 20, kMostRuns = 1000, kMostSummaries = 1000;
  PLIMSOLL_TAKE(document, Document::read(call.request, kFields));
  const std::vector<std::string> ids = document.message().texts("experiment_ids");
  if (ids.empty()) return invalid("SearchDatasets request must specify at least one experiment_id.");
  if (ids.size() > kMostExperiments)
    return invalid(
        "SearchDatasets request cannot specify more than {} experiment_ids. Received {} experiment_ids.",
        kMostExperiments, ids.size());
  store::Search search{.limit = kMostRuns};
  for (const std::string& id : ids) {
    PLIMSOLL_TAKE(number, experiment_number(id));
    search.experiment_ids.push_back(number);
  }
  PLIMSOLL_TAKE(runs, api.store().search(search));
  std::set<std::tuple<std::int64_t, std::string, std::string, std::string>> summaries;
  for (const store::Run& run : runs)
    for (const store::Input& input : run.inputs) {
      const auto context = input.tags.find("mlflow.data.context");
      summaries.emplace(run.experiment_id, input.dataset.name, input.dataset.digest,
                        context == input.tags.end() ? std::string() : context->second);
    }
  JsonWriter out;
  out.begin_object().key("dataset_summaries").begin_array();
  std::size_t written = 0;
  for (const auto& [experiment, name, digest, context] : summaries) {
    if (++written > kMostSummaries) break;
    out.begin_object().member("experiment_id", fmt::format("{}", experiment));
    out.member("name", name).member("digest", digest);
    if (!context.empty()) out.member("context", context);
    out.end_object();
  }
  out.end_array().end_object();
  return json_response(out.take());
}

}  // namespace plimsoll::serve::mlflow
