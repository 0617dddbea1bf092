#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "base/printable.hpp"
#include "command.hpp"
#include "forward/forwarder.hpp"
#include "forward/http_client.hpp"
#include "forward/server_address.hpp"
#include "json_output.hpp"
#include "named_runs.hpp"
#include "store/store.hpp"

namespace plimsoll {
namespace {

struct ExportMlflowOptions {
  std::vector<std::string> runs;
  std::string uri, store;
  bool json = false;
};

constexpr std::size_t kDigits = 8;  ///< of a run's id that people are shown

/// How far it is, as one line on standard error; on a terminal alone.
class SendingLine {
 public:
  SendingLine() : shown_(::isatty(STDERR_FILENO) != 0) {}
  ~SendingLine() {
    if (shown_) fmt::print(stderr, "\r\x1B[K");
  }
  SendingLine(const SendingLine&) = delete;
  SendingLine& operator=(const SendingLine&) = delete;
  void show(const forward::Forwarder& run, std::size_t place, std::size_t of) const {
    if (!shown_) return;
    fmt::print(stderr, "\r\x1B[Krun {} ({} of {}): {} of {} points sent", run.run().substr(0, kDigits),
               place + 1, of, run.points_sent(), run.points_known());
    std::fflush(stderr);
  }

 private:
  bool shown_;
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

nlohmann::ordered_json refused_json(const forward::Forwarder& run) {
  auto out = nlohmann::ordered_json::array();
  for (const forward::Forwarder::Refused& refused : run.refused())
    out.push_back({{"what", refused.what}, {"why", refused.why}});
  return out;
}

nlohmann::ordered_json to_json(const forward::Forwarder& run, const std::string& url) {
  const forward::RemoteRun& there = *run.remote_run();
  return {{"run", run.run()},
          {"mlflow_run", there.id},
          {"mlflow_experiment", there.experiment_id},
          {"page", fmt::format("{}/#/experiments/{}/runs/{}", url, there.experiment_id, there.id)},
          {"created", run.created()},
          {"points_sent", run.points_sent()},
          {"refused", refused_json(run)},
          {"complete", run.complete()}};
}

void print_sent(const forward::Forwarder& run, const std::string& url) {
  const forward::RemoteRun& there = *run.remote_run();
  const std::string sent =
      fmt::format("{} point{} sent", run.points_sent(), run.points_sent() == 1 ? "" : "s");
  const bool nothing_new = run.points_sent() == 0 && !run.created();
  fmt::print("run {}: {}{}, {}/#/experiments/{}/runs/{}\n", run.run().substr(0, kDigits),
             nothing_new ? "its points were there" : sent, run.complete() ? "" : " so far; it goes on", url,
             printable(there.experiment_id), printable(there.id));
}

Result<int> export_runs(const ExportMlflowOptions& options) {
  const Result<forward::ServerAddress> server = server_of(options);
  if (!server) return std::unexpected(server.error());
  const auto store = store::open(options.store, {.create = false});
  if (!store) return std::unexpected(store.error());
  // All of them are known before any is sent.
  const Result<std::vector<store::Run>> runs = named_runs(**store, options.runs);
  if (!runs) return std::unexpected(runs.error());
  Result<forward::HttpClient> client = forward::HttpClient::open(*server);
  if (!client) return std::unexpected(std::move(client).error());
  forward::MlflowRemote remote(
      [&client](const forward::Request& request) { return client->exchange(request); }, server->shown);
  nlohmann::ordered_json out = {{"server", server->url}, {"runs", nlohmann::ordered_json::array()}};
  for (std::size_t i = 0; i < runs->size(); ++i) {
    forward::Forwarder run(**store, remote, server->url, (*runs)[i].id);
    {
      const SendingLine line;
      PLIMSOLL_TRY(send(run, [&] { line.show(run, i, runs->size()); }));
    }
    for (const forward::Forwarder::Refused& refused : run.refused())
      fmt::print(stderr, "plimsoll: {} does not take {} of run {}: {}\n", server->shown, refused.what,
                 run.run().substr(0, kDigits), printable(refused.why));
    out["runs"].push_back(to_json(run, server->url));
    if (!options.json) print_sent(run, server->url);
  }
  if (options.json) print_json(out);
  return 0;
}

}  // namespace

void add_export_mlflow(CommandLine& app, Invocation& invocation) {
  constexpr int kMostRuns = 1000;
  CommandLine* command = app.add_subcommand("export-mlflow", "Send runs to an MLflow server");
  const auto options = std::make_shared<ExportMlflowOptions>();
  command
      ->add_option("runs", options->runs, "The runs, by the first digits of their ids; `last` is the newest")
      ->required()
      ->expected(1, kMostRuns)
      ->option_text("RUN…");
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
      "A run that was sent before, or while it ran, goes on in the same run there.");
  command->callback([options, &invocation] { invocation.run = [options] { return export_runs(*options); }; });
}

}  // namespace plimsoll
