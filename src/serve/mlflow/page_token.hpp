#pragma once
#include <cstddef>
#include <string>
#include <string_view>

#include "serve/mlflow/fault.hpp"

namespace plimsoll::serve::mlflow {

/// Where the next page begins, as MLflow writes it: {"offset": 4} in base64.
[[nodiscard]] std::string page_token(std::size_t offset);
/// 0 for an empty token.
[[nodiscard]] Outcome<std::size_t> offset_of(std::string_view token);

}  // namespace plimsoll::serve::mlflow
