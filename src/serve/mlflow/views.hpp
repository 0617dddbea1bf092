#pragma once
#include <cstddef>
#include <string_view>

#include "serve/mlflow/fault.hpp"
#include "serve/mlflow/message.hpp"
#include "store/experiment.hpp"

namespace plimsoll::serve::mlflow {

/// ACTIVE_ONLY where nothing is said.
[[nodiscard]] Outcome<store::View> view_of(const Message& message, std::string_view field);

/// Which part of an answer is asked for.
struct Paging {
  std::size_t limit = 0;
  std::size_t offset = 0;
};
/// From max_results, 1 to `most`, and page_token.
[[nodiscard]] Outcome<Paging> paging_of(const Message& message, std::size_t usual, std::size_t most);

}  // namespace plimsoll::serve::mlflow
