#include "serve/http/response.hpp"

#include <utility>

#include <nlohmann/json.hpp>

namespace plimsoll::serve {
namespace {

std::string_view usual_code(int status) {
  switch (status) {
    case 401: return "UNAUTHENTICATED";
    case 403: return "PERMISSION_DENIED";
    case 404: return "ENDPOINT_NOT_FOUND";
    case 408: return "DEADLINE_EXCEEDED";
    case 500: return "INTERNAL_ERROR";
    case 501: return "NOT_IMPLEMENTED";
    case 503: return "TEMPORARILY_UNAVAILABLE";
    default: return "BAD_REQUEST";
  }
}

}  // namespace

Response error_response(int status, std::string_view code, std::string_view message) {
  const nlohmann::json document = {{"error_code", code}, {"message", message}};
  return {.status = status, .body = document.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)};
}

Response error_response(int status, std::string_view message) {
  return error_response(status, usual_code(status), message);
}

Response overloaded(std::string_view why) {
  Response response = error_response(503, why);
  response.headers.add("Retry-After", "1");
  return response;
}

Answer::~Answer() {
  if (send_) send_(error_response(500, "the request was given up without an answer"));
}

void Answer::operator()(Response response) {
  if (Send send = std::exchange(send_, nullptr)) send(std::move(response));
}

}  // namespace plimsoll::serve
