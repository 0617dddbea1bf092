#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "forward/mlflow_server.hpp"
#include "store/registry.hpp"

namespace plimsoll::forward {

/// A registered model and its versions as the server has them.
struct RemoteRegistered {
  std::string description = {};
  std::map<std::string, std::string> tags = {};
  std::map<std::string, std::int64_t> aliases = {};
};

struct RemoteVersion {
  std::int64_t version = 0;
  std::string description = {}, stage = {};
  std::map<std::string, std::string> tags = {};
};

/// What is needed to make a version.
struct NewRemoteVersion {
  std::string model = {}, source = {}, run = {}, logged_model = {}, description = {}, run_link = {};
  std::map<std::string, std::string> tags = {};
};

/// The calls of MLflow's REST API about registered models.
class RemoteRegistry {
 public:
  explicit RemoteRegistry(MlflowServer& server) : server_(&server) {}

  [[nodiscard]] Result<std::optional<RemoteRegistered>> model(const std::string& name);
  [[nodiscard]] Status create(const std::string& name, const std::string& description,
                              const std::map<std::string, std::string>& tags);
  [[nodiscard]] Status describe(const std::string& name, const std::string& description);
  [[nodiscard]] Status set_tag(const std::string& name, const std::string& key, const std::string& value);
  [[nodiscard]] Status set_alias(const std::string& name, const std::string& alias, std::int64_t version);

  /// All of a model's.
  [[nodiscard]] Result<std::vector<RemoteVersion>> versions(const std::string& name);
  /// Its number.
  [[nodiscard]] Result<std::int64_t> create(const NewRemoteVersion& version);
  [[nodiscard]] Status remove(const std::string& name, std::int64_t version);
  [[nodiscard]] Status describe(const std::string& name, std::int64_t version,
                                const std::string& description);
  [[nodiscard]] Status set_tag(const std::string& name, std::int64_t version, const std::string& key,
                               const std::string& value);
  [[nodiscard]] Status set_stage(const std::string& name, std::int64_t version, store::ModelStage stage);

 private:
  MlflowServer* server_;
};

}  // namespace plimsoll::forward
