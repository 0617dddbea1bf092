#pragma once
#include <chrono>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "serve/http/response.hpp"

namespace plimsoll::serve {

enum class Role { read, write };

/// Who asks, as far as that decides what is answered.
struct Visitor {
  Role role = Role::write;
  std::string csrf = {};  ///< what changes must bring beside the cookie; empty where no cookie was needed
  std::chrono::system_clock::time_point until = {};  ///< of a cookie
};

struct GateOptions {
  std::optional<std::string> token = {};       ///< who brings it may change things, too
  std::optional<std::string> read_token = {};  ///< who brings it may read
  /// Read by anybody; "/static/" is all below it.
  std::vector<std::string> open_paths = {};
  std::vector<std::string> open_posts = {};  ///< anybody may post there
  /// Whether a request by POST only reads, as a search does.
  std::function<bool(std::string_view path)> only_reads = {};
  std::chrono::seconds session = std::chrono::hours(12);
};

/// Decides who may ask what: by tokens that programs bring with each request, and by sessions of browsers,
/// which bring the token once and a cookie from then on. Of a cookie only a hash is kept, in memory. Several
/// threads use it.
class Gate {
 public:
  using Clock = std::function<std::chrono::system_clock::time_point()>;
  explicit Gate(GateOptions options, Clock clock = [] { return std::chrono::system_clock::now(); });

  /// Whether a token is asked for at all; without one all that reach the server may do everything.
  [[nodiscard]] bool asks() const { return options_.token || options_.read_token; }
  /// Nothing where it brings neither a right token nor a cookie of a session.
  [[nodiscard]] std::optional<Visitor> visitor(const Request& head) const;
  /// 401 or 403, or nothing. Looks at the head alone.
  [[nodiscard]] std::optional<Response> refuse(const Request& head) const;

  /// The cookie of a new session (a value for Set-Cookie) and who has it; nothing where the token is wrong.
  struct Entered {
    std::string cookie;
    Visitor visitor;
  };
  [[nodiscard]] std::optional<Entered> enter(std::string_view token, const Request& request);
  /// How long nobody may try, after several wrong ones.
  [[nodiscard]] std::chrono::seconds wait() const;
  /// Ends the session of the cookie that the request brings; the value for Set-Cookie that removes it.
  [[nodiscard]] std::string leave(const Request& request);

 private:
  [[nodiscard]] std::optional<Role> role_of_token(std::string_view token) const;
  [[nodiscard]] std::optional<Visitor> session_of(const Request& head) const;
  void forget_the_old();

  GateOptions options_;
  Clock clock_;
  mutable std::mutex mutex_;
  std::map<std::string, Visitor> sessions_;  // by the hash of their cookie
  int wrong_ = 0;                            // tries in a row
  std::chrono::system_clock::time_point locked_until_ = {};
};

/// The value of that name among the cookies that a request brings; they come as "a=1; b=2".
[[nodiscard]] std::optional<std::string> cookie(const Request& request, std::string_view name);

}  // namespace plimsoll::serve
