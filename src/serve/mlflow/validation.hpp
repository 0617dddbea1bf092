#pragma once
#include <cstddef>
#include <string>
#include <string_view>

#include "serve/mlflow/fault.hpp"
#include "store/mlflow_limits.hpp"

namespace plimsoll::serve::mlflow {

namespace limits = store::mlflow_limits;

/// Keys of metrics, params and tags: letters, digits and "/_-. :", and nothing that is another name when
/// taken for a path ("a//b", "../a"). `path` is how the message calls it: "metrics[3].name".
[[nodiscard]] Outcome<void> check_key(std::string_view key, std::string_view path);
/// "'NAME' exceeds the maximum length of LIMIT characters".
[[nodiscard]] Outcome<void> check_length(std::string_view text, std::size_t limit, std::string_view name);

[[nodiscard]] Outcome<void> check_param(std::string_view key, std::string_view value,
                                        std::string_view before = {});
[[nodiscard]] Outcome<void> check_tag(std::string_view key, std::string_view value,
                                      std::string_view before = {});
[[nodiscard]] Outcome<void> check_experiment_tag(std::string_view key, std::string_view value);
[[nodiscard]] Outcome<void> check_experiment_name(std::string_view name);
[[nodiscard]] Outcome<void> check_model_name(std::string_view name);
[[nodiscard]] Outcome<void> check_run_id(std::string_view id);
/// "A batch logging request can contain at most LIMIT NAME."
[[nodiscard]] Outcome<void> check_batch(std::string_view name, std::size_t limit, std::size_t size);

/// A path as posixpath.normpath makes it: "a//b/../c" is "a/c".
[[nodiscard]] std::string normalized(std::string_view path);
/// How many characters UTF-8 text has.
[[nodiscard]] std::size_t characters(std::string_view text);

}  // namespace plimsoll::serve::mlflow
