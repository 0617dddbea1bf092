#pragma once
#include <string>

#include "serve/mlflow/api.hpp"

namespace plimsoll::serve::mlflow {

/// Why the store refused a change: where a param has another value already, in MLflow's words.
[[nodiscard]] Fault explained(Api& api, const std::string& run, const store::Change& change,
                              const Error& error);

}  // namespace plimsoll::serve::mlflow
