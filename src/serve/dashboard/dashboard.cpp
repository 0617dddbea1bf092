#include "serve/dashboard/dashboard.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <utility>

#include "base/printable.hpp"
#include "serve/dashboard/handlers.hpp"
#include "serve/dashboard/orders.hpp"
#include "serve/http/token.hpp"
#include "serve/mlflow/json_writer.hpp"
#include "serve/mlflow/message.hpp"

namespace plimsoll::serve::dashboard {
namespace {

using mlflow::Call;
using mlflow::JsonWriter;

constexpr std::uint64_t kLargestOrder = std::uint64_t{1} << 20;

using Handler = mlflow::Outcome<Response> (*)(mlflow::Api&, Call&);

Response failure(const Error& error) {
  return mlflow::response_of(mlflow::fault_of(error));
}

std::string query_text(const Request& request, std::string_view name) {
  const std::string* value = request.query.find(name);
  return value == nullptr ? std::string() : *value;
}

/// A page of another site can post some kinds of bodies without being asked; JSON is none of them.
std::optional<Response> refuse_body(const Request& request) {
  if (const mlflow::Outcome<void> good = mlflow::check_content_type(request); !good)
    return mlflow::response_of(good.error());
  return std::nullopt;
}

std::int64_t milliseconds(std::chrono::system_clock::time_point time) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(time.time_since_epoch()).count();
}

}  // namespace

std::vector<std::string> open_paths() {
  return {"/health", "/", "/static/", "/api/plimsoll/session"};
}

std::vector<std::string> open_posts() {
  return {"/api/plimsoll/login", "/api/plimsoll/logout"};
}

bool only_reads(std::string_view path) {
  static constexpr std::array<std::string_view, 7> kEndings = {"/search",
                                                               "/search-datasets",
                                                               "/get-history-bulk-interval",
                                                               "/get-latest-versions",
                                                               "/get-history",
                                                               "/logged-models/search",
                                                               "/graphql"};
  static constexpr std::array<std::string_view, 2> kFolders = {"/api/plimsoll/share/",
                                                               "/api/plimsoll/network/"};
  return std::ranges::any_of(kEndings, [&](std::string_view ending) { return path.ends_with(ending); }) ||
         std::ranges::any_of(kFolders, [&](std::string_view folder) { return path.starts_with(folder); });
}

Dashboard::Dashboard(DashboardOptions options, mlflow::Api& api, Gate& gate)
    : options_(std::move(options)),
      api_(api),
      gate_(gate),
      bundle_(options_.web),
      commands_(options_.commands) {}

std::vector<Dashboard::Endpoint> Dashboard::endpoints() {
  std::vector<Endpoint> out;
  add_pages(out);
  add_sessions(out);
  add_runs(out);
  add_computed(out);
  add_queue(out);
  return out;
}

void Dashboard::add_pages(std::vector<Endpoint>& out) {
  out.push_back({"GET", "/", [this](const Call& call, Answer answer) {
                   answer(bundle_.answer("index.html", call.request));
                 }});
  out.push_back({"GET", "/static/{name}", [this](const Call& call, Answer answer) {
                   answer(bundle_.answer(call.parameter("name"), call.request));
                 }});
}

void Dashboard::add_sessions(std::vector<Endpoint>& out) {
  out.push_back({"GET", "/api/plimsoll/session", [this](const Call& call, Answer answer) {
                   const std::optional<Visitor> who = gate_.visitor(call.request);
                   answer(session(who ? &*who : nullptr));
                 }});
  out.push_back({"POST", "/api/plimsoll/login",
                 [this](const Call& call, Answer answer) { answer(log_in(call.request)); }});
  out.push_back({"POST", "/api/plimsoll/logout",
                 [this](const Call& call, Answer answer) { answer(log_out(call.request)); }});
}

