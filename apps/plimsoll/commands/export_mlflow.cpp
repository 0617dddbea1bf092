#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <memory>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "base/percent.hpp"
#include "base/printable.hpp"
#include "base/text.hpp"
#include "command.hpp"
#include "forward/content_sender.hpp"
#include "forward/forwarder.hpp"
#include "forward/http_client.hpp"
#include "forward/registry_sender.hpp"
#include "forward/server_address.hpp"
#include "json_output.hpp"
#include "named_registered.hpp"
#include "named_runs.hpp"
#include "store/store.hpp"

namespace plimsoll {
namespace {

struct ExportMlflowOptions {
  std::vector<std::string> runs, models;
  std::string uri, store;
  bool all = false, json = false;
};

constexpr std::size_t kDigits = 8;  ///< of a run's id that people are shown

/// How far it is, as one line on standard error; on a terminal alone.
class SendingLine {
 public:
  SendingLine() : shown_(::isatty(STDERR_FILENO) != 0) {}
  ~SendingLine() { clear(); }
  SendingLine(const SendingLine&) = delete;
  SendingLine& operator=(const SendingLine&) = delete;
  void show(const forward::Forwarder& run) const {
    tell(fmt::format("run {}{}: {} of {} points sent", run.run().substr(0, kDigits), place_,
                     run.points_sent(), run.points_known()));
  }
  void show(const std::string& run, const forward::FilesSent& files) const {
    tell(fmt::format("run {}{}: {} files sent ({}), now {}", run.substr(0, kDigits), place_, files.files,
                     text(Bytes{files.bytes}), printable(files.current)));
  }
  void show(const std::string& model, std::size_t done, std::size_t of) const {
    tell(fmt::format("registered model {}: {} of {} versions", printable(model), done, of));
  }
  void go_to(std::size_t place, std::size_t of) { place_ = fmt::format(" ({} of {})", place + 1, of); }
  void clear() const {
    if (shown_) fmt::print(stderr, "\r\x1B[K");
  }

 private:
  void tell(const std::string& line) const {
    if (!shown_) return;
    constexpr std::size_t kWidest = 78;
    fmt::print(stderr, "\r\x1B[K{}", printable(line, kWidest));
    std::fflush(stderr);
  }
  bool shown_;
  std::string place_ = {};
};

/// The address that was given, else that of MLFLOW_TRACKING_URI.
Result<forward::ServerAddress> server_of(const ExportMlflowOptions& options) {
  std::string uri = options.uri;
  if (const char* set = std::getenv("MLFLOW_TRACKING_URI"); uri.empty() && set != nullptr) uri = set;
  if (uri.empty())
    return std::unexpected(Error{"the server that the runs go to is not named",
                                 {},
                                 "Give --mlflow-uri http://HOST:5000, or set MLFLOW_TRACKING_URI."});
  Result<forward::ServerAddress> out = forward::parse_address(uri, forward::credentials_of_environment());
  if (!out)
    return std::unexpected(
        std::move(out).error().within(options.uri.empty() ? "MLFLOW_TRACKING_URI" : "--mlflow-uri"));
  return out;
}

/// A server that stumbles is asked again a few times.
Status send(forward::Forwarder& run, const std::function<void()>& show) {
  constexpr int kTries = 3;
  std::chrono::milliseconds pause{500};
  for (int failures = 0;;) {
    show();
    const Result<bool> more = run.send_some();
    if (more && !*more) return {};
    if (more) {
      failures = 0;
      continue;
    }
    if (more.error().kind != Error::Kind::unavailable || ++failures == kTries) {
      Error error = more.error();
      if (error.may_pass() && error.hint.empty())
        error.hint = "What was sent is there; the same command goes on with the rest.";
      return std::unexpected(std::move(error));
    }
    std::this_thread::sleep_for(pause);
    pause *= 2;
  }
}

using Json = nlohmann::ordered_json;

/// All that are sent in one call, and where to.
class Export {
 public:
  Export(store::Store& store, forward::MlflowRemote& remote, const forward::ServerAddress& server, bool json)
      : store_(store),
        remote_(remote),
        server_(server),
        json_(json),
        artifacts_(remote.server(), left_out_,
                   [this](const forward::FilesSent& files) { line_.show(now_, files); }),
        models_(store, remote, server.url, artifacts_, left_out_) {}

