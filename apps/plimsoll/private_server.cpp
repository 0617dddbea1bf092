#include "private_server.hpp"

#include <array>
#include <cstdlib>

#include <fmt/format.h>
#include <sys/random.h>

#include "signals_held_back.hpp"

namespace plimsoll {
namespace {

constexpr unsigned kThreads = 2;

Result<std::string> random_token() {
  std::array<unsigned char, 32> bytes{};
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
    return std::unexpected(Error{"the system gives no random numbers", {}, {}, Error::Kind::machine_lacks});
  std::string token;
  for (const unsigned char byte : bytes) token += fmt::format("{:02x}", byte);
  return token;
}

}  // namespace

Result<PrivateServer> PrivateServer::start(const std::string& store) {
  Result<std::string> token = random_token();
  if (!token) return std::unexpected(std::move(token).error());
  serve::ServiceOptions options{.store = store, .version = PLIMSOLL_VERSION};
  options.http.token = *token;
  options.http.threads = kThreads;
  const SignalsHeldBack held;
  Result<std::unique_ptr<serve::Service>> service = serve::Service::start(std::move(options));
  if (!service) return std::unexpected(std::move(service).error());
  return PrivateServer(std::move(*service), std::move(*token));
}

running::Variables PrivateServer::variables(const std::string& run) const {
  running::Variables out = {
      {"MLFLOW_TRACKING_URI", service_->url()}, {"MLFLOW_TRACKING_TOKEN", token_}, {"MLFLOW_RUN_ID", run}};
  // Another server's, which MLflow's client would send here instead of the token.
  for (const char* name : {"MLFLOW_TRACKING_USERNAME", "MLFLOW_TRACKING_PASSWORD"})
    if (std::getenv(name) != nullptr) out.emplace_back(name, "");
  return out;
}

}  // namespace plimsoll