void Dashboard::add_runs(std::vector<Endpoint>& out) {
  static constexpr std::array<std::pair<std::string_view, Handler>, 5> kHandlers = {{
      {"/api/plimsoll/runs", run_table},
      {"/api/plimsoll/facets", facets},
      {"/api/plimsoll/logs", logs},
      {"/api/plimsoll/log", log_piece},
      {"/api/plimsoll/preview", preview},
  }};
  for (const auto& [path, handler] : kHandlers)
    out.push_back({"GET", std::string(path), [this, handler = handler](Call call, Answer answer) {
                     mlflow::Outcome<Response> response = handler(api_, call);
                     answer(response ? *std::move(response) : mlflow::response_of(response.error()));
                   }});
  out.push_back({"GET", "/api/plimsoll/now", [this](const Call&, Answer answer) {
                   if (!options_.now)
                     return answer(error_response(501, "this server does not watch its machine"));
                   Result<std::string> now = options_.now();
                   answer(now ? mlflow::json_response(*std::move(now)) : failure(now.error()));
                 }});
}

void Dashboard::add_computed(std::vector<Endpoint>& out) {
  const auto add = [&](std::string method, std::string path, auto order) {
    out.push_back({std::move(method), std::move(path),
                   [this, order](const Call& call, Answer answer) {
                     carry_out(call.request, order(call.request), std::move(answer));
                   },
                   kLargestOrder});
  };
  add("GET", "/api/plimsoll/zoo", [](const Request&) -> Result<Order> { return Order{{"zoo"}}; });
  add("GET", "/api/plimsoll/devices", [](const Request&) -> Result<Order> { return Order{{"devices"}}; });
  for (const char* const command : {"report", "advise"})
    add("GET", fmt::format("/api/plimsoll/{}", command), [command](const Request& request) -> Result<Order> {
      const std::string run = query_text(request, "run_id");
      if (!is_run_id(run)) return fail("run_id is the id of a run, of 32 digits");
      return Order{{command, run}};
    });
  for (const char* const what : {"beside", "matrix", "plan"})
    add("POST", fmt::format("/api/plimsoll/share/{}", what),
        [this, what](const Request& request) { return share_order(what, request.body, models_); });
  for (const char* const what : {"inspect", "weigh", "estimate", "timeline", "kernels", "choose"})
    add("POST", fmt::format("/api/plimsoll/network/{}", what),
        [this, what](const Request& request) { return network_order(what, request.body, models_); });
  for (const char* const what : {"timeline", "kernels"})  // for a frame, which can only get
    add("GET", fmt::format("/api/plimsoll/network/{}", what), [this, what](const Request& request) {
      return network_order(what, query_text(request, "ask"), models_);
    });
  out.push_back({"POST", "/api/plimsoll/models",
                 [this](Call call, Answer answer) { answer(take_model(call.request)); },
                 UploadedModels::kLargest, true});
  out.push_back({"DELETE", "/api/plimsoll/models", [this](const Call& call, Answer answer) {
                   models_.remove(query_text(call.request, "model"));
                   answer(mlflow::empty_response());
                 }});
}

void Dashboard::add_queue(std::vector<Endpoint>& out) {
  out.push_back({"GET", "/api/plimsoll/queue", [this](const Call&, Answer answer) {
                   commands_.run({.words = {"queue", "--all"}}, std::move(answer));
                 }});
  const auto add = [&](std::string path, auto order) {
    out.push_back({"POST", std::move(path),
                   [this, order](const Call& call, Answer answer) {
                     const std::string why_not = why_no_queue();
                     if (!why_not.empty()) return answer(error_response(403, why_not));
                     carry_out(call.request, order(call.request), std::move(answer));
                   },
                   kLargestOrder});
  };
  add("/api/plimsoll/queue/submit", [](const Request& request) { return submission(request.body); });
  for (const char* const what : {"cancel", "hold", "release"})
    add(fmt::format("/api/plimsoll/queue/{}", what),
        [what](const Request& request) { return queue_order(what, request.body); });
  out.push_back({"POST", "/api/plimsoll/stop", [this](const Call& call, Answer answer) {
                   if (!options_.no_commands.empty())
                     return answer(error_response(403, options_.no_commands));
                   if (auto refusal = refuse_body(call.request)) return answer(*std::move(refusal));
                   static constexpr mlflow::Field kFields[] = {{"run_id", mlflow::Type::text, true}};
                   const auto document = mlflow::Document::read(call.request, kFields);
                   if (!document) return answer(mlflow::response_of(document.error()));
                   const std::string run = document->message().text("run_id");
                   if (!is_run_id(run))
                     return answer(
                         error_response(400, "INVALID_PARAMETER_VALUE", "run_id is the id of a run"));
                   commands_.run({.words = {"stop", run}}, std::move(answer));
                 }});
}

