#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "forward/mlflow_server.hpp"

namespace plimsoll::forward {

/// A folder of artifacts on a server.
struct RemotePlace {
  std::string proxied = {};  ///< "EXPERIMENT/RUN/artifacts", where files go through the server; else empty
  std::string run = {};      ///< else the run that they belong to, for which a server takes small ones
  std::string uri = {};      ///< as the server names it
};

/// Where files with the URI "mlflow-artifacts:/…" or any other are. `run`: whose they are; empty: no run's.
[[nodiscard]] RemotePlace place_of(const std::string& uri, const std::string& run = {});

/// What of a server's artifacts is needed to bring files there.
class RemoteFiles {
 public:
  explicit RemoteFiles(MlflowServer& server) : server_(&server) {}

  /// Files directly in a folder below the place, by name, with their sizes.
  [[nodiscard]] Result<std::map<std::string, std::int64_t>> sizes(const RemotePlace& place,
                                                                  const std::string& folder);
  /// Brings a file there. Why the server does not take it; nothing where it did.
  [[nodiscard]] Result<std::optional<std::string>> put(const RemotePlace& place, const std::string& path,
                                                       const std::filesystem::path& file, std::int64_t bytes);

 private:
  MlflowServer* server_;
};

}  // namespace plimsoll::forward
