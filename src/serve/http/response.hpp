#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "base/file_descriptor.hpp"
#include "serve/http/events.hpp"
#include "serve/http/request.hpp"

namespace plimsoll::serve {

/// An open file that is sent in pieces and never held in memory as a whole.
struct FileBody {
  FileDescriptor file;
  std::uint64_t bytes = 0;  ///< as many are sent; a file that is shorter by then breaks the connection
};

/// What a client is answered: one of body, file and events. Content-Length, Date and Connection are the
/// server's own; it answers HEAD without the body, and one range of a file where it is asked for one.
struct Response {
  int status = 200;
  std::string content_type = "application/json";
  std::string body = {};
  Pairs headers = {};
  std::optional<FileBody> file = {};
  /// Server-sent events, until the queue is closed. Shared by who writes and the connection that sends.
  std::shared_ptr<EventQueue> events = {};
};

/// An error as MLflow's clients read it: {"error_code": CODE, "message": MESSAGE}.
[[nodiscard]] Response error_response(int status, std::string_view code, std::string_view message);
/// The same with MLflow's usual code for that status.
[[nodiscard]] Response error_response(int status, std::string_view message);

/// 503, to be tried again a second later.
[[nodiscard]] Response overloaded(std::string_view why);

/// Takes the answer to one request; may be called later, from any thread, once. Dropped uncalled it answers
/// 500, so that no client waits for ever.
class Answer {
 public:
  using Send = std::move_only_function<void(Response)>;
  explicit Answer(Send send) : send_(std::move(send)) {}
  Answer(Answer&& other) noexcept : send_(std::exchange(other.send_, nullptr)) {}
  Answer& operator=(Answer&& other) noexcept {
    std::swap(send_, other.send_);
    return *this;
  }
  Answer(const Answer&) = delete;
  Answer& operator=(const Answer&) = delete;
  ~Answer();

  void operator()(Response response);

 private:
  Send send_;
};

/// Called on one of the worker threads, which it may hold up; or, where Admission says `quick`, on the
/// thread that serves all connections.
using Handler = std::function<void(Request, Answer)>;

}  // namespace plimsoll::serve
