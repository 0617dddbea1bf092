#pragma once
#include <array>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include "base/file_descriptor.hpp"
#include "base/text.hpp"
#include "serve/http/request.hpp"

namespace plimsoll::serve {

/// What a server answered, as far as it came.
struct Reply {
  int status = 0;  ///< 0: the connection ended, or nothing came in time
  Pairs headers = {};
  std::string body = {};
};

/// A client that sends what a test says, to the byte. No wait is longer than five minutes: what has not come
/// by then never comes.
class TestClient {
 public:
  explicit TestClient(std::uint16_t port, int receive_buffer = 0)
      : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    if (receive_buffer > 0)
      (void)::setsockopt(socket_.get(), SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connect(reinterpret_cast<const sockaddr*>(&address), sizeof address);
  }
  explicit TestClient(const std::filesystem::path& path)
      : socket_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
    connect(reinterpret_cast<const sockaddr*>(&address), sizeof address);
  }

  /// False where the server has hung up.
  bool send(std::string_view text) {
    while (!text.empty()) {
      const ssize_t count = ::send(socket_.get(), text.data(), text.size(), MSG_NOSIGNAL);
      if (count <= 0) return false;
      text.remove_prefix(static_cast<std::size_t>(count));
    }
    return true;
  }
  void end_sending() { (void)::shutdown(socket_.get(), SHUT_WR); }
  void hang_up() { socket_.reset(); }
  /// With a reset in place of a farewell, as a machine that lost power.
  void reset() {
    const linger hard{1, 0};
    (void)::setsockopt(socket_.get(), SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
    socket_.reset();
  }

  Reply ask(std::string_view text) {
    (void)send(text);
    return reply();
  }
  /// `without_body`: to a HEAD.
  Reply reply(bool without_body = false) {
    Reply reply;
    std::size_t end = 0;
    while ((end = unread_.find("\r\n\r\n")) == std::string::npos)
      if (!receive()) return reply;
    std::string_view head = std::string_view(unread_).substr(0, end + 2);
    std::from_chars(head.data() + 9, head.data() + 12, reply.status);
    head.remove_prefix(head.find("\r\n") + 2);
    while (!head.empty()) {
      const std::string_view line = head.substr(0, head.find("\r\n"));
      const std::size_t colon = line.find(": ");
      reply.headers.add(lower_case(line.substr(0, colon)), std::string(line.substr(colon + 2)));
      head.remove_prefix(line.size() + 2);
    }
    unread_.erase(0, end + 4);
    const std::string* length = reply.headers.find("content-length");
    if (length == nullptr || without_body || reply.status == 100) return reply;
    const std::size_t bytes = std::stoul(*length);
    while (unread_.size() < bytes)
      if (!receive()) break;
    reply.body = unread_.substr(0, bytes);
    unread_.erase(0, bytes);
    if (unread_.empty()) std::string().swap(unread_);
    return reply;
  }
  /// Reads on until `text` has come; gives all till then.
  std::string until(std::string_view text) {
    std::size_t at = 0;
    while ((at = unread_.find(text)) == std::string::npos)
      if (!receive()) return std::exchange(unread_, {});
    std::string all = unread_.substr(0, at + text.size());
    unread_.erase(0, all.size());
    return all;
  }
  /// Whether the server ends the connection, with or without more said before.
  bool is_ended() {
    while (receive()) {
    }
    return ended_;
  }

 private:
  void connect(const sockaddr* address, socklen_t size) {
    const timeval patience{300, 0};
    (void)::setsockopt(socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    (void)::setsockopt(socket_.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    if (::connect(socket_.get(), address, size) != 0)
      ADD_FAILURE() << "cannot connect: " << std::strerror(errno);
  }
  bool receive() {
    std::array<char, 65536> chunk;  // filled by recv
    const ssize_t count = ::recv(socket_.get(), chunk.data(), chunk.size(), 0);
    ended_ = count == 0 || (count < 0 && errno == ECONNRESET);
    if (count <= 0) return false;
    unread_.append(chunk.data(), static_cast<std::size_t>(count));
    return true;
  }

  FileDescriptor socket_;
  std::string unread_;
  bool ended_ = false;
};

}  // namespace plimsoll::serve
