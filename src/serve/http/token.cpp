#include "serve/http/token.hpp"

#include <string>

#include "base/text.hpp"
#include "serve/http/base64.hpp"

namespace plimsoll::serve {

bool equal_in_constant_time(std::string_view given, std::string_view token) {
  if (token.empty()) return false;
  unsigned difference = given.size() == token.size() ? 0 : 1;
  for (std::size_t i = 0; i < given.size(); ++i)
    difference |= static_cast<unsigned char>(given[i]) ^ static_cast<unsigned char>(token[i % token.size()]);
  return difference == 0;
}

bool authorized(std::string_view authorization, std::string_view token) {
  if (token.empty()) return false;
  const std::size_t space = authorization.find(' ');
  if (space == std::string_view::npos) return false;
  const std::string scheme = lower_case(authorization.substr(0, space));
  std::string_view credentials = authorization.substr(space);
  while (credentials.starts_with(' ')) credentials.remove_prefix(1);
  while (credentials.ends_with(' ')) credentials.remove_suffix(1);
  if (scheme == "bearer") return equal_in_constant_time(credentials, token);
  if (scheme != "basic") return false;
  const auto pair = base64_decode(credentials);
  const std::size_t colon = pair ? pair->find(':') : std::string::npos;
  if (colon == std::string::npos) return false;
  return equal_in_constant_time(std::string_view(*pair).substr(colon + 1), token);
}

std::optional<Response> refuse_without_token(const Request& head, std::string_view token) {
  const std::string_view authorization = head.header("authorization");
  if (authorized(authorization, token)) return std::nullopt;
  Response response = error_response(
      401, authorization.empty()
               ? "this server asks for a token: set MLFLOW_TRACKING_TOKEN"
               : "the token is wrong: compare MLFLOW_TRACKING_TOKEN with the one that the server was given");
  response.headers.add("WWW-Authenticate", R"(Bearer realm="plimsoll", Basic realm="plimsoll")");
  return response;
}

}  // namespace plimsoll::serve
