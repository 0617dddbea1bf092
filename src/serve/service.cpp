#include "serve/service.hpp"

#include <atomic>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "base/random_text.hpp"
#include "serve/dashboard/dashboard.hpp"
#include "serve/delta_feed.hpp"
#include "serve/event_feed.hpp"
#include "serve/http/router.hpp"
#include "serve/metric_writer.hpp"
#include "serve/mlflow/api.hpp"
#include "serve/mlflow/pages.hpp"
#include "serve/mlflow/routes.hpp"
#include "serve/mlflow/unserved.hpp"
#include "serve/prometheus.hpp"
#include "serve/upkeep.hpp"

namespace plimsoll::serve {
namespace {

namespace fs = std::filesystem;

using Handle = std::function<void(mlflow::Call, Answer)>;

struct Served {
  std::string method, pattern;
  mlflow::Body body = mlflow::Body::none;
  Handle handle;
  bool quick = false;  ///< waits for nothing, as Admission says
  mlflow::Outcome<void> (*check)(const Request& head, const Pairs& parameters) = nullptr;
  std::optional<std::uint64_t> most_body_bytes = {};  ///< in place of what `body` says
  bool takes_model = false;                           ///< the body goes where the dashboard wants it
};

Response plain_text(std::string body, std::string type = "text/plain; charset=utf-8") {
  Response response;
  response.content_type = std::move(type);
  response.body = std::move(body);
  return response;
}

/// "//get-artifact", as some of MLflow's pages ask, is "/get-artifact".
std::string_view without_doubled_slash(std::string_view path) {
  while (path.starts_with("//")) path.remove_prefix(1);
  return path;
}

}  // namespace

class Service::State {
 public:
  /// `upload_prefix`: how the names of this server's files begin in the folder of uploads.
  State(std::unique_ptr<store::Store> store, fs::path uploads, std::string upload_prefix, std::string version,
        const GateOptions& keys, dashboard::DashboardOptions page)
      : store_(std::move(store)),
        uploads_(std::move(uploads)),
        upload_prefix_(std::move(upload_prefix)),
        version_(std::move(version)),
        writer_(*store_),
        api_(*store_, writer_),
        gate_(keys),
        dashboard_(std::move(page), api_, gate_),
        feed_(*store_),
        deltas_(*store_),
        upkeep_(*store_, uploads_) {}

  /// `pages`: where MLflow's own are; empty: they are not served.
  Status start(Options options, const fs::path& pages) {
    add_routes();
    PLIMSOLL_TRY(add_pages(pages));
    std::vector<Route> routes;
    for (const Served& served : served_) routes.push_back({served.method, served.pattern});
    Result<Router> router = Router::make(routes);
    if (!router) return std::unexpected(std::move(router).error());
    router_ = std::move(*router);
    options.gate = [this](const Request& head) { return gate_.refuse(head); };
    Result<std::unique_ptr<Server>> server = Server::start(
        std::move(options),
        [this](Request request, Answer answer) { take(std::move(request), std::move(answer)); },
        [this](const Request& head) { return admit(head); });
    if (!server) return std::unexpected(std::move(server).error());
    server_ = std::move(*server);
    serving_ = server_.get();
    url_ = server_->url();
    return {};
  }

  void stop(std::chrono::milliseconds patience) {
    if (server_) server_->stop(patience);
  }

  [[nodiscard]] const std::string& url() const { return url_; }
  [[nodiscard]] std::string store_location() const { return store_->location(); }

