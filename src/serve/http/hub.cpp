#include "serve/http/hub.hpp"

#include <algorithm>
#include <utility>

#include "serve/http/connection.hpp"
#include "serve/http/origin.hpp"
#include "serve/http/response_head.hpp"
#include "serve/http/token.hpp"

namespace plimsoll::serve {
namespace {

constexpr std::size_t kScratchBytes = std::size_t{64} << 10;
constexpr unsigned kFileThreads = 2;

}  // namespace

Hub::Hub(Options chosen_options, std::string own_host, Handler own_handler, Admit admit, Loop& own_loop)
    : options(std::move(chosen_options)),
      handler(std::move(own_handler)),
      loop(own_loop),
      mailbox(std::make_shared<Mailbox>(own_loop)),
      scratch(kScratchBytes),
      workers(options.threads, options.limits.queued_requests),
      files(kFileThreads),
      admit_(std::move(admit)),
      own_host_(std::move(own_host)) {}

Hub::~Hub() = default;

/// What tells nothing of the store: that the server lives.
bool Hub::is_open(const Request& head) const {
  return (head.method == "GET" || head.method == "HEAD") &&
         std::ranges::find(options.open_paths, head.path) != options.open_paths.end();
}

Admission Hub::admission(const Request& head) const {
  std::optional<Response> refusal;
  if (options.gate)
    refusal = options.gate(head);
  else if (options.token && !is_open(head))
    refusal = refuse_without_token(head, *options.token);
  if (!refusal && !own_host_.empty()) refusal = refuse_foreign_host(head, own_host_);
  if (!refusal) refusal = refuse_foreign_origin(head);
  if (refusal) return {.refusal = std::move(refusal)};
  try {
    return admit_ ? admit_(head) : Admission{};
  } catch (...) {  // of the server's user; nothing of it may stop the loop
    return {.refusal = error_response(500, "the request could not be looked at")};
  }
}

std::string_view Hub::date() {
  if (const std::time_t now = std::time(nullptr); now != date_of_) {
    date_of_ = now;
    date_ = http_date(now);
  }
  return date_;
}

void Hub::forget(const std::shared_ptr<Connection>& connection) {
  if (connections.erase(connection) == 0) return;
  tally.connections.store(connections.size(), std::memory_order_relaxed);
  if (connections.empty() && when_empty) when_empty();
}

}  // namespace plimsoll::serve
