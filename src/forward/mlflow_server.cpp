#include "forward/mlflow_server.hpp"

#include <nlohmann/json.hpp>

#include "base/printable.hpp"
#include "forward/mlflow_text.hpp"

namespace plimsoll::forward {
namespace {

constexpr std::size_t kLongestAnswer = 300;

Error::Kind kind_of(long status, std::string_view code) {
  if (status >= 500 || status == 429 || status == 408) return Error::Kind::unavailable;
  if (code == "RESOURCE_DOES_NOT_EXIST") return Error::Kind::not_found;
  if (code == "RESOURCE_ALREADY_EXISTS") return Error::Kind::exists_already;
  return Error::Kind::bad_input;
}

}  // namespace

std::string path_of(std::string_view call) {
  return "/api/2.0/mlflow/" + std::string(call);
}

std::string text_of(const Json& object, const char* name) {
  if (!object.is_object()) return {};
  const auto found = object.find(name);
  if (found == object.end()) return {};
  return found->is_string() ? found->get<std::string>() : found->is_number() ? found->dump() : "";
}

std::int64_t integer_of(const Json& object, const char* name) {
  const std::string text = text_of(object, name);
  return text.empty() ? 0 : static_cast<std::int64_t>(std::strtoll(text.c_str(), nullptr, 10));
}

const Json& part_of(const Json& object, const char* name) {
  static const Json kNothing = Json::object();
  if (!object.is_object()) return kNothing;
  const auto found = object.find(name);
  return found == object.end() ? kNothing : *found;
}

const Json& list_of(const Json& object, const char* name) {
  static const Json kNothing = Json::array();
  const Json& found = part_of(object, name);
  return found.is_array() ? found : kNothing;
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

Error MlflowServer::error_of(const Answer& answer, std::string_view call) const {
  const Json said = Json::parse(answer.body, nullptr, false);
  const std::string code = text_of(said, "error_code"), message = text_of(said, "message");
  Error out{.message = {}, .where = shown_, .kind = kind_of(answer.status, code)};
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
    out.hint = fmt::format("`curl {}/health` of MLflow's server answers OK.", shown_);
  } else {
    out.message = fmt::format("{} was answered {}{}{}", call, answer.status, message.empty() ? "" : ": ",
                              printable(message, kLongestAnswer));
  }
  return out;
}

Error MlflowServer::not_mlflow() const {
  return Error{"its answers are not MLflow's", shown_};
}

Status MlflowServer::tell(const std::string& call, const std::string& body, const char* method) {
  const Result<Json> answer = ask(call, body, method);
  if (!answer) return std::unexpected(answer.error());
  return {};
}

Result<Json> MlflowServer::ask(const std::string& call, const std::string& body, const char* method) {
  const Result<Answer> answer =
      exchange_({.path = path_of(call), .body = body, .method = body.empty() ? "GET" : method});
  if (!answer) return std::unexpected(answer.error());
  if (answer->status == 200) return Json::parse(answer->body, nullptr, false);
  return std::unexpected(error_of(*answer, std::string_view(call).substr(0, call.find('?'))));
}

}  // namespace plimsoll::forward
