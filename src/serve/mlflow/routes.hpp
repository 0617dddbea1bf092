#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "serve/http/response.hpp"
#include "serve/mlflow/api.hpp"

namespace plimsoll::serve::mlflow {

/// How the body of a request comes.
enum class Body {
  none,          ///< some KiB are read, and ignored
  json,          ///< in memory, MLflow's limits
  large,         ///< in memory: descriptions of data, up to 16 MiB each
  small_upload,  ///< to a file beside the artifacts, 10 MiB
  upload,        ///< to a file beside the artifacts
};

struct Endpoint {
  std::string_view method;
  std::string_view path;  ///< below a prefix
  Body body;
  void (*handle)(Api& api, Call call, Answer answer);
  /// Looks at a request's head alone, before its body is taken; must be quick.
  Outcome<void> (*check)(const Request& head, const Pairs& parameters) = nullptr;
};

/// Below each of the prefixes of tracking.
[[nodiscard]] std::span<const Endpoint> tracking_endpoints();
/// "/api/2.0/mlflow" and the others under which MLflow's clients and pages call them.
[[nodiscard]] std::span<const std::string_view> tracking_prefixes();
/// By their whole paths.
[[nodiscard]] std::span<const Endpoint> other_endpoints();
[[nodiscard]] std::uint64_t most_bytes(Body body);

}  // namespace plimsoll::serve::mlflow
