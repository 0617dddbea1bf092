#include "serve/http/connection.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "base/text.hpp"

namespace plimsoll::serve {
namespace {

constexpr std::uint64_t kMostLingeredBytes = std::uint64_t{256} << 20;

/// When a client that has moved so much since then is too slow.
Connection::Time due_at_rate(Connection::Time start, std::uint64_t bytes, Connection::Time now,
                             std::chrono::milliseconds stall, std::size_t least_per_second) {
  const std::chrono::milliseconds allowed(1000 * bytes / std::max<std::size_t>(least_per_second, 1));
  return std::min(now + stall, start + stall + allowed);
}

}  // namespace

Connection::Connection(Hub& hub, FileDescriptor socket)
    : hub_(hub), channel_(hub.loop, std::move(socket)), deadline_(Time::max()) {
  const int on = 1;  // fails on a Unix socket, which has no such delay
  (void)::setsockopt(channel_.descriptor(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

void Connection::start() {
  begin_request();
}

void Connection::refuse_for_want_of_room() {
  refuse(overloaded("this server has as many connections as it may"));
}

void Connection::turn_away(Response response) {
  is_turned_away_ = true;
  ++hub_.turned_away;
  refuse(std::move(response));
}

void Connection::begin_request() {
  const Limits& limits = hub_.options.limits;
  phase_ = Phase::head;
  reader_.emplace(RequestReader::Bounds{limits.target_bytes, limits.header_bytes});
  asked_ = {};
  head_has_begun_ = !unread_.empty();
  if (!head_has_begun_) std::string().swap(unread_);
  if (!head_has_begun_ && hub_.stopping) return close();
  waits_since_ = Clock::now();
  deadline_ = waits_since_ + (head_has_begun_ ? limits.header_timeout : limits.idle_timeout);
  if (!head_has_begun_) return wait_for_input();
  // Requests that came together are taken one per turn of the loop, for the sake of the other clients.
  hub_.loop.post([self = shared_from_this()] {
    if (self->phase_ == Phase::head) self->advance();
  });
}

void Connection::wait_for_input() {
  if (std::exchange(waits_for_input_, true)) return;
  channel_.when_readable([self = shared_from_this()] { self->receive(); });
}

void Connection::receive() {
  waits_for_input_ = false;
  if (phase_ == Phase::closed) return;
  const ssize_t count = ::recv(channel_.descriptor(), hub_.scratch.data(), hub_.scratch.size(), MSG_DONTWAIT);
  if (count < 0) return errno == EAGAIN || errno == EINTR ? wait_for_input() : close();
  if (count == 0) return end_of_input();
  const auto bytes = static_cast<std::size_t>(count);
  Tally::add(hub_.tally.bytes_received, bytes);
  if (phase_ == Phase::lingering) {
    lingered_bytes_ += bytes;
    return lingered_bytes_ > kMostLingeredBytes ? close() : wait_for_input();
  }
  if (phase_ != Phase::head && phase_ != Phase::body) return close();  // who listens to events has no say
  if (phase_ == Phase::head && !std::exchange(head_has_begun_, true)) {
    waits_since_ = Clock::now();
    deadline_ = waits_since_ + hub_.options.limits.header_timeout;
  }
  unread_.append(hub_.scratch.data(), bytes);
  if (phase_ == Phase::body) {
    received_.bytes += bytes;
    deadline_ = body_due(Clock::now());
  }
  advance();
}

void Connection::end_of_input() {
  const bool is_cut = (phase_ == Phase::head && head_has_begun_) || phase_ == Phase::body;
  if (!is_cut) return close();
  // It may have closed its own side alone, and still read.
  refuse(error_response(400, "the request is cut off"));
}

void Connection::advance() {
  while (phase_ == Phase::head || phase_ == Phase::body) {
    auto taken = reader_->read(unread_);
    if (!taken) return refuse(std::move(taken.error()));
    unread_.erase(0, *taken);
    if (phase_ == Phase::head) {
      if (!reader_->head_is_read()) return wait_for_input();
      phase_ = Phase::body;
      if (!admit()) return;
      continue;
    }
    if (!body_has_room()) return refuse(overloaded("this server has as many bodies in memory as it may"));
    if (upload_ && reader_->body_bytes_held() > 0)
      return store([piece = reader_->take_body()](Upload& upload) { return upload.write(piece); });
    if (upload_ && reader_->is_complete() && !upload_->is_flushed())
      return store([](Upload& upload) { return upload.flush(); });
    if (reader_->is_complete()) return dispatch();
    return wait_for_input();
  }
}

/// Whether the body is to be read now.
bool Connection::admit() {
  const Request& head = reader_->head();
  asked_ = {.without_body = head.method == "HEAD",
            .http_1_0 = reader_->is_http_1_0(),
            .keep_alive = reader_->keeps_alive(),
            .range = std::string(head.method == "GET" ? head.header("range") : ""),
            .if_range = std::string(head.header("if-range"))};
  received_ = {Clock::now()};
  deadline_ = body_due(received_.start);
  Admission admission = hub_.admission(head);
  const bool expects = head.headers.find("expect") != nullptr;
  if (!admission.refusal && expects && !reader_->expects_continue())
    admission.refusal = error_response(417, "of expectations this server knows 100-continue alone");
  if (!admission.refusal && reader_->content_length().value_or(0) > admission.most_body_bytes)
    admission.refusal =
        error_response(413, fmt::format("the body has over {} bytes", admission.most_body_bytes));
  if (admission.refusal) {
    if (reader_->is_complete())
      send(*std::move(admission.refusal));
    else
      refuse(*std::move(admission.refusal));
    return false;
  }
  reader_->set_most_body_bytes(admission.most_body_bytes);
  is_quick_ = admission.quick;
  if (expects && !reader_->is_complete() && unread_.empty() && !continue_is_sent()) {
    close();
    return false;
  }
  if (!admission.body_file) return true;
  upload_ = std::make_shared<Upload>(*std::move(admission.body_file));
  store([](Upload& upload) { return upload.open(); });
  return false;
}

/// Nothing else is being written, so the few bytes have room, or the client is not worth waiting for.
bool Connection::continue_is_sent() {
  constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
  const ssize_t count =
      ::send(channel_.descriptor(), kContinue.data(), kContinue.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  return count == static_cast<ssize_t>(kContinue.size());
}

bool Connection::body_has_room() {
  const std::uint64_t held = reader_->body_bytes_held();
  hub_.bodies_bytes += held - counted_body_;
  counted_body_ = held;
  return hub_.bodies_bytes <= hub_.options.limits.bodies_bytes;
}

/// Does something to the upload where a slow disk holds up no other client.
void Connection::store(std::move_only_function<Status(Upload&)> step) {
  phase_ = Phase::storing;
  deadline_ = Time::max();
  storing_since_ = Clock::now();
  Workers::Task task = [upload = upload_, mailbox = hub_.mailbox, connection = weak_from_this(),
                        step = std::move(step)]() mutable {
    mailbox->post([connection, status = step(*upload)] {
      if (const auto self = connection.lock()) self->stored(status);
    });
  };
  if (!hub_.files.give(task)) close();
}

void Connection::stored(const Status& status) {
  if (phase_ != Phase::storing) return;
  if (!status) return refuse(error_response(507, status.error().message));
  phase_ = Phase::body;
  const Time now = Clock::now();
  received_.start += now - storing_since_;  // the disk's time is not the client's
  deadline_ = body_due(now);
  advance();
}

/// A file that is not wanted is removed where that holds up no other client, however large it is.
void Connection::drop_upload() {
  if (!upload_) return;
  Workers::Task task = [upload = std::exchange(upload_, nullptr)] {};
  (void)hub_.files.give(task);
}

void Connection::dispatch() {
  phase_ = Phase::answering;
  deadline_ = Time::max();
  asked_at_ = Clock::now();
  ++serial_;
  Request request = reader_->take_request();
  if (upload_) request.body_file = upload_->finish();
  Answer answer([mailbox = hub_.mailbox, connection = weak_from_this(), serial = serial_](Response response) {
    mailbox->post([connection, serial, response = std::move(response)]() mutable {
      if (const auto self = connection.lock()) self->answered(serial, std::move(response));
    });
  });
  Workers::Task task = [&handler = hub_.handler, request = std::move(request),
                        answer = std::move(answer)]() mutable {
    handler(std::move(request), std::move(answer));
  };
  if (is_quick_) {
    try {
      task();
    } catch (...) {  // NOLINT(bugprone-empty-catch): the answer, dropped, says 500
    }
  } else if (!hub_.workers.give(task)) {
    ++serial_;  // the task's own answer, dropped, is not to be heard
    send(overloaded("this server has as many requests waiting as it may"));
  }
}

void Connection::answered(std::uint64_t serial, Response response) {
  if (phase_ != Phase::answering || serial != serial_) return;
  hub_.tally.took(Clock::now() - asked_at_);
  send(std::move(response));
}

/// Answers in place of reading on; what the client still sends is not understood any more.
void Connection::refuse(Response response) {
  asked_.keep_alive = false;
  input_is_left_ = true;
  send(std::move(response));
}

/// One that goes to a file may be as large as a disk, and takes its time as long as it keeps to the rate.
Connection::Time Connection::body_due(Time now) const {
  const Limits& limits = hub_.options.limits;
  const Time due = due_at_rate(received_.start, received_.bytes, now, limits.body_stall_timeout,
                               limits.least_body_bytes_per_second);
  return upload_ ? due : std::min(due, received_.start + limits.body_timeout);
}

Connection::Time Connection::answer_due(Time now) const {
  const Limits& limits = hub_.options.limits;
  return due_at_rate(sent_.start, sent_.bytes, now, limits.stall_timeout, limits.least_bytes_per_second);
}

std::optional<Connection::Spare> Connection::spare(Time now) const {
  using Seconds = std::chrono::duration<double>;
  const Limits& limits = hub_.options.limits;
  if (phase_ == Phase::head && !head_has_begun_)
    return Spare{.is_slow = false, .rank = -Seconds(now - waits_since_).count()};
  if (phase_ != Phase::head && phase_ != Phase::body) return std::nullopt;
  const Time since = phase_ == Phase::body ? received_.start : waits_since_;
  if (now - since < limits.spare_time) return std::nullopt;
  const auto bytes = static_cast<double>(phase_ == Phase::body ? received_.bytes : unread_.size());
  const double rate = bytes / std::max(Seconds(now - since).count(), 1e-9);
  if (rate >= static_cast<double>(limits.brisk_bytes_per_second)) return std::nullopt;
  return Spare{.is_slow = true, .rank = rate};
}

void Connection::look_at_the_clock(Time now) {
  if (phase_ == Phase::streaming && now >= heartbeat_at_) send_heartbeat(now);
  if (now < deadline_ || phase_ == Phase::closed) return;
  const bool is_slow = phase_ != Phase::lingering && (phase_ != Phase::head || head_has_begun_);
  if (is_slow) Tally::add(hub_.tally.timeouts);
  if (is_slow && (phase_ == Phase::head || phase_ == Phase::body))
    return refuse(error_response(408, "the request comes too slowly"));
  close();
}

void Connection::begin_stop() {
  const bool is_done = phase_ == Phase::lingering || (phase_ == Phase::head && !head_has_begun_);
  if (is_done) return close();
  asked_.keep_alive = false;
  if (phase_ == Phase::streaming) events_->close();
}

void Connection::close() {
  if (std::exchange(phase_, Phase::closed) == Phase::closed) return;
  if (is_turned_away_) --hub_.turned_away;
  hub_.bodies_bytes -= std::exchange(counted_body_, 0);
  free_output();
  if (events_) events_->abandon();
  drop_upload();
  channel_.close();
  hub_.forget(shared_from_this());
}

}  // namespace plimsoll::serve
