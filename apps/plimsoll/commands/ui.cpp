#include <chrono>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/process.hpp"
#include "command.hpp"
#include "forward/http_client.hpp"
#include "json_output.hpp"
#include "serving.hpp"
#include "store/store.hpp"

namespace plimsoll {
namespace {

struct UiOptions {
  ServeOptions serve = {};
  int port = -1;  ///< none was asked for
  bool no_browser = false;
};

constexpr int kUsualPort = 5000;

bool has(const char* variable) {
  const char* const value = std::getenv(variable);  // NOLINT(concurrency-mt-unsafe): one thread yet
  return value != nullptr && *value != '\0';
}

/// The store that a server at this port of this machine has; nothing where there is none of this user's.
std::optional<std::string> store_served_at(int port) {
  Result<forward::ServerAddress> address = forward::parse_address(fmt::format("http://127.0.0.1:{}", port));
  if (!address) return std::nullopt;
  constexpr std::chrono::milliseconds kPatience{1000};
  auto client =
      forward::HttpClient::open(*std::move(address), {}, {.connect = kPatience, .total = kPatience});
  if (!client) return std::nullopt;
  const auto answer = client->exchange({.path = "/api/plimsoll/session"});
  if (!answer || answer->status != 200) return std::nullopt;
  const auto session = nlohmann::json::parse(answer->body, nullptr, false);
  if (!session.is_object() || !session.contains("store") || !session["store"].is_string())
    return std::nullopt;
  return session["store"].get<std::string>();
}

/// Where somebody sits before a screen. What the browser does afterwards is its own affair.
void show(const std::string& url) {
  if (!has("DISPLAY") && !has("WAYLAND_DISPLAY")) return;
  const Result<std::filesystem::path> opener = find_program("xdg-open");
  if (!opener) return;
  std::thread([program = opener->string(), url] {
    (void)plimsoll::run(ProcessOptions{.argv = {program, url}});
  }).detach();
}

Result<int> open_page(UiOptions options) {
  Result<std::unique_ptr<store::Store>> store = store::open(options.serve.store);
  if (!store) return std::unexpected(std::move(store).error());
  const std::string location = (*store)->location();
  store->reset();
  const bool any_port = options.port < 0;
  const int port = any_port ? kUsualPort : options.port;
  const std::optional<std::string> served = port == 0 ? std::nullopt : store_served_at(port);
  const auto open = [&](const std::string& url) {
    if (!options.no_browser) show(url + "/");
  };
  if (served == location) {
    const std::string url = fmt::format("http://127.0.0.1:{}", port);
    if (options.serve.json)
      print_json({{"url", url}, {"store", location}, {"started", false}});
    else
      fmt::print("{} is served already: {}/\n", location, url);
    std::fflush(stdout);
    open(url);
    std::this_thread::sleep_for(std::chrono::milliseconds(options.no_browser ? 0 : 500));
    return 0;
  }
  // Another's server is there: not that port.
  options.serve.port = !any_port || !served ? port : 0;
  Result<int> done = serve_store(options.serve, open);
  if (!done && any_port && done.error().kind != Error::Kind::bad_input && options.serve.port != 0) {
    options.serve.port = 0;
    done = serve_store(options.serve, open);
  }
  return done;
}

}  // namespace

void add_ui(CommandLine& app, Invocation& invocation) {
  auto options = std::make_shared<UiOptions>();
  CommandLine* command =
      app.add_subcommand("ui", "Open the dashboard in a browser: the runs, the GPUs, the queue");
  command
      ->add_option("--store", options->serve.store,
                   "The store that the runs are in: a file, or postgresql://USER@HOST/DATABASE (default: "
                   "PLIMSOLL_STORE, else plimsoll.db in your data folder)")
      ->option_text("PATH|URL");
  command->add_option("--port", options->port, "The port (default: 5000, or one that is free)")
      ->in_range(0, 65535)
      ->option_text("PORT");
  command->add_flag("--no-browser", options->no_browser, "Only say where it is");
  command->add_flag("--json", options->serve.json, "Print where it is as one JSON document");
  command->footer(
      "Examples:\n"
      "  plimsoll ui\n"
      "  plimsoll ui --store runs.db --no-browser\n"
      "  ssh -L 5000:127.0.0.1:5000 node7 plimsoll ui --port 5000\n"
      "\n"
      "Where a server of this store runs already at that port, its page is opened; else this is one, until "
      "Ctrl-C.\n"
      "It answers you and root alone. For others, start `plimsoll serve` with a token.");
  command->callback([options, &invocation] { invocation.run = [options] { return open_page(*options); }; });
}

}  // namespace plimsoll
