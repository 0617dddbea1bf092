#pragma once
#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "base/error.hpp"
#include "forward/server_address.hpp"

namespace plimsoll::forward {

struct Request {
  std::string path;                 ///< below the server's address, with its query
  std::string body = {};            ///< JSON, or nothing
  std::string method = {};          ///< empty: POST where there is a body, else GET
  std::filesystem::path file = {};  ///< whose bytes go, in place of a body; by PUT where no method is given
};

struct Answer {
  long status = 0;
  std::string body = {};
};

/// Asks a server. An error (unavailable) where no whole answer came; whatever it answered is an answer.
using Exchange = std::function<Result<Answer>(const Request&)>;

struct HttpLimits {
  std::chrono::milliseconds connect = std::chrono::seconds(5);
  std::chrono::milliseconds total = std::chrono::seconds(30);  ///< but for files
  std::chrono::seconds silence = std::chrono::minutes(10);     ///< while a file goes
  std::size_t answer = std::size_t{8} << 20;                   ///< bytes
};

/// A server over HTTP or HTTPS, through libcurl: proxies as the environment names them, redirects never
/// followed, since credentials would go along. One thread at a time.
class HttpClient {
 public:
  /// `give_up` is asked about once a second while a call waits, and ends it; may be empty.
  [[nodiscard]] static Result<HttpClient> open(ServerAddress address, std::function<bool()> give_up = {},
                                               HttpLimits limits = {});
  HttpClient(HttpClient&&) noexcept;
  HttpClient& operator=(HttpClient&&) noexcept;
  ~HttpClient();

  [[nodiscard]] Result<Answer> exchange(const Request& request);

 private:
  struct State;
  explicit HttpClient(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace plimsoll::forward
