#include "forward/mlflow_remote.hpp"

#include <nlohmann/json.hpp>

#include "base/percent.hpp"
#include "base/printable.hpp"
#include "base/utf8.hpp"
#include "forward/mlflow_text.hpp"
#include "store/mlflow_limits.hpp"
#include "store/timestamp.hpp"

namespace plimsoll::forward {
namespace {

namespace limits = store::mlflow_limits;

using Json = nlohmann::json;

constexpr std::size_t kLongestAnswer = 300;

std::string text_of(const Json& object, const char* name) {
  if (!object.is_object()) return {};
  const auto found = object.find(name);
  if (found == object.end()) return {};
  return found->is_string() ? found->get<std::string>() : found->is_number() ? found->dump() : "";
}

/// Protobuf writes 64-bit integers as numbers or as texts.
std::int64_t integer_of(const Json& object, const char* name) {
  const std::string text = text_of(object, name);
  return text.empty() ? 0 : static_cast<std::int64_t>(std::strtoll(text.c_str(), nullptr, 10));
}

/// The part of an object, or nothing at all.
const Json& part_of(const Json& object, const char* name) {
  static const Json kNothing = Json::object();
  if (!object.is_object()) return kNothing;
  const auto found = object.find(name);
  return found == object.end() ? kNothing : *found;
}

std::map<std::string, std::string> pairs_of(const Json& list) {
  std::map<std::string, std::string> out;
  if (!list.is_array()) return out;
  for (const Json& pair : list) out.insert_or_assign(text_of(pair, "key"), text_of(pair, "value"));
  return out;
}

std::string pairs_json(const std::map<std::string, std::string>& pairs) {
  std::string out;
  for (const auto& [key, value] : pairs)
    out +=
        fmt::format(R"({}{{"key":{},"value":{}}})", out.empty() ? "" : ",", json_text(key), json_text(value));
  return "[" + out + "]";
}

RemoteRun run_of(const Json& run) {
  const Json &info = part_of(run, "info"), &data = part_of(run, "data");
  RemoteRun out{.id = text_of(info, "run_id"),
                .experiment_id = text_of(info, "experiment_id"),
                .deleted = text_of(info, "lifecycle_stage") == "deleted",
                .params = pairs_of(part_of(data, "params")),
                .tags = pairs_of(part_of(data, "tags"))};
  if (const Json& metrics = part_of(data, "metrics"); metrics.is_array())
    for (const Json& metric : metrics)
      out.metrics.insert_or_assign(text_of(metric, "key"),
                                   RemoteRun::Latest{.timestamp = integer_of(metric, "timestamp"),
                                                     .step = integer_of(metric, "step")});
  return out;
}

Error::Kind kind_of(long status, std::string_view code) {
  if (status >= 500 || status == 429 || status == 408) return Error::Kind::unavailable;
  if (code == "RESOURCE_DOES_NOT_EXIST") return Error::Kind::not_found;
  if (code == "RESOURCE_ALREADY_EXISTS") return Error::Kind::exists_already;
  return Error::Kind::bad_input;
}

Error error_of(const Answer& answer, std::string_view call, const std::string& shown) {
  const Json said = Json::parse(answer.body, nullptr, false);
  const std::string code = text_of(said, "error_code"), message = text_of(said, "message");
  Error out{.message = {}, .where = shown, .kind = kind_of(answer.status, code)};
  if (answer.status == 401 || answer.status == 403) {
    out.message = fmt::format("it does not let us in ({})", answer.status);
    out.hint =
        "Set MLFLOW_TRACKING_TOKEN, or MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD, to what it "
        "takes.";
  } else if (answer.status >= 300 && answer.status < 400) {
    out.message =
        fmt::format("it sends us elsewhere ({}), where no credentials go by themselves", answer.status);
    out.hint = "Name the address that it leads to.";
  } else if (answer.status == 404 && out.kind != Error::Kind::not_found) {
    out.message = "this is not an MLflow server, or its API is below another path";
    out.hint = fmt::format("`curl {}/health` of MLflow's server answers OK.", shown);
  } else {
    out.message = fmt::format("{} was answered {}{}{}", call, answer.status, message.empty() ? "" : ": ",
                              printable(message, kLongestAnswer));
  }
  return out;
}

std::string path_of(const std::string& call) {
  return "/api/2.0/mlflow/" + call;
}

}  // namespace

Result<std::string> MlflowRemote::ask(const std::string& call, const std::string& body) {
  Result<Answer> answer = exchange_({path_of(call), body});
  if (!answer) return std::unexpected(std::move(answer).error());
  if (answer->status == 200) return std::move(answer->body);
  return std::unexpected(error_of(*answer, std::string_view(call).substr(0, call.find('?')), shown_));
}

Result<std::optional<std::string>> MlflowRemote::experiment_named(const std::string& name) {
  const Result<std::string> answer = ask("experiments/get-by-name?experiment_name=" + percent_encode(name));
  if (!answer && answer.error().kind == Error::Kind::not_found) return std::optional<std::string>();
  if (!answer) return std::unexpected(answer.error());
  const Json document = Json::parse(*answer, nullptr, false);
  const Json& experiment = part_of(document, "experiment");
  if (text_of(experiment, "lifecycle_stage") == "deleted")
    return std::unexpected(Error{fmt::format("its experiment {} was deleted", quote(name)), shown_,
                                 "Restore it there, or send runs of another experiment."});
  std::string id = text_of(experiment, "experiment_id");
  if (id.empty()) return std::unexpected(Error{"its answers are not MLflow's", shown_});
  return id;
}

Result<std::string> MlflowRemote::experiment(const std::string& name) {
  const Result<std::optional<std::string>> found = experiment_named(name);
  if (!found) return std::unexpected(found.error());
  if (*found) return **found;
  const Result<std::string> made =
      ask("experiments/create", fmt::format(R"({{"name":{}}})", json_text(name)));
  if (!made && made.error().kind != Error::Kind::exists_already) return std::unexpected(made.error());
  if (made) {
    if (std::string id = text_of(Json::parse(*made, nullptr, false), "experiment_id"); !id.empty()) return id;
    return std::unexpected(Error{"its answers are not MLflow's", shown_});
  }
  // Another client was quicker.
  const Result<std::optional<std::string>> theirs = experiment_named(name);
  if (!theirs) return std::unexpected(theirs.error());
  if (!*theirs) return std::unexpected(made.error());
  return **theirs;
}

Result<std::optional<RemoteRun>> MlflowRemote::run(const std::string& id) {
  const Result<std::string> answer = ask("runs/get?run_id=" + percent_encode(id));
  if (!answer && answer.error().kind == Error::Kind::not_found) return std::optional<RemoteRun>();
  if (!answer) return std::unexpected(answer.error());
  RemoteRun out = run_of(part_of(Json::parse(*answer, nullptr, false), "run"));
  if (out.id.empty()) return std::unexpected(Error{"its answers are not MLflow's", shown_});
  return out;
}

Result<std::optional<RemoteRun>> MlflowRemote::run_tagged(const std::string& experiment_id,
                                                          const std::string& tag, const std::string& value) {
  const std::string filter = fmt::format("tags.`{}` = '{}'", tag, value);
  const Result<std::string> answer =
      ask("runs/search", fmt::format(R"({{"experiment_ids":[{}],"filter":{},"max_results":1}})",
                                     json_text(experiment_id), json_text(filter)));
  if (!answer) return std::unexpected(answer.error());
  const Json document = Json::parse(*answer, nullptr, false);
  const Json& runs = part_of(document, "runs");
  if (!runs.is_array() || runs.empty()) return std::optional<RemoteRun>();
  RemoteRun out = run_of(runs.front());
  if (out.id.empty()) return std::unexpected(Error{"its answers are not MLflow's", shown_});
  return out;
}

Result<RemoteRun> MlflowRemote::create(const NewRemoteRun& run) {
  const Result<std::string> answer =
      ask("runs/create",
          fmt::format(R"({{"experiment_id":{},"start_time":{},"tags":{}{}{}}})", json_text(run.experiment_id),
                      store::milliseconds(run.start), pairs_json(run.tags),
                      run.name.empty()
                          ? ""
                          : R"(,"run_name":)" + json_text(first_characters(run.name, limits::kLongestTag)),
                      run.user.empty() ? "" : R"(,"user_id":)" + json_text(run.user)));
  if (!answer) return std::unexpected(answer.error());
  RemoteRun out = run_of(part_of(Json::parse(*answer, nullptr, false), "run"));
  if (out.id.empty()) return std::unexpected(Error{"its answers are not MLflow's", shown_});
  return out;
}

Status MlflowRemote::change(const std::string& id, const RemoteChange& change) {
  const Result<std::string> answer = ask(
      "runs/update",
      fmt::format(R"({{"run_id":{},"status":"{}"{}{}}})", json_text(id), store::name(change.status),
                  change.end ? fmt::format(R"(,"end_time":{})", store::milliseconds(*change.end)) : "",
                  change.name.empty()
                      ? ""
                      : R"(,"run_name":)" + json_text(first_characters(change.name, limits::kLongestTag))));
  if (!answer) return std::unexpected(answer.error());
  return {};
}

Result<std::optional<Error>> MlflowRemote::log(const std::string& id, const LogBatch& batch) {
  const std::string call = "runs/log-batch";
  const Result<Answer> answer = exchange_({path_of(call), batch.body(id)});
  if (!answer) return std::unexpected(answer.error());
  if (answer->status == 200) return std::optional<Error>();
  Error error = error_of(*answer, call, shown_);
  if (answer->status == 400) return error;
  return std::unexpected(std::move(error));
}

}  // namespace plimsoll::forward
