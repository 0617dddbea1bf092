#include "serving.hpp"

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
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/files.hpp"
#include "base/printable.hpp"
#include "interruption.hpp"
#include "json_output.hpp"
#include "queue_client.hpp"
#include "serve/service.hpp"
#include "top_watch.hpp"

namespace plimsoll {
namespace {

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

/// Of the file, else of the variable; nothing where neither is given.
Result<std::optional<std::string>> token_of(const std::string& token_file, const char* variable) {
  constexpr std::size_t kLongestToken = 4096, kShortestToken = 16;
  std::string token;
  if (!token_file.empty()) {
    PLIMSOLL_TRY(check_secrecy(token_file));
    Result<std::string> text = read_file(token_file, kLongestToken);
    if (!text) return std::unexpected(std::move(text).error());
    token = std::move(*text);
  } else if (const char* given = std::getenv(variable)) {  // NOLINT(concurrency-mt-unsafe): one thread yet
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
              token_file.empty() ? std::string(variable) : token_file, "`openssl rand -hex 32` makes one."});
  return token;
}

/// Commands that a page gives away run as the user whom the server is of. Who has a token to log metrics by,
/// or an account on this machine, must not become that user so, and nobody root.
std::string why_no_commands(const ServeOptions& options, bool with_token) {
  if (!with_token && !options.any_user) return {};  // then this user and root alone are answered
  if (::geteuid() == 0)
    return "this server runs as root, and others than root use it: use `plimsoll submit` and `plimsoll stop`";
  if (options.any_user)
    return "this server answers every user of its machine: use `plimsoll submit` and `plimsoll stop`, or a "
           "server of your own";
  if (options.allow_commands) return {};
  return "this server was started without --allow-commands: use `plimsoll submit` and `plimsoll stop`";
}

std::string why_no_queue() {
  const auto answer = ask_queue({{"type", "list"}, {"quick", true}}, Seconds(1));
  return answer ? std::string() : answer.error().text();
}

std::string name_of_user() {
  const passwd* const user = ::getpwuid(::geteuid());  // NOLINT(concurrency-mt-unsafe): one thread yet
  return user == nullptr ? fmt::format("user {}", ::geteuid()) : std::string(user->pw_name);
}

serve::dashboard::DashboardOptions dashboard_of(const ServeOptions& options, bool with_token) {
  serve::dashboard::DashboardOptions out{.user = name_of_user()};
  // For who works on the page: its files as they are, so that nothing is built for a change of them.
  if (const char* web = std::getenv("PLIMSOLL_WEB");  // NOLINT(concurrency-mt-unsafe)
      web != nullptr && *web != '\0')
    out.web = web;
  std::error_code problem;
  out.commands.program = std::filesystem::read_symlink("/proc/self/exe", problem);
  out.now = [watch = std::make_shared<SharedTopWatch>(options.store)] { return watch->now(); };
  out.no_commands = why_no_commands(options, with_token);
  out.no_queue = why_no_queue;
  return out;
}

void announce(const serve::Service& service, const ServeOptions& options, bool with_token) {
  if (options.json) {
    print_json({{"url", service.url()}, {"store", service.store_location()}, {"token", with_token}});
  } else {
    fmt::print("Serving {} at {}\n", printable(service.store_location()), service.url());
    if (options.unix_socket.empty() && (options.host == "0.0.0.0" || options.host == "::"))
      fmt::print("  and at every other address of this machine (--host {})\n", options.host);
    if (options.unix_socket.empty()) {
      fmt::print("  {}/   in a browser shows them\n", service.url());
      fmt::print("  export MLFLOW_TRACKING_URI={}\n", service.url());
      if (!options.mlflow_ui.empty()) fmt::print("  MLflow's own pages: {}/mlflow/\n", service.url());
    }
    if (options.unix_socket.empty() && !with_token)
      fmt::print("  It answers {}.\n", options.any_user
                                           ? "every user of this machine"
                                           : "you and root alone; --token-file or --any-user lets others in");
    if (with_token) fmt::print("  export MLFLOW_TRACKING_TOKEN=…   the token that it was started with\n");
    fmt::print("Ctrl-C stops it.\n");
  }
  std::fflush(stdout);
}

}  // namespace

Result<int> serve_store(const ServeOptions& options,
                        const std::function<void(const std::string& url)>& ready) {
  Result<running::SignalSource> source = running::SignalSource::open();  // before any thread
  if (!source) return std::unexpected(std::move(source).error());
  Result<std::optional<std::string>> token = token_of(options.token_file, "PLIMSOLL_TOKEN");
  if (!token) return std::unexpected(std::move(token).error());
  Result<std::optional<std::string>> read_token = token_of(options.read_token_file, "PLIMSOLL_READ_TOKEN");
  if (!read_token) return std::unexpected(std::move(read_token).error());
  if (options.allow_commands && options.any_user)
    return fail("--allow-commands would let every user of this machine act as you: not with --any-user");
  if (*read_token && !*token) return fail("a token to read with goes beside one to write with: --token-file");
  if (*read_token && **read_token == **token)
    return fail("the token to read with must be another than the one to write with");
  serve::ServiceOptions wanted{.store = options.store, .version = PLIMSOLL_VERSION};
  wanted.mlflow_pages = options.mlflow_ui;
  wanted.open.artifacts = options.artifacts;
  wanted.open.survives_power_cut = options.flush;
  wanted.http.address = options.host;
  wanted.http.port = static_cast<std::uint16_t>(options.port);
  if (!options.unix_socket.empty()) wanted.http.unix_socket = options.unix_socket;
  wanted.http.token = *token;
  wanted.http.any_user = options.any_user;
  wanted.read_token = *read_token;
  wanted.dashboard = dashboard_of(options, token->has_value());
  wanted.http.threads = static_cast<unsigned>(options.threads);
  wanted.http.limits.connections = serve::allow_connections(wanted.http.limits.connections);
  Result<std::unique_ptr<serve::Service>> service = serve::Service::start(std::move(wanted));
  if (!service) return std::unexpected(std::move(service).error());
  announce(**service, options, token->has_value());
  if (ready) ready((*service)->url());
  pollfd signals{source->descriptor(), POLLIN, 0};
  Interruption interruption(std::move(*source));
  while (!interruption.came()) std::ignore = ::poll(&signals, 1, -1);
  (*service)->stop(kPatience);
  return 0;
}

}  // namespace plimsoll
