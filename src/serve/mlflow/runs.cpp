#include <algorithm>
#include <memory>
#include <span>

#include <nlohmann/json.hpp>

#include "base/printable.hpp"
#include "base/utf8.hpp"
#include "serve/mlflow/entities.hpp"
#include "serve/mlflow/handlers.hpp"
#include "serve/mlflow/message.hpp"
#include "serve/mlflow/page_token.hpp"
#include "serve/mlflow/param_conflict.hpp"
#include "serve/mlflow/run_names.hpp"
#include "serve/mlflow/validation.hpp"
#include "serve/mlflow/views.hpp"

namespace plimsoll::serve::mlflow {
namespace {

constexpr Field kRunId[] = {{"run_id", Type::text, true}};
constexpr std::string_view kNameTag = "mlflow.runName";

Outcome<Response> run_response(Api& api, const std::string& id) {
  PLIMSOLL_TAKE(run, api.run(id));
  PLIMSOLL_TAKE(location, api.artifact_location(run.experiment_id));
  JsonWriter out;
  out.begin_object().key("run");
  write(out, run, location);
  out.end_object();
  return json_response(out.take());
}

/// A run's name is a tag as well, and both must agree.
Outcome<void> settle_name(store::NewRun& run) {
  const auto tag = run.tags.find(std::string(kNameTag));
  if (!run.name.empty() && tag != run.tags.end() && tag->second != run.name)
    return invalid(
        "Both 'run_name' argument and 'mlflow.runName' tag are specified, but with different values "
        "(run_name='{}', mlflow.runName='{}').",
        printable(run.name), printable(tag->second));
  if (run.name.empty() && tag != run.tags.end()) run.name = tag->second;
  if (run.name.empty()) run.name = made_up_name();
  run.tags.insert_or_assign(std::string(kNameTag), run.name);
  return {};
}

Outcome<store::NewRun> new_run(const Message& message) {
  store::NewRun run{.name = message.text("run_name"), .user = message.text("user_id")};
  if (const std::optional<std::int64_t> start = message.integer("start_time")) {
    const Outcome<store::Time> time = moment_of(*start, "start_time");
    if (!time) return std::unexpected(time.error());
    run.start = *time;
  }
  PLIMSOLL_TAKE(tags, message.pairs("tags"));
  for (const auto& [key, value] : tags) PLIMSOLL_TRY(check_tag(key, value));
  run.tags = std::move(tags);
  PLIMSOLL_TRY(settle_name(run));
  return run;
}

Outcome<std::optional<store::RunStatus>> status_of(const Message& message) {
  static constexpr std::pair<std::string_view, std::int64_t> kStatuses[] = {
      {"RUNNING", 1}, {"SCHEDULED", 2}, {"FINISHED", 3}, {"FAILED", 4}, {"KILLED", 5}};
  PLIMSOLL_TAKE(status, message.choice("status", kStatuses));
  if (!status) return std::nullopt;
  for (const auto& [name, number] : kStatuses)
    if (number == *status) return store::status_named(name);
  return std::nullopt;
}

/// Too long a value is cut, as MLflow does unless it is told not to.
std::string cut(std::string text, std::size_t most) {
  text.resize(first_characters(text, most).size());
  return text;
}

Outcome<std::string> active_run(Api& api, const Message& message) {
  std::string id = message.text("run_id");
  PLIMSOLL_TRY(api.check_active(id));
  return id;
}

/// A run with the place of its experiment's artifacts.
Outcome<RunTexts::Text> run_text(Api& api, const store::Run& run) {
  PLIMSOLL_TAKE(location, api.artifact_location(run.experiment_id));
  JsonWriter out;
  write(out, run, location);
  return std::make_shared<const std::string>(out.take());
}

/// The texts of the runs that a search finds, in their order.
Outcome<std::vector<RunTexts::Text>> found_texts(Api& api, const store::Search& search) {
  std::vector<RunTexts::Text> known;
  const auto is_known = [&](const std::string& id, std::int64_t version) {
    known.push_back(api.run_texts().find(id, version));
    return known.back() != nullptr;
  };
  // Where the store begins again, what it has asked before counts no more.
  PLIMSOLL_TAKE(found, api.store().search(search, is_known));
  std::vector<RunTexts::Text> out(known.end() - static_cast<std::ptrdiff_t>(found.size()), known.end());
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (!found[i].run) continue;
    PLIMSOLL_TAKE(text, run_text(api, *found[i].run));
    api.run_texts().keep(found[i].id, found[i].version, text);
    out[i] = std::move(text);
  }
  return out;
}

std::string runs_json(std::span<const RunTexts::Text> runs, const Paging& paging) {
  JsonWriter out;
  out.begin_object().key("runs").begin_array();
  for (const RunTexts::Text& run : runs.first(std::min(runs.size(), paging.limit))) out.written(*run);
  out.end_array();
  if (runs.size() > paging.limit) out.member("next_page_token", page_token(paging.offset + paging.limit));
  out.end_object();
  return out.take();
}

}  // namespace

