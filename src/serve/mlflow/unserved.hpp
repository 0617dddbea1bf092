#pragma once
#include <optional>
#include <string_view>

#include "serve/mlflow/fault.hpp"

namespace plimsoll::serve::mlflow {

/// A path of MLflow's API that belongs to a feature that is not served: what the feature is called, and what
/// to do instead. Nothing for a path that MLflow has none for either.
[[nodiscard]] std::optional<Fault> unserved(std::string_view path);

/// A prompt, which MLflow's clients register as a model with a tag.
[[nodiscard]] Fault no_prompts();
[[nodiscard]] Fault no_graphql();

}  // namespace plimsoll::serve::mlflow
