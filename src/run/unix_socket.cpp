#include "run/unix_socket.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <system_error>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

namespace plimsoll::running {
namespace {

std::optional<sockaddr_un> address_of(const std::filesystem::path& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string text = path.string();
  if (text.size() >= sizeof address.sun_path) return {};
  std::memcpy(address.sun_path, text.data(), text.size());
  return address;
}

std::unexpected<Error> cannot(std::string_view what, const std::filesystem::path& path, int code,
                              Error::Kind kind = Error::Kind::machine_lacks) {
  return std::unexpected(
      Error{fmt::format("{}: {}", what, std::generic_category().message(code)), path.string(), {}, kind});
}

}  // namespace

Result<FileDescriptor> listen_at(const std::filesystem::path& path) {
  const auto address = address_of(path);
  if (!address) return cannot("cannot listen", path, ENAMETOOLONG);
  FileDescriptor listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!listener) return cannot("cannot listen", path, errno);
  if (::bind(listener.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof *address) != 0 ||
      ::chmod(path.c_str(), 0600) != 0 || ::listen(listener.get(), 128) != 0)
    return cannot("cannot listen", path, errno);
  return listener;
}

Result<FileDescriptor> connect_to(const std::filesystem::path& path, Patience patience) {
  const auto address = address_of(path);
  if (!address) return cannot("cannot connect", path, ENAMETOOLONG);
  const int flags = patience == Patience::none ? SOCK_NONBLOCK : 0;
  FileDescriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | flags, 0));
  if (!socket) return cannot("cannot connect", path, errno);
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof *address) != 0)
    return cannot("cannot connect", path, errno, Error::Kind::not_found);
  if (flags != 0 && ::fcntl(socket.get(), F_SETFL, 0) != 0) return cannot("cannot connect", path, errno);
  return socket;
}

std::optional<uid_t> owner_of(int socket) {
  ucred peer{};
  socklen_t length = sizeof peer;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0) return std::nullopt;
  return peer.uid;
}

bool is_of_this_user(int socket) {
  const auto owner = owner_of(socket);
  return owner && (*owner == ::geteuid() || *owner == 0);
}

Status send_all(int socket, std::string_view text, const std::vector<int>& descriptors) {
  constexpr std::size_t kMost = 8;
  std::size_t count = std::min(descriptors.size(), kMost);
  while (!text.empty()) {
    iovec part{const_cast<char*>(text.data()), text.size()};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int) * kMost)> control{};
    if (count > 0) {
      message.msg_control = control.data();
      message.msg_controllen = CMSG_SPACE(sizeof(int) * count);
      cmsghdr* header = CMSG_FIRSTHDR(&message);
      header->cmsg_level = SOL_SOCKET;
      header->cmsg_type = SCM_RIGHTS;
      header->cmsg_len = CMSG_LEN(sizeof(int) * count);
      std::memcpy(CMSG_DATA(header), descriptors.data(), sizeof(int) * count);
    }
    const ssize_t sent = ::sendmsg(socket, &message, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0)
      return std::unexpected(
          Error{fmt::format("the other end is gone: {}", std::generic_category().message(errno)),
                {},
                {},
                Error::Kind::unavailable});
    count = 0;
    text.remove_prefix(static_cast<std::size_t>(sent));
  }
  return {};
}

}  // namespace plimsoll::running