Outcome<Response> create_run(Api& api, Call& call) {
  static constexpr Field kFields[] = {
      {"experiment_id"}, {"start_time", Type::integer}, {"run_name"}, {"user_id"}, {"tags", Type::list}};
  PLIMSOLL_TAKE(document, Document::read(call.request, kFields));
  const Message message = document.message();
  const std::string experiment_id = message.text("experiment_id");
  PLIMSOLL_TAKE(experiment, api.experiment(experiment_id.empty() ? "0" : experiment_id));
  if (experiment.deleted)
    return invalid("The experiment {} must be in the 'active' state. Current state is deleted.",
                   experiment.id);
  PLIMSOLL_TAKE(run, new_run(message));
  run.experiment_id = experiment.id;
  PLIMSOLL_TAKE(id, api.store().create(run));
  // To the store a start of 0 means now; who says it means 1970.
  if (message.integer("start_time") == 0) PLIMSOLL_DO(api.store().change(id, {.start = 0}));
  return run_response(api, id);
}

Outcome<Response> get_run(Api& api, Call& call) {
  PLIMSOLL_TAKE(document, Document::read(call.request, kRunId));
  return run_response(api, document.message().text("run_id"));
}

Outcome<Response> update_run(Api& api, Call& call) {
  static constexpr Field kFields[] = {
      {"run_id", Type::text, true}, {"end_time", Type::integer}, {"status", Type::choice}, {"run_name"}};
  PLIMSOLL_TAKE(document, Document::read(call.request, kFields));
  const Message message = document.message();
  PLIMSOLL_TAKE(id, active_run(api, message));
  store::Change change;
  PLIMSOLL_TAKE(status, status_of(message));
  change.status = status;
  if (const std::optional<std::int64_t> end = message.integer("end_time"); end && *end != 0) {
    const Outcome<store::Time> time = moment_of(*end, "end_time");
    if (!time) return std::unexpected(time.error());
    change.end = *time;
  }
  if (const std::string name = message.text("run_name"); !name.empty()) {
    PLIMSOLL_TRY(check_length(name, limits::kLongestTag, "run_name"));
    change.name = name;
    change.tags.emplace(kNameTag, name);
  }
  PLIMSOLL_DO(api.store().change(id, change));
  PLIMSOLL_TAKE(run, api.run(id));
  PLIMSOLL_TAKE(location, api.artifact_location(run.experiment_id));
  JsonWriter out;
  out.begin_object().key("run_info");
  write_info(out, run, location);
  out.end_object();
  return json_response(out.take());
}

Outcome<Response> delete_run(Api& api, Call& call) {
  PLIMSOLL_TAKE(document, Document::read(call.request, kRunId));
  PLIMSOLL_TAKE(run, api.run(document.message().text("run_id")));
  PLIMSOLL_DO(api.store().remove(run.id));
  api.forget(run.id);
  return empty_response();
}

Outcome<Response> restore_run(Api& api, Call& call) {
  PLIMSOLL_TAKE(document, Document::read(call.request, kRunId));
  PLIMSOLL_TAKE(run, api.run(document.message().text("run_id")));
  PLIMSOLL_DO(api.store().restore(run.id));
  return empty_response();
}

