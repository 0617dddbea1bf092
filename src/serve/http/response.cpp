#include "serve/http/response.hpp"

#include <cerrno>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>

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

Result<FileBody> open_file_body(const std::filesystem::path& path, bool follow) {
  // Without O_NONBLOCK a pipe would hold up the thread until somebody writes to it.
  FileBody body{
      FileDescriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | (follow ? 0 : O_NOFOLLOW)))};
  struct stat about{};
  if (!body.file || ::fstat(body.file.get(), &about) != 0)
    return std::unexpected(Error{"cannot read it: " + std::generic_category().message(errno), path});
  if (!S_ISREG(about.st_mode)) return std::unexpected(Error{"it is no regular file", path});
  body.bytes = static_cast<std::uint64_t>(about.st_size);
  return body;
}

Response error_response(int status, std::string_view code, std::string_view message) {
  const nlohmann::json document = {{"error_code", code}, {"message", message}};
  return {.status = status, .body = document.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)};
}

Response error_response(int status, std::string_view message) {
  return error_response(status, usual_code(status), message);
}

Answer::~Answer() {
  if (send_) send_(error_response(500, "the request was given up without an answer"));
}

void Answer::operator()(Response response) {
  if (Send send = std::exchange(send_, nullptr)) send(std::move(response));
}

}  // namespace plimsoll::serve
