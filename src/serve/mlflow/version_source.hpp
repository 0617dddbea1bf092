#pragma once
#include <optional>
#include <string>

#include "serve/mlflow/api.hpp"

namespace plimsoll::serve::mlflow {

/// Where a version of a model comes from.
struct VersionOrigin {
  std::string source;
  std::string location;  ///< where its files are
  std::string run;
  std::string logged_model;
};

/// Whether a version may come from `source`, as MLflow decides it, and what that stands for. A path on this
/// machine must be of the run or the logged model that is named with it, and no address may climb: else a
/// client could have files read that are nobody's artifacts. `run` and `model`: what was said, be it "".
[[nodiscard]] Outcome<VersionOrigin> origin_of(Api& api, const std::string& source,
                                               const std::optional<std::string>& run,
                                               const std::optional<std::string>& model);

/// What stands behind "scheme:", in lower case; empty where there is none.
[[nodiscard]] std::string scheme_of(std::string_view uri);
/// "models:/NAME/7", "models:/NAME@alias", "models:/NAME/Production", "models:/NAME/latest": the version.
[[nodiscard]] Outcome<store::ModelVersion> version_at(Api& api, const std::string& uri);
/// A registry's errors in MLflow's words.
[[nodiscard]] Fault no_registered_model(const Error& error, std::string_view name);
[[nodiscard]] Fault no_model_version(const Error& error, std::string_view name, std::int64_t version);
/// The version that an alias names; "latest" is the newest.
[[nodiscard]] Outcome<store::ModelVersion> version_by_alias(Api& api, const std::string& name,
                                                            const std::string& alias);

}  // namespace plimsoll::serve::mlflow