 private:
  void add_routes() {
    for (const std::string_view prefix : mlflow::tracking_prefixes())
      for (const mlflow::Endpoint& endpoint : mlflow::tracking_endpoints()) add(prefix, endpoint);
    for (const mlflow::Endpoint& endpoint : mlflow::other_endpoints()) add({}, endpoint);
    add_plain("/health", [](const mlflow::Call&) { return plain_text("OK"); }, true);
    add_plain("/version", [this](const mlflow::Call&) { return plain_text(version_); }, true);
    add_plain("/metrics", [this](const mlflow::Call&) {
      const Server* const serving = serving_;  // requests come before start() has it
      if (serving == nullptr) return overloaded("this server is about to start");
      return plain_text(prometheus_text(serving->statistics(), writer_.statistics()),
                        "text/plain; version=0.0.4; charset=utf-8");
    });
    for (dashboard::Dashboard::Endpoint& endpoint : dashboard_.endpoints())
      served_.push_back({.method = std::move(endpoint.method),
                         .pattern = std::move(endpoint.pattern),
                         .handle = std::move(endpoint.handle),
                         .most_body_bytes = endpoint.most_body_bytes,
                         .takes_model = endpoint.takes_file});
    add_plain("/api/plimsoll/events", [this](const mlflow::Call& call) {
      Response response;
      const std::string* run = call.request.query.find("run_id");
      const std::string* delta = call.request.query.find("delta");
      std::string only = run == nullptr ? std::string() : *run;
      const bool by_delta = delta != nullptr && *delta == "1";
      // All runs together may be told in one event: two of them are to fit.
      constexpr std::size_t kRoomForDeltas = std::size_t{4} << 20;
      response.events =
          by_delta ? std::make_shared<EventQueue>(kRoomForDeltas) : std::make_shared<EventQueue>();
      if (!(by_delta ? deltas_.add(response.events, std::move(only))
                     : feed_.add(response.events, std::move(only))))
        return error_response(503, "TEMPORARILY_UNAVAILABLE", "Too many listen to the events already.");
      return response;
    });
  }

  Status add_pages(const fs::path& folder) {
    if (folder.empty()) return {};
    Result<mlflow::Pages> pages = mlflow::Pages::in(folder);
    if (!pages) return std::unexpected(std::move(pages).error());
    pages_ = std::move(*pages);
    const std::string base(mlflow::kPages);
    add_plain(base, [base](const mlflow::Call&) {
      Response response = plain_text({});
      response.status = 308;
      response.headers.add("Location", base + "/");
      return response;
    });
    add_plain(base + "/", [this](const mlflow::Call&) { return pages_->index(); });
    add_plain(base + "/static-files/{path...}",
              [this](const mlflow::Call& call) { return pages_->file(call.parameter("path")); });
    return {};
  }

  /// The path that a route is looked up for.
  [[nodiscard]] std::string_view routed(std::string_view path) const {
    path = without_doubled_slash(path);
    return pages_ ? without_doubled_slash(mlflow::below_pages(path)) : path;
  }

  void add(std::string_view prefix, const mlflow::Endpoint& endpoint) {
    served_.push_back({std::string(endpoint.method), std::string(prefix) + std::string(endpoint.path),
                       endpoint.body,
                       [this, handle = endpoint.handle](mlflow::Call call, Answer answer) {
                         handle(api_, std::move(call), std::move(answer));
                       },
                       false, endpoint.check});
  }

  void add_plain(std::string pattern, std::function<Response(const mlflow::Call&)> respond,
                 bool quick = false) {
    served_.push_back(
        {"GET", std::move(pattern), mlflow::Body::none,
         [respond = std::move(respond)](const mlflow::Call& call, Answer answer) { answer(respond(call)); },
         quick});
  }

