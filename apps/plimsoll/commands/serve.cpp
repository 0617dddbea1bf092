#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <tuple>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <poll.h>
#include <sys/stat.h>

#include "base/files.hpp"
#include "base/printable.hpp"
#include "command.hpp"
#include "interruption.hpp"
#include "json_output.hpp"
#include "serve/service.hpp"

namespace plimsoll {
namespace {

struct ServeOptions {
  std::string store;
  std::string host = "127.0.0.1";
  int port = 5000;
  std::string unix_socket, token_file, artifacts;
  int threads = 4;
  bool any_user = false, flush = false, json = false;
};

constexpr std::chrono::seconds kPatience{10};

/// A token that others on this machine can read keeps nobody out.
Status check_secrecy(const std::string& token_file) {
  struct stat facts{};
  if (::stat(token_file.c_str(), &facts) != 0) return {};  // to read it says why
  if ((facts.st_mode & (S_IRWXG | S_IRWXO)) == 0) return {};
  return std::unexpected(
      Error{fmt::format("others than its owner may use this file (mode {:04o})", facts.st_mode & 07777U),
            token_file,
            "`chmod 600` it; where others have read it already, make a new token: `openssl rand -hex 32`."});
}

/// Of the file, else of PLIMSOLL_TOKEN; nothing where neither is given.
Result<std::optional<std::string>> token_of(const ServeOptions& options) {
  constexpr std::size_t kLongestToken = 4096, kShortestToken = 16;
  std::string token;
  if (!options.token_file.empty()) {
    PLIMSOLL_TRY(check_secrecy(options.token_file));
    Result<std::string> text = read_file(options.token_file, kLongestToken);
    if (!text) return std::unexpected(std::move(text).error());
    token = std::move(*text);
  } else if (const char* given =
                 std::getenv("PLIMSOLL_TOKEN")) {  // NOLINT(concurrency-mt-unsafe): one thread yet
    token = given;
  } else {
    return std::nullopt;
  }
  while (!token.empty() && (token.back() == '\n' || token.back() == '\r')) token.pop_back();
  const bool printable_ascii =
      std::ranges::all_of(token, [](char c) { return c > ' ' && static_cast<unsigned char>(c) < 0x7F; });
  if (token.size() < kShortestToken || !printable_ascii)
    return std::unexpected(
        Error{fmt::format("a token has at least {} characters, without spaces", kShortestToken),
              options.token_file.empty() ? "PLIMSOLL_TOKEN" : options.token_file,
              "`openssl rand -hex 32` makes one."});
  return token;
}

void announce(const serve::Service& service, const ServeOptions& options, bool with_token) {
  if (options.json) {
    print_json({{"url", service.url()}, {"store", service.store_location()}, {"token", with_token}});
  } else {
    fmt::print("Serving {} at {}\n", printable(service.store_location()), service.url());
    if (options.unix_socket.empty() && (options.host == "0.0.0.0" || options.host == "::"))
      fmt::print("  and at every other address of this machine (--host {})\n", options.host);
    if (options.unix_socket.empty()) fmt::print("  export MLFLOW_TRACKING_URI={}\n", service.url());
    if (options.unix_socket.empty() && !with_token)
      fmt::print("  It answers {}.\n", options.any_user
                                           ? "every user of this machine"
                                           : "you and root alone; --token-file or --any-user lets others in");
    if (with_token) fmt::print("  export MLFLOW_TRACKING_TOKEN=…   the token that it was started with\n");
    fmt::print("Ctrl-C stops it.\n");
  }
  std::fflush(stdout);
}

Result<int> serve_store(const ServeOptions& options) {
  Result<running::SignalSource> source = running::SignalSource::open();  // before any thread
  if (!source) return std::unexpected(std::move(source).error());
  Result<std::optional<std::string>> token = token_of(options);
  if (!token) return std::unexpected(std::move(token).error());
  serve::ServiceOptions wanted{.store = options.store, .version = PLIMSOLL_VERSION};
  wanted.open.artifacts = options.artifacts;
  wanted.open.survives_power_cut = options.flush;
  wanted.http.address = options.host;
  wanted.http.port = static_cast<std::uint16_t>(options.port);
  if (!options.unix_socket.empty()) wanted.http.unix_socket = options.unix_socket;
  wanted.http.token = *token;
  wanted.http.any_user = options.any_user;
  // For who works on the page: its files as they are, so that nothing is built for a change of them.
  if (const char* web = std::getenv("PLIMSOLL_WEB"); web != nullptr && *web != '\0')  // NOLINT(concurrency-mt-unsafe)
    wanted.web = web;
  wanted.http.threads = static_cast<unsigned>(options.threads);
  wanted.http.limits.connections = serve::allow_connections(wanted.http.limits.connections);
  Result<std::unique_ptr<serve::Service>> service = serve::Service::start(std::move(wanted));
  if (!service) return std::unexpected(std::move(service).error());
  announce(**service, options, token->has_value());
  pollfd signals{source->descriptor(), POLLIN, 0};
  Interruption interruption(std::move(*source));
  while (!interruption.came()) std::ignore = ::poll(&signals, 1, -1);
  (*service)->stop(kPatience);
  return 0;
}

}  // namespace

void add_serve(CommandLine& app, Invocation& invocation) {
  auto options = std::make_shared<ServeOptions>();
  CommandLine* command =
      app.add_subcommand("serve", "Serve the runs to MLflow's own client, and take what it logs");
  command
      ->add_option("--store", options->store,
                   "The store that the runs are in: a file, or postgresql://USER@HOST/DATABASE (default: "
                   "PLIMSOLL_STORE, else plimsoll.db in your data folder)")
      ->option_text("PATH|URL");
  command
      ->add_option("--host", options->host,
                   "The address to listen at (default: 127.0.0.1); any other needs a token")
      ->option_text("ADDRESS");
  command->add_option("--port", options->port, "The port (default: 5000); 0: any that is free")
      ->in_range(0, 65535)
      ->option_text("PORT");
  CommandLineOption* unix_socket =
      command
          ->add_option("--unix", options->unix_socket, "Listen at a Unix socket instead, for this user only")
          ->option_text("PATH");
  command
      ->add_option("--token-file", options->token_file,
                   "Every call must bring the token in this file (default: the token in PLIMSOLL_TOKEN, "
                   "where it is set)")
      ->option_text("FILE");
  command
      ->add_flag("--any-user", options->any_user,
                 "Without a token: answer every user of this machine (default: you and root)")
      ->excludes(unix_socket);
  command
      ->add_option("--artifacts", options->artifacts, "Where the artifacts of a store in PostgreSQL are kept")
      ->option_text("FOLDER");
  command->add_option("--threads", options->threads, "Threads that answer calls (default: 4)")
      ->in_range(1, 256)
      ->option_text("N");
  command->add_flag("--flush", options->flush,
                    "Answer only when what was sent is on the disk: safe from power cuts, and slower");
  command->add_flag("--json", options->json, "Print where it serves as one JSON document");
  command->footer(
      "Examples:\n"
      "  plimsoll serve\n"
      "  MLFLOW_TRACKING_URI=http://127.0.0.1:5000 python train.py\n"
      "  openssl rand -hex 32 > token; chmod 600 token\n"
      "  plimsoll serve --host 0.0.0.0 --token-file token --store postgresql://user@host/runs");
  command->callback([options, &invocation] { invocation.run = [options] { return serve_store(*options); }; });
}

}  // namespace plimsoll
