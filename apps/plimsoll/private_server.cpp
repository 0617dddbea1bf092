#include "private_server.hpp"

#include <cstdlib>

#include "base/random_text.hpp"
#include "base/signals_held_back.hpp"

namespace plimsoll {
namespace {

constexpr unsigned kThreads = 2;
constexpr std::size_t kTokenBytes = 32;
constexpr std::string_view kHere = "127.0.0.1";

/// The hosts that programs reach without the user's proxy, this machine among them: MLflow's client asks the
/// proxy for 127.0.0.1 too. Of the two names of the variable Python reads the one in lower case first.
std::string without_proxy(const char* name, const char* other_name) {
  const char* set = std::getenv(name);
  if (set == nullptr) set = std::getenv(other_name);
  const std::string hosts = set == nullptr ? "" : set;
  if (hosts.empty()) return std::string(kHere);
  // "*" stands for all of them, but only alone.
  return hosts == "*" ? hosts : fmt::format("{},{}", hosts, kHere);
}

}  // namespace

Result<PrivateServer> PrivateServer::start(const std::string& store) {
  Result<std::string> token = random_hex(kTokenBytes);
  if (!token) return std::unexpected(std::move(token).error());
  serve::ServiceOptions options{.store = store, .version = PLIMSOLL_VERSION};
  // A script waits for every call of its training loop: as with `plimsoll serve`, none waits for the disk.
  options.open.survives_power_cut = false;
  options.http.token = *token;
  options.http.threads = kThreads;
  const SignalsHeldBack held;
  Result<std::unique_ptr<serve::Service>> service = serve::Service::start(std::move(options));
  if (!service) return std::unexpected(std::move(service).error());
  return PrivateServer(std::move(*service), std::move(*token));
}

running::Variables PrivateServer::variables(const std::string& run) const {
  return {{"MLFLOW_TRACKING_URI", service_->url()},
          {"MLFLOW_RUN_ID", run},
          {"MLFLOW_TRACKING_TOKEN", token_},
          // MLflow's client sends a user and password before a token, and looks for them in the environment,
          // then in ~/.mlflow/credentials: another server's must not come here.
          {"MLFLOW_TRACKING_USERNAME", "plimsoll"},
          {"MLFLOW_TRACKING_PASSWORD", token_},
          {"no_proxy", without_proxy("no_proxy", "NO_PROXY")},
          {"NO_PROXY", without_proxy("NO_PROXY", "no_proxy")}};
}

}  // namespace plimsoll
