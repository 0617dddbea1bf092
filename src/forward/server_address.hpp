#pragma once
#include <string>
#include <string_view>

#include "base/error.hpp"

namespace plimsoll::forward {

/// User and password, or a token; or nothing.
struct Credentials {
  std::string user = {}, password = {}, token = {};
  friend bool operator==(const Credentials&, const Credentials&) = default;
};

/// Those of MLFLOW_TRACKING_USERNAME and _PASSWORD, else of MLFLOW_TRACKING_TOKEN: as MLflow's own client
/// takes them.
[[nodiscard]] Credentials credentials_of_environment();

/// A server as a person names it.
struct ServerAddress {
  std::string url = {};    ///< without credentials, and without a slash at its end
  std::string shown = {};  ///< for people: as it was given, the password masked
  Credentials credentials = {};
  friend bool operator==(const ServerAddress&, const ServerAddress&) = default;
};

/// http://HOST:PORT, https://USER:PASSWORD@HOST/PREFIX. What stands in the address goes before `otherwise`.
[[nodiscard]] Result<ServerAddress> parse_address(std::string_view uri, const Credentials& otherwise = {});

}  // namespace plimsoll::forward