  [[nodiscard]] Admission admit(const Request& head) {
    const auto found = router_->find(head.method, routed(head.path));
    const auto* route = std::get_if<Router::Found>(&found);
    Admission admission;
    if (route == nullptr) {
      admission.most_body_bytes = mlflow::most_bytes(mlflow::Body::none);
      // Before the body, however long that is: the client is to read why.
      if (const std::optional<mlflow::Fault> fault = mlflow::unserved(routed(head.path)))
        admission.refusal = mlflow::response_of(*fault);
      return admission;
    }
    const Served& served = served_[route->route];
    admission.most_body_bytes = served.most_body_bytes.value_or(mlflow::most_bytes(served.body));
    if (served.takes_model) {
      Result<fs::path> place = dashboard_.body_place();
      if (!place) return {.refusal = mlflow::response_of(mlflow::fault_of(place.error()))};
      admission.body_file = *std::move(place);
    }
    admission.quick = served.quick;
    if (served.body == mlflow::Body::upload || served.body == mlflow::Body::small_upload)
      admission.body_file = uploads_ / fmt::format("{}-{}", upload_prefix_, next_upload_.fetch_add(1));
    if (served.check != nullptr)
      if (const mlflow::Outcome<void> good = served.check(head, route->parameters); !good)
        admission.refusal = mlflow::response_of(good.error());
    return admission;
  }

  void take(Request request, Answer answer) {
    auto found = router_->find(request.method, routed(request.path));
    if (auto* route = std::get_if<Router::Found>(&found)) {
      served_[route->route].handle({std::move(request), std::move(route->parameters)}, std::move(answer));
      return;
    }
    if (const auto* wrong = std::get_if<Router::WrongMethod>(&found)) {
      Response response = error_response(405, "BAD_REQUEST", "This path is not for that method.");
      response.headers.add("Allow", wrong->allowed);
      answer(std::move(response));
      return;
    }
    answer(error_response(404, "ENDPOINT_NOT_FOUND", "Plimsoll serves nothing at this path."));
  }

  std::unique_ptr<store::Store> store_;
  fs::path uploads_;
  std::string upload_prefix_, version_, url_;
  MetricWriter writer_;
  mlflow::Api api_;
  Gate gate_;
  dashboard::Dashboard dashboard_;
  EventFeed feed_;
  DeltaFeed deltas_;
  Upkeep upkeep_;
  std::vector<Served> served_;
  std::optional<mlflow::Pages> pages_;
  std::optional<Router> router_;
  std::atomic<std::uint64_t> next_upload_ = 0;
  std::atomic<const Server*> serving_ = nullptr;  // server_, for handlers
  std::unique_ptr<Server> server_;  // the last, so that it goes first: handlers use all of the others
};

Result<std::unique_ptr<Service>> Service::start(ServiceOptions options) {
  Result<std::unique_ptr<store::Store>> store = store::open(options.store, options.open);
  if (!store) return std::unexpected(std::move(store).error());
  Result<fs::path> uploads = (*store)->uploads();
  if (!uploads) return std::unexpected(std::move(uploads).error());
  // Other servers may use the same folder, from other machines too, or have left files there in a crash.
  constexpr std::size_t kPrefixBytes = 8;
  Result<std::string> prefix = random_hex(kPrefixBytes);
  if (!prefix) return std::unexpected(std::move(prefix).error());
  GateOptions keys{.token = options.http.token,
                   .read_token = std::move(options.read_token),
                   .open_paths = dashboard::open_paths(),
                   .open_posts = dashboard::open_posts(),
                   .only_reads = dashboard::only_reads};
  options.dashboard.version = options.version;
  options.dashboard.commands.store = options.store;
  options.dashboard.commands.artifacts = options.open.artifacts;
  auto state = std::make_unique<State>(std::move(*store), std::move(*uploads), std::move(*prefix),
                                       std::move(options.version), keys, std::move(options.dashboard));
  PLIMSOLL_TRY(state->start(std::move(options.http), options.mlflow_pages));
  return std::unique_ptr<Service>(new Service(std::move(state)));
}

Service::Service(std::unique_ptr<State> state) : state_(std::move(state)) {}
Service::~Service() = default;

const std::string& Service::url() const {
  return state_->url();
}

std::string Service::store_location() const {
  return state_->store_location();
}

void Service::stop(std::chrono::milliseconds patience) {
  state_->stop(patience);
}

}  // namespace plimsoll::serve
