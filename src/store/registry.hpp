#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "store/run.hpp"

/// Models under names, in versions 1, 2, 3…: what MLflow calls its model registry. It says where files are
/// and keeps none itself.
namespace plimsoll::store {

/// Where a version stands, as MLflow 2 has it.
enum class ModelStage { none, staging, production, archived };
[[nodiscard]] std::string_view name(ModelStage stage);  ///< "None", "Staging"
/// In whatever case.
[[nodiscard]] std::optional<ModelStage> model_stage_named(std::string_view name);

struct ModelVersion {
  std::string model;  ///< the registered model's name
  std::int64_t version = 0;
  Time created = 0;
  Time changed = 0;
  std::string description = {};
  std::string user = {};
  ModelStage stage = ModelStage::none;
  std::string source = {};    ///< as it was registered
  std::string location = {};  ///< where its files are: `source`, or what that stood for
  std::string run = {};       ///< a run's id, or empty; not held to be there
  std::string run_link = {};
  std::string logged_model = {};  ///< a logged model's id, or empty; not held to be there
  std::string status = "READY";   ///< as MLflow names it
  std::string status_message = {};
  std::map<std::string, std::string> tags = {};
  std::vector<std::string> aliases = {};  ///< in their order
  friend bool operator==(const ModelVersion&, const ModelVersion&) = default;
};

struct RegisteredModel {
  std::string name;
  Time created = 0;
  Time changed = 0;
  std::string description = {};
  std::int64_t last_version = 0;  ///< the last that was given, be it deleted by now
  std::map<std::string, std::string> tags = {};
  std::map<std::string, std::int64_t> aliases = {};
  std::vector<ModelVersion> latest = {};  ///< of each stage, in the order of stages
  friend bool operator==(const RegisteredModel&, const RegisteredModel&) = default;
};

struct NewRegisteredModel {
  std::string name;
  std::string description = {};
  std::map<std::string, std::string> tags = {};
  std::optional<Time> created = {};  ///< nothing: now
};

struct RegisteredModelChange {
  std::optional<std::string> name = {};
  std::optional<std::string> description = {};
  std::map<std::string, std::string> tags = {};  ///< set or replaced
  std::vector<std::string> tags_removed = {};    ///< where they are there
  std::map<std::string, std::int64_t> aliases =
      {};                                         ///< set, or moved to another version, which must be there
  std::vector<std::string> aliases_removed = {};  ///< where they are there
  std::optional<std::int64_t> last_version = {};  ///< by who copies from elsewhere; never falls
  std::optional<Time> changed = {};               ///< by who copies from elsewhere
};

struct NewModelVersion {
  std::string model = {};
  std::string source = {};
  std::string location = {};  ///< empty: `source`
  std::string description = {};
  std::string run = {};
  std::string run_link = {};
  std::string logged_model = {};
  std::map<std::string, std::string> tags = {};
  // By who copies from elsewhere:
  std::optional<std::int64_t> version = {};  ///< nothing: one more than the last
  std::optional<Time> created = {};          ///< nothing: now
  std::optional<Time> changed = {};
  std::string user = {};
  ModelStage stage = ModelStage::none;
  std::string status = "READY";
  std::string status_message = {};
};

struct ModelVersionChange {
  std::optional<std::string> description = {};
  std::optional<ModelStage> stage = {};
  bool archives_others = false;                  ///< those that are in `stage` go to archived
  std::map<std::string, std::string> tags = {};  ///< set or replaced
  std::vector<std::string> tags_removed = {};    ///< where they are there
};

struct RegistrySearch {
  /// In MLflow's language. Of models: name, tags.NAME. Of versions: name, version_number, run_id,
  /// source_path, tags.NAME. Times may be asked for too: creation_timestamp, last_updated_timestamp.
  std::string filter = {};
  /// "name ASC"; then models by name, versions by name and the newest first.
  std::vector<std::string> order_by = {};
  std::size_t limit = 100;
  std::size_t offset = 0;
};

/// The registry of a store. Each call is one transaction, durable as all of a store's. Names and aliases have
/// 1 to 256 characters without / and :, tags names of 250 and values of 100,000. Errors: not_found and
/// exists_already where that is so.
class Registry {
 public:
  virtual ~Registry() = default;

  [[nodiscard]] virtual Result<RegisteredModel> create(const NewRegisteredModel& model) = 0;
  [[nodiscard]] virtual Result<RegisteredModel> model(std::string_view name) = 0;
  [[nodiscard]] virtual Result<RegisteredModel> change(std::string_view name,
                                                       const RegisteredModelChange& change) = 0;
  /// With its versions. The name is free then, and numbers begin at 1 again.
  [[nodiscard]] virtual Status remove(std::string_view name) = 0;
  [[nodiscard]] virtual Result<std::vector<RegisteredModel>> search(const RegistrySearch& search) = 0;

  /// Those who add versions at once get numbers one after the other, without gaps; a number is never given
  /// again.
  [[nodiscard]] virtual Result<ModelVersion> create_version(const NewModelVersion& version) = 0;
  [[nodiscard]] virtual Result<ModelVersion> version(std::string_view model, std::int64_t version) = 0;
  [[nodiscard]] virtual Result<ModelVersion> change_version(std::string_view model, std::int64_t version,
                                                            const ModelVersionChange& change) = 0;
  /// With the aliases that name it.
  [[nodiscard]] virtual Status remove_version(std::string_view model, std::int64_t version) = 0;
  [[nodiscard]] virtual Result<std::vector<ModelVersion>> search_versions(const RegistrySearch& search) = 0;

 protected:
  Registry() = default;
  Registry(const Registry&) = default;
  Registry& operator=(const Registry&) = default;
};

}  // namespace plimsoll::store