void Dashboard::carry_out(const Request& request, Result<Order> order, Answer answer) {
  if (request.method == "POST")
    if (auto refusal = refuse_body(request)) return answer(*std::move(refusal));
  if (!order) return answer(failure(order.error()));
  commands_.run(*std::move(order), std::move(answer));
}

std::string Dashboard::why_no_queue() const {
  if (!options_.no_commands.empty()) return options_.no_commands;
  return options_.no_queue ? options_.no_queue() : std::string("this server has no queue");
}

Response Dashboard::session(const Visitor* who) const {
  JsonWriter out;
  out.begin_object().boolean_member("login", who == nullptr).boolean_member("token", gate_.asks());
  out.key("role");
  if (who != nullptr)
    out.text(who->role == Role::write ? "write" : "read");
  else
    out.written("null");
  out.key("csrf");
  if (who != nullptr && !who->csrf.empty())
    out.text(who->csrf).integer_member("expires", milliseconds(who->until));
  else
    out.written("null").key("expires").written("null");
  out.member("version", options_.version);
  if (who != nullptr) {  // before a login nothing is told of what is here
    const std::string no_queue = why_no_queue();
    out.member("store", api_.store().location()).member("user", options_.user);
    out.boolean_member("queue", no_queue.empty() && who->role == Role::write);
    out.member("queue_reason", no_queue);
    out.boolean_member("stop", options_.no_commands.empty() && who->role == Role::write);
  }
  out.end_object();
  Response response = mlflow::json_response(out.take());
  response.headers.add("Cache-Control", "no-store");
  return response;
}

Response Dashboard::log_in(const Request& request) {
  if (auto refusal = refuse_body(request)) return *std::move(refusal);
  static constexpr mlflow::Field kFields[] = {{"token", mlflow::Type::text, true}};
  const auto document = mlflow::Document::read(request, kFields);
  if (!document)
    return error_response(400, "INVALID_PARAMETER_VALUE",
                          "the body is {\"token\": TOKEN}");  // and is not repeated
  if (!gate_.asks()) {
    const Visitor everybody;
    return session(&everybody);
  }
  if (const std::chrono::seconds wait = gate_.wait(); wait.count() > 0) {
    Response response =
        error_response(429, "RESOURCE_EXHAUSTED", "several wrong tokens came: try again a little later");
    response.headers.add("Retry-After", fmt::format("{}", wait.count()));
    return response;
  }
  std::optional<Gate::Entered> entered = gate_.enter(document->message().text("token"), request);
  if (!entered) return error_response(401, "this is not the token that the server was started with");
  Response response = session(&entered->visitor);
  response.headers.add("Set-Cookie", std::move(entered->cookie));
  return response;
}

Response Dashboard::log_out(const Request& request) {
  if (auto refusal = refuse_body(request)) return *std::move(refusal);
  // Another site's page could end a session, at worst, were it not for SameSite; the header is asked for all
  // the same.
  const std::optional<Visitor> who = gate_.visitor(request);
  if (who && !who->csrf.empty() && !equal_in_constant_time(request.header("x-plimsoll-csrf"), who->csrf))
    return error_response(403, "a logout must bring the header X-Plimsoll-CSRF");
  Response response = mlflow::empty_response();
  response.headers.add("Set-Cookie", gate_.leave(request));
  return response;
}

Response Dashboard::take_model(Request& request) {
  const std::string_view type = request.header("content-type");
  if (type != "application/octet-stream")
    return error_response(400, "INVALID_PARAMETER_VALUE", "a model comes as application/octet-stream");
  if (!request.body_file) return error_response(500, "the body of an upload did not come as a file");
  std::error_code problem;
  const std::uintmax_t bytes = std::filesystem::file_size(request.body_file->path(), problem);
  const std::string name = query_text(request, "name");
  const Result<std::string> id = models_.keep(*request.body_file, name);
  if (!id) return failure(id.error());
  JsonWriter out;
  out.begin_object()
      .member("model", *id)
      .member("name", name)
      .integer_member("bytes", static_cast<std::int64_t>(bytes));
  out.integer_member("expires", milliseconds(std::chrono::system_clock::now() + UploadedModels::kKept))
      .end_object();
  return mlflow::json_response(out.take());
}

}  // namespace plimsoll::serve::dashboard
