#pragma once
#include <optional>
#include <string_view>

#include "serve/http/response.hpp"

namespace plimsoll::serve {

/// Looks at every character of `given`, whatever it finds.
[[nodiscard]] bool equal_in_constant_time(std::string_view given, std::string_view token);

/// Whether the value of a header Authorization brings the token: "Bearer TOKEN" (MLFLOW_TRACKING_TOKEN), or
/// "Basic …" with the token as the password of any user (MLFLOW_TRACKING_PASSWORD). The time it takes says
/// nothing of how much of the token was right.
[[nodiscard]] bool authorized(std::string_view authorization, std::string_view token);

/// The answer 401 to a request without the token; nothing where it brings it.
[[nodiscard]] std::optional<Response> refuse_without_token(const Request& head, std::string_view token);

}  // namespace plimsoll::serve
