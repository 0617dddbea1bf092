#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "serve/http/connection.hpp"

namespace plimsoll::serve {
namespace {

constexpr std::size_t kCopiedBody = std::size_t{16} << 10;
constexpr std::size_t kFilePiece = std::size_t{256} << 10;
constexpr std::chrono::seconds kLinger(2);

/// Reads so many bytes from there on, or fewer where the file ends early.
std::string read_piece(int file, std::uint64_t at, std::size_t bytes) {
  std::string piece(bytes, '\0');
  std::size_t have = 0;
  while (have < bytes) {
    const ssize_t count = ::pread(file, piece.data() + have, bytes - have, static_cast<off_t>(at + have));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    have += static_cast<std::size_t>(count);
  }
  piece.resize(have);
  return piece;
}

}  // namespace

/// A client that reads slowly holds its answer in memory for as long as it likes.
bool Connection::has_room_for(const Response& response) const {
  const std::uint64_t held = hub_.answers_bytes, bytes = response.body.size();
  return bytes <= kCopiedBody || held == 0 || held + bytes <= hub_.options.limits.answers_bytes;
}

/// Strings that are cleared keep their room, and a connection may live long.
void Connection::free_output() {
  std::string().swap(output_);
  std::string().swap(output_body_);
  written_ = 0;
  hub_.answers_bytes -= std::exchange(counted_answer_, 0);
}

void Connection::send(Response response) {
  hub_.bodies_bytes -= std::exchange(counted_body_, 0);
  drop_upload();
  free_output();
  if (!has_room_for(response)) response = overloaded("this server has as many answers under way as it may");
  if (hub_.stopping) asked_.keep_alive = false;
  Outgoing out = outgoing(asked_, response, hub_.date());
  hub_.tally.answered(out.status);
  phase_ = Phase::sending;
  keeps_alive_ = out.keep_alive;
  output_ = std::move(out.head);
  if (response.body.size() <= kCopiedBody)
    output_ += response.body;
  else if (!response.file && !response.events)
    output_body_ = std::move(response.body);
  counted_answer_ = output_body_.size();
  hub_.answers_bytes += counted_answer_;
  file_at_ = out.file_first;
  file_left_ = out.file_bytes;
  file_ = response.file ? std::make_shared<FileBody>(*std::move(response.file)) : nullptr;
  events_ = std::move(response.events);
  sent_ = {Clock::now()};
  go_on_sending();
}

/// Writes what there is; false where the client does not take all of it now, or has gone.
bool Connection::flush() {
  while (written_ < output_.size() + output_body_.size()) {
    const std::size_t of_body = written_ > output_.size() ? written_ - output_.size() : 0;
    const std::size_t of_head = written_ - of_body;
    std::array<iovec, 2> parts = {iovec{output_.data() + of_head, output_.size() - of_head},
                                  iovec{output_body_.data() + of_body, output_body_.size() - of_body}};
    msghdr message{};
    message.msg_iov = parts.data();
    message.msg_iovlen = parts.size();
    const ssize_t count = ::sendmsg(channel_.descriptor(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) {
      deadline_ = answer_due(Clock::now());
      if (std::exchange(waits_for_output_, true)) return false;
      channel_.when_writable([self = shared_from_this()] {
        self->waits_for_output_ = false;
        self->go_on_sending();
      });
      return false;
    }
    if (count < 0) {
      close();
      return false;
    }
    written_ += static_cast<std::size_t>(count);
    sent_.bytes += static_cast<std::uint64_t>(count);
    Tally::add(hub_.tally.bytes_sent, static_cast<std::uint64_t>(count));
  }
  free_output();
  deadline_ = Time::max();
  return true;
}

void Connection::go_on_sending() {
  if (phase_ == Phase::streaming) return stream_events();
  if (phase_ != Phase::sending || !flush()) return;
  if (file_left_ > 0) return load_piece();
  if (!events_) return answer_is_sent();
  phase_ = Phase::streaming;
  heartbeat_at_ = Clock::now() + hub_.options.limits.heartbeat;
  wait_for_input();  // to notice that the client goes
  events_->on_news([mailbox = hub_.mailbox, connection = weak_from_this()] {
    mailbox->post([connection] {
      if (const auto self = connection.lock()) self->stream_events();
    });
  });
  if (hub_.stopping) events_->close();
}

void Connection::load_piece() {
  phase_ = Phase::loading;
  const auto bytes = static_cast<std::size_t>(std::min<std::uint64_t>(file_left_, kFilePiece));
  Workers::Task task = [file = file_, at = file_at_, bytes, mailbox = hub_.mailbox,
                        connection = weak_from_this()] {
    mailbox->post([connection, bytes, piece = read_piece(file->file.get(), at, bytes)]() mutable {
      const bool whole = piece.size() == bytes;
      if (const auto self = connection.lock()) self->loaded(std::move(piece), whole);
    });
  };
  if (!hub_.files.give(task)) close();
}

void Connection::loaded(std::string piece, bool whole) {
  if (phase_ != Phase::loading) return;
  if (!whole) return close();  // the length is already promised: only a cut tells the client
  phase_ = Phase::sending;
  file_at_ += piece.size();
  file_left_ -= piece.size();
  output_ = std::move(piece);
  go_on_sending();
}

/// Sends what has come since; news that come meanwhile wake it again.
void Connection::stream_events() {
  if (phase_ != Phase::streaming || !flush()) return;
  EventQueue::Taken taken = events_->take();
  if (!taken.text.empty()) {
    output_ = std::move(taken.text);
    sent_ = {Clock::now()};
    heartbeat_at_ = sent_.start + hub_.options.limits.heartbeat;
    if (!flush()) return;  // comes back here when there is room
  }
  if (taken.is_last) close();
}

/// A client that has gone without a word is noticed when it does not take this.
void Connection::send_heartbeat(Time now) {
  heartbeat_at_ = now + hub_.options.limits.heartbeat;
  if (!output_.empty()) return;
  output_ = ":\n\n";
  sent_ = {now};
  stream_events();
}

void Connection::answer_is_sent() {
  file_.reset();
  if (keeps_alive_) return begin_request();
  return input_is_left_ ? linger() : close();
}

/// To close while the client still sends would have its system throw away the answer.
void Connection::linger() {
  phase_ = Phase::lingering;
  unread_.clear();
  (void)::shutdown(channel_.descriptor(), SHUT_WR);
  deadline_ = Clock::now() + kLinger;
  wait_for_input();
}

}  // namespace plimsoll::serve
