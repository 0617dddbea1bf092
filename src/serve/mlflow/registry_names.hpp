#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "serve/mlflow/fault.hpp"
#include "store/registry.hpp"

/// What a registry's requests may say, in MLflow's words.
namespace plimsoll::serve::mlflow {

/// `parameter`: how the message calls it.
[[nodiscard]] Outcome<void> check_registered_name(std::string_view name, std::string_view parameter = "name");
[[nodiscard]] Outcome<void> check_alias(std::string_view alias);
/// Those that stand for versions already: latest, v7.
[[nodiscard]] Outcome<void> check_alias_is_free(std::string_view alias);
[[nodiscard]] Outcome<void> check_registry_tag(std::string_view key, std::string_view value);
/// Refuses prompts too, which are models with a tag to MLflow.
[[nodiscard]] Outcome<void> check_registry_tags(const std::map<std::string, std::string>& tags);
[[nodiscard]] Outcome<std::int64_t> version_of(std::string_view text);
[[nodiscard]] Outcome<store::ModelStage> stage_of(std::string_view text);

}  // namespace plimsoll::serve::mlflow
