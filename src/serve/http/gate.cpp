#include "serve/http/gate.hpp"

#include <algorithm>
#include <utility>

#include <boost/uuid/name_generator_sha1.hpp>
#include <boost/uuid/uuid_io.hpp>

#include "base/random_text.hpp"
#include "base/text.hpp"
#include "serve/http/token.hpp"

namespace plimsoll::serve {
namespace {

constexpr std::size_t kCookieBytes = 32, kCsrfBytes = 16;
constexpr std::size_t kMostSessions = 1000;
constexpr int kFreeTries = 5;
constexpr std::chrono::seconds kLongestWait{60};

/// What cannot be turned back into the cookie: that is as random as the hash is long.
std::string hash_of(std::string_view cookie_value) {
  static const boost::uuids::name_generator_sha1 kHash(boost::uuids::ns::oid());
  return to_string(kHash(cookie_value.data(), cookie_value.size()));
}

/// Browsers keep one list of cookies for all ports of a machine: servers side by side each have their own.
std::string cookie_name(const Request& request) {
  const std::size_t colon = request.host.rfind(':');
  const std::string_view port =
      colon == std::string::npos ? std::string_view() : std::string_view(request.host).substr(colon + 1);
  const bool plain = !port.empty() && port.size() <= 5 && port.find_first_not_of("0123456789") == port.npos;
  return fmt::format("plimsoll_{}", plain ? port : "session");
}

std::string set_cookie(const Request& request, std::string_view value, std::chrono::seconds age) {
  // Of what a server with TLS in front says; who makes it up harms its own cookie alone.
  const bool by_tls = request.header("x-forwarded-proto") == "https";
  return fmt::format("{}={}; Path=/; HttpOnly; SameSite=Strict; Max-Age={}{}", cookie_name(request), value,
                     age.count(), by_tls ? "; Secure" : "");
}

bool is_reading(const Request& head) {
  return head.method == "GET" || head.method == "HEAD";
}

bool is_among(const std::vector<std::string>& paths, std::string_view path) {
  return std::ranges::any_of(paths, [&](const std::string& open) {
    const bool is_folder = open.size() > 1 && open.ends_with('/');
    return is_folder ? path.starts_with(open) : path == open;
  });
}

}  // namespace

std::optional<std::string> cookie(const Request& request, std::string_view name) {
  std::string_view rest = request.header("cookie");
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(';'), rest.size());
    std::string_view one = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    while (one.starts_with(' ')) one.remove_prefix(1);
    if (one.starts_with(name) && one.substr(name.size()).starts_with('='))
      return std::string(one.substr(name.size() + 1));
  }
  return std::nullopt;
}

Gate::Gate(GateOptions options, Clock clock) : options_(std::move(options)), clock_(std::move(clock)) {}

std::optional<Role> Gate::role_of_token(std::string_view token) const {
  // Both are compared whatever the first says.
  const bool writes = options_.token && equal_in_constant_time(token, *options_.token);
  const bool reads = options_.read_token && equal_in_constant_time(token, *options_.read_token);
  if (writes) return Role::write;
  return reads ? std::optional(Role::read) : std::nullopt;
}

std::optional<Visitor> Gate::session_of(const Request& head) const {
  const std::optional<std::string> value = cookie(head, cookie_name(head));
  if (!value || value->size() != 2 * kCookieBytes) return std::nullopt;
  const std::scoped_lock lock(mutex_);
  const auto found = sessions_.find(hash_of(*value));
  if (found == sessions_.end() || found->second.until <= clock_()) return std::nullopt;
  return found->second;
}

std::optional<Visitor> Gate::visitor(const Request& head) const {
  if (!asks()) return Visitor{};
  const std::string_view authorization = head.header("authorization");
  if (!authorization.empty()) {
    if (options_.token && authorized(authorization, *options_.token)) return Visitor{.role = Role::write};
    if (options_.read_token && authorized(authorization, *options_.read_token))
      return Visitor{.role = Role::read};
    return std::nullopt;
  }
  return session_of(head);
}

std::optional<Response> Gate::refuse(const Request& head) const {
  if (!asks()) return std::nullopt;
  if (is_reading(head) && is_among(options_.open_paths, head.path)) return std::nullopt;
  if (head.method == "POST" && is_among(options_.open_posts, head.path)) return std::nullopt;
  const std::optional<Visitor> who = visitor(head);
  if (!who) return refuse_without_token(head, options_.token ? *options_.token : std::string());
  const bool only_reads = head.method == "POST" && options_.only_reads && options_.only_reads(head.path);
  if (is_reading(head) || only_reads) return std::nullopt;
  if (!who->csrf.empty() && !equal_in_constant_time(head.header("x-plimsoll-csrf"), who->csrf))
    return error_response(403,
                          "a request of a browser that changes something must bring the header "
                          "X-Plimsoll-CSRF: log in again");
  if (who->role == Role::read)
    return error_response(403, "this token may read, and change nothing: use the one that may write");
  return std::nullopt;
}

std::chrono::seconds Gate::wait() const {
  const std::scoped_lock lock(mutex_);
  const auto now = clock_();
  if (now >= locked_until_) return std::chrono::seconds(0);
  return std::chrono::ceil<std::chrono::seconds>(locked_until_ - now);
}

/// The oldest gives way where there are too many.
void Gate::forget_the_old() {
  const auto now = clock_();
  std::erase_if(sessions_, [&](const auto& session) { return session.second.until <= now; });
  if (sessions_.size() < kMostSessions) return;
  sessions_.erase(
      std::ranges::min_element(sessions_, {}, [](const auto& session) { return session.second.until; }));
}

std::optional<Gate::Entered> Gate::enter(std::string_view token, const Request& request) {
  const std::optional<Role> role = asks() ? role_of_token(token) : std::nullopt;
  if (!role) {
    const std::scoped_lock lock(mutex_);
    if (++wrong_ > kFreeTries) {  // 1 s, 2 s, 4 s…
      const std::chrono::seconds wait(std::int64_t{1} << std::min(wrong_ - kFreeTries - 1, 6));
      locked_until_ = clock_() + std::min(kLongestWait, wait);
    }
    return std::nullopt;
  }
  const Result<std::string> value = random_hex(kCookieBytes);
  Result<std::string> csrf = random_hex(kCsrfBytes);
  if (!value || !csrf) return std::nullopt;
  const Visitor who{*role, *std::move(csrf), clock_() + options_.session};
  const std::scoped_lock lock(mutex_);
  wrong_ = 0;
  forget_the_old();
  sessions_.insert_or_assign(hash_of(*value), who);
  return Entered{set_cookie(request, *value, options_.session), who};
}

std::string Gate::leave(const Request& request) {
  if (const std::optional<std::string> value = cookie(request, cookie_name(request))) {
    const std::scoped_lock lock(mutex_);
    sessions_.erase(hash_of(*value));
  }
  return set_cookie(request, "", std::chrono::seconds(0));
}

}  // namespace plimsoll::serve