  Status send_run(const std::string& id, std::size_t place, std::size_t of);
  Status send_registered(const std::string& name);
  Status finish() { return models_.finish(); }
  /// Whether something there is another's and was left as it is.
  [[nodiscard]] bool met_others() const { return met_others_; }
  [[nodiscard]] Json to_json() const;

 private:
  /// What was left out since the last time: on standard error, and for the JSON.
  Json tell_left_out(const std::string& of);
  void print_sent(const forward::Forwarder& run, const forward::FilesSent& before,
                  std::size_t datasets) const;

  store::Store& store_;
  forward::MlflowRemote& remote_;
  const forward::ServerAddress& server_;
  bool json_;
  SendingLine line_ = {};
  std::string now_ = {};  ///< the run that is being sent
  std::vector<forward::LeftOut> left_out_ = {};
  forward::ArtifactSender artifacts_;
  forward::ModelSender models_;
  Json runs_ = Json::array(), registered_ = Json::array();
  bool met_others_ = false;
};

Json Export::tell_left_out(const std::string& of) {
  line_.clear();
  Json out = Json::array();
  for (const forward::LeftOut& each : left_out_) {
    fmt::print(stderr, "plimsoll: {} does not take {} of {}: {}\n", server_.shown, printable(each.what), of,
               printable(each.why));
    out.push_back({{"what", each.what}, {"why", each.why}});
  }
  left_out_.clear();
  return out;
}

void Export::print_sent(const forward::Forwarder& run, const forward::FilesSent& before,
                        std::size_t datasets) const {
  const forward::RemoteRun& there = *run.remote_run();
  const auto some = [](std::int64_t count, std::string_view what) {
    return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
  };
  std::vector<std::string> sent;
  if (run.points_sent() > 0) sent.push_back(some(run.points_sent(), "point"));
  const forward::FilesSent& files = artifacts_.sent();
  if (files.files > before.files)
    sent.push_back(fmt::format("{} ({})", some(static_cast<std::int64_t>(files.files - before.files), "file"),
                               text(Bytes{files.bytes - before.bytes})));
  if (datasets > 0) sent.push_back(some(static_cast<std::int64_t>(datasets), "dataset"));
  const std::string all = sent.empty() ? (run.created() ? "sent" : "all of it was there")
                                       : fmt::format("{} sent", fmt::join(sent, ", "));
  fmt::print("run {}: {}{}, {}/#/experiments/{}/runs/{}\n", run.run().substr(0, kDigits), all,
             run.complete() ? "" : " so far; it goes on", server_.url, printable(there.experiment_id),
             printable(there.id));
}

Status Export::send_run(const std::string& id, std::size_t place, std::size_t of) {
  forward::Forwarder run(store_, remote_, server_.url, id);
  now_ = id;
  line_.go_to(place, of);
  PLIMSOLL_TRY(send(run, [&] { line_.show(run); }));
  const forward::FilesSent before = artifacts_.sent();
  forward::ContentSender content(store_, remote_, models_, artifacts_, left_out_);
  const std::size_t models_before = models_.sent().size();
  PLIMSOLL_TRY(content.send(id, run.remote_run()->id));
  left_out_.insert(left_out_.begin(), run.refused().begin(), run.refused().end());
  const Json left_out = tell_left_out("run " + id.substr(0, kDigits));
  Json models = Json::array();
  for (std::size_t i = models_before; i < models_.sent().size(); ++i) {
    const forward::SentModel& model = models_.sent()[i];
    models.push_back({{"model", model.model},
                      {"mlflow_model", model.remote.empty() ? Json() : Json(model.remote)},
                      {"created", model.created}});
  }
  const forward::RemoteRun& there = *run.remote_run();
  const forward::FilesSent& files = artifacts_.sent();
  runs_.push_back(
      {{"run", run.run()},
       {"mlflow_run", there.id},
       {"mlflow_experiment", there.experiment_id},
       {"page", fmt::format("{}/#/experiments/{}/runs/{}", server_.url, there.experiment_id, there.id)},
       {"created", run.created()},
       {"points_sent", run.points_sent()},
       {"files_sent", files.files - before.files},
       {"file_bytes_sent", files.bytes - before.bytes},
       {"files_present", files.present - before.present},
       {"datasets_sent", content.datasets_sent()},
       {"models", models},
       {"refused", left_out},
       {"complete", run.complete()}});
  if (!json_) print_sent(run, before, content.datasets_sent());
  return {};
}

Status Export::send_registered(const std::string& name) {
  forward::RegistrySender registry(store_, remote_, server_.url, models_, left_out_);
  const Result<forward::SentRegistered> sent =
      registry.send(name, [&](std::size_t done, std::size_t of) { line_.show(name, done, of); });
  if (!sent) return std::unexpected(sent.error());
  const std::string called = fmt::format("registered model {}", printable(name));
  const Json left_out = tell_left_out(called);
  if (sent->different) {
    met_others_ = true;
    fmt::print(stderr, "plimsoll: {} has another registered model named {}: it is left as it is\n",
               server_.shown, quote(name));
  }
  const std::string page = fmt::format("{}/#/models/{}", server_.url, percent_encode(name));
  registered_.push_back({{"name", name},
                         {"page", page},
                         {"versions_sent", sent->sent},
                         {"versions_present", sent->present},
                         {"different", sent->different},
                         {"refused", left_out}});
  if (!json_ && !sent->different)
    fmt::print("{}: {} version{} sent, {} there before, {}\n", called, sent->sent, sent->sent == 1 ? "" : "s",
               sent->present, page);
  return {};
}

Json Export::to_json() const {
  return {{"server", server_.url}, {"runs", runs_}, {"registered_models", registered_}};
}

Result<std::vector<std::string>> every_run(store::Store& store) {
  constexpr std::size_t kAtOnce = 500;
  std::vector<std::string> out;
  // The oldest first: so parents are there before what is nested in them.
  for (std::size_t offset = 0;; offset += kAtOnce) {
    const Result<std::vector<store::Run>> runs =
        store.search({.order_by = {"start_time ASC", "run_id ASC"}, .limit = kAtOnce, .offset = offset});
    if (!runs) return std::unexpected(runs.error());
    for (const store::Run& run : *runs) out.push_back(run.id);
    if (runs->size() < kAtOnce) return out;
  }
}

Result<std::vector<std::string>> every_registered(store::Store& store) {
  const Result<std::vector<store::RegisteredModel>> models =
      store.registry().search({.limit = std::numeric_limits<std::size_t>::max()});
  if (!models) return std::unexpected(models.error());
  std::vector<std::string> out;
  for (const store::RegisteredModel& model : *models) out.push_back(model.name);
  return out;
}

struct Wanted {
  std::vector<std::string> runs, models;
};

/// All that is to be sent is known before any of it is.
Result<Wanted> wanted(store::Store& store, const ExportMlflowOptions& options) {
  Wanted out;
  if (options.all) {
    Result<std::vector<std::string>> runs = every_run(store);
    PLIMSOLL_TRY(runs);
    Result<std::vector<std::string>> models = every_registered(store);
    PLIMSOLL_TRY(models);
    return Wanted{std::move(*runs), std::move(*models)};
  }
  const auto add = [&](const std::string& run) {
    if (std::ranges::find(out.runs, run) == out.runs.end()) out.runs.push_back(run);
  };
  const Result<std::vector<store::Run>> runs = named_runs(store, options.runs);
  PLIMSOLL_TRY(runs);
  for (const store::Run& run : *runs) add(run.id);
  for (const std::string& name : options.models) {
    const Result<store::RegisteredModel> model = named_registered(store, name);
    PLIMSOLL_TRY(model);
    const Result<std::vector<std::string>> needed = forward::runs_of(store, model->name);
    PLIMSOLL_TRY(needed);
    for (const std::string& run : *needed) add(run);
    out.models.push_back(model->name);
  }
  return out;
}

Result<int> export_all(const ExportMlflowOptions& options) {
  if (!options.all && options.runs.empty() && options.models.empty())
    return std::unexpected(
        Error{"nothing is named that is to be sent", {}, "Name runs, or --model NAME, or --all."});
  if (options.all && !(options.runs.empty() && options.models.empty()))
    return std::unexpected(Error{"--all sends every run and model: name none beside it"});
  const Result<forward::ServerAddress> server = server_of(options);
  PLIMSOLL_TRY(server);
  const auto store = store::open(options.store, {.create = false});
  PLIMSOLL_TRY(store);
  const Result<Wanted> all = wanted(**store, options);
  PLIMSOLL_TRY(all);
  Result<forward::HttpClient> client = forward::HttpClient::open(*server);
  PLIMSOLL_TRY(client);
  forward::MlflowRemote remote(
      [&client](const forward::Request& request) { return client->exchange(request); }, server->shown);
  Export sending(**store, remote, *server, options.json);
  for (std::size_t i = 0; i < all->runs.size(); ++i)
    PLIMSOLL_TRY(sending.send_run(all->runs[i], i, all->runs.size()));
  for (const std::string& name : all->models) PLIMSOLL_TRY(sending.send_registered(name));
  PLIMSOLL_TRY(sending.finish());
  if (options.json) print_json(sending.to_json());
  return sending.met_others() ? 1 : 0;
}

}  // namespace

void add_export_mlflow(CommandLine& app, Invocation& invocation) {
  constexpr int kMostRuns = 1000;
  CommandLine* command = app.add_subcommand(
      "export-mlflow", "Send runs, with their files, and registered models to an MLflow server");
  const auto options = std::make_shared<ExportMlflowOptions>();
  command
      ->add_option("runs", options->runs, "The runs, by the first digits of their ids; `last` is the newest")
      ->expected(0, kMostRuns)
      ->option_text("RUN…");
  command
      ->add_option("--model", options->models,
                   "Send this registered model too: its versions, and the runs that they are from")
      ->expected(1, kMostRuns)
      ->option_text("REGISTERED…");
  command->add_flag("--all", options->all, "Send every run and every registered model of the store");
  command
      ->add_option(
          "--mlflow-uri", options->uri,
          "The server: http://HOST:5000 or https://USER:PASSWORD@HOST (default: MLFLOW_TRACKING_URI)")
      ->option_text("URI");
  command
      ->add_option(
          "--store", options->store,
          "The store that the runs are in (default: PLIMSOLL_STORE, else plimsoll.db in your data folder)")
      ->option_text("PATH");
  command->add_flag("--json", options->json, "Print one JSON document");
  command->footer(
      "Examples:\n"
      "  plimsoll export-mlflow 1f3a --mlflow-uri http://127.0.0.1:5000\n"
      "  MLFLOW_TRACKING_TOKEN=… plimsoll export-mlflow 1f3a 9c02 --mlflow-uri https://mlflow.example.org\n"
      "  plimsoll export-mlflow --model tiny --mlflow-uri http://127.0.0.1:5000\n"
      "  plimsoll export-mlflow --all --mlflow-uri http://127.0.0.1:5000\n"
      "A run that was sent before, or while it ran, goes on in the same run there; so does what was cut "
      "short.");
  command->callback([options, &invocation] { invocation.run = [options] { return export_all(*options); }; });
}

}  // namespace plimsoll