Outcome<Response> search_runs(Api& api, Call& call) {
  static constexpr Field kFields[] = {{"experiment_ids", Type::texts}, {"filter"},
                                      {"run_view_type", Type::choice}, {"max_results", Type::integer},
                                      {"order_by", Type::texts},       {"page_token"}};
  PLIMSOLL_TAKE(document, Document::read(call.request, kFields));
  const Message message = document.message();
  store::Search search{.filter = message.text("filter"), .order_by = message.texts("order_by")};
  PLIMSOLL_TAKE(view, view_of(message, "run_view_type"));
  search.view = view;
  PLIMSOLL_TAKE(paging, paging_of(message, 1000, 50'000));
  search.limit = paging.limit + 1;
  search.offset = paging.offset;
  for (const std::string& id : message.texts("experiment_ids")) {
    const Outcome<std::int64_t> number = experiment_number(id);
    if (!number) return std::unexpected(number.error());
    search.experiment_ids.push_back(*number);
  }
  // To the store no experiment means all of them, to MLflow none.
  if (search.experiment_ids.empty()) return json_response("{\"runs\":[]}");
  PLIMSOLL_TAKE(runs, found_texts(api, search));
  return json_response(runs_json(runs, paging));
}

Outcome<Response> log_param(Api& api, Call& call) {
  static constexpr Field kFields[] = {{"run_id", Type::text, true}, {"key", Type::text, true}, {"value"}};
  PLIMSOLL_TAKE(document, Document::read(call.request, kFields));
  const Message message = document.message();
  const std::string key = message.text("key"), value = cut(message.text("value"), limits::kLongestParam);
  PLIMSOLL_TRY(check_param(key, value));
  PLIMSOLL_TAKE(id, active_run(api, message));
  const store::Change change{.params = {{key, value}}};
  if (const Status done = api.store().change(id, change); !done)
    return std::unexpected(explained(api, id, change, done.error()));
  return empty_response();
}

Outcome<Response> set_tag(Api& api, Call& call) {
  static constexpr Field kFields[] = {{"run_id", Type::text, true}, {"key", Type::text, true}, {"value"}};
  PLIMSOLL_TAKE(document, Document::read(call.request, kFields));
  const Message message = document.message();
  const std::string key = message.text("key"), value = cut(message.text("value"), limits::kLongestTag);
  PLIMSOLL_TRY(check_tag(key, value));
  PLIMSOLL_TAKE(id, active_run(api, message));
  store::Change change{.tags = {{key, value}}};
  if (key == kNameTag) change.name = value;
  PLIMSOLL_DO(api.store().change(id, change));
  return empty_response();
}

Outcome<Response> delete_tag(Api& api, Call& call) {
  static constexpr Field kFields[] = {{"run_id", Type::text, true}, {"key", Type::text, true}};
  PLIMSOLL_TAKE(document, Document::read(call.request, kFields));
  const std::string key = document.message().text("key");
  PLIMSOLL_TAKE(id, active_run(api, document.message()));
  const Status done = api.store().change(id, {.tags_removed = {key}});
  if (!done && done.error().kind == Error::Kind::not_found)
    return refuse(Code::resource_does_not_exist, "No tag with name: {} in run with id {}", printable(key),
                  id);
  if (!done) return std::unexpected(fault_of(done.error()));
  return empty_response();
}

Outcome<Response> log_model(Api& api, Call& call) {
  static constexpr Field kFields[] = {{"run_id", Type::text, true}, {"model_json", Type::text, true}};
  static const std::string kHistory = "mlflow.log-model.history";
  PLIMSOLL_TAKE(document, Document::read(call.request, kFields));
  PLIMSOLL_TAKE(id, active_run(api, document.message()));
  const Outcome<Document> checked = Document::parse(document.message().text("model_json"), {});  // its depth
  if (!checked) return invalid("Malformed model info: it is not a valid JSON.");
  nlohmann::json model = nlohmann::json::parse(document.message().text("model_json"), nullptr, false);
  nlohmann::json kept = nlohmann::json::object();
  for (const char* field : {"artifact_path", "flavors", "utc_time_created", "run_id"})
    if (!model.is_object() || !model.contains(field))
      return invalid("Model json is missing mandatory fields: {{'{}'}}", field);
  for (const char* field : {"run_id", "utc_time_created", "artifact_path", "model_uuid", "flavors"})
    if (model.contains(field)) kept[field] = std::move(model[field]);
  if (kept["flavors"].is_object())
    for (nlohmann::json& flavor : kept["flavors"])
      if (flavor.is_object()) flavor.erase("config");
  const std::scoped_lock lock(api.tag_edit());
  PLIMSOLL_TAKE(run, api.run(id));
  const auto before = run.tags.find(kHistory);
  nlohmann::json history =
      before == run.tags.end() ? nlohmann::json() : nlohmann::json::parse(before->second, nullptr, false);
  if (!history.is_array()) history = nlohmann::json::array();
  history.push_back(std::move(kept));
  const std::string value = history.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
  PLIMSOLL_DO(api.store().change(id, {.tags = {{kHistory, value}}}));
  return empty_response();
}

}  // namespace plimsoll::serve::mlflow
