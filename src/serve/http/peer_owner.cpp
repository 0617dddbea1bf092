#include "serve/http/peer_owner.hpp"

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>
#include <sstream>
#include <utility>

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "base/file_descriptor.hpp"
#include "base/files.hpp"

namespace plimsoll::serve {
namespace {

/// Some 100,000 sockets; beyond that a look at the text would hold up the server.
constexpr std::size_t kLargestTable = std::size_t{16} << 20;
constexpr std::size_t kLargestAnswer = std::size_t{8} << 10;
constexpr int kMostOldAnswers = 16;
constexpr uid_t kUsualOverflow = 65534;

std::string ask_kernel(int netlink, std::string_view request) {
  std::string answer(kLargestAnswer, '\0');
  sockaddr_nl kernel{};
  kernel.nl_family = AF_NETLINK;
  // What came too late for an earlier question is out of the way, so that one lost answer costs one client.
  for (int i = 0; i < kMostOldAnswers; ++i)
    if (::recv(netlink, answer.data(), answer.size(), MSG_DONTWAIT) < 0) break;
  if (::sendto(netlink, request.data(), request.size(), MSG_DONTWAIT,
               reinterpret_cast<const sockaddr*>(&kernel), sizeof kernel) < 0)
    return {};
  sockaddr_nl sender{};
  socklen_t size = sizeof sender;
  // The kernel has answered when sendto returns: there is nothing to wait for.
  const ssize_t count = ::recvfrom(netlink, answer.data(), answer.size(), MSG_DONTWAIT,
                                   reinterpret_cast<sockaddr*>(&sender), &size);
  if (count < 0 || size != sizeof sender || sender.nl_pid != 0) return {};
  answer.resize(static_cast<std::size_t>(count));
  return answer;
}

/// /proc/net/tcp or tcp6, open from the start: a server that has no descriptor left still knows its own user.
FileDescriptor open_table(const char* path) {
  return FileDescriptor(::open(path, O_RDONLY | O_CLOEXEC));
}

/// From its beginning; empty where it is not there, cannot be read or is too large.
std::string read_table(const FileDescriptor& table) {
  std::string text;
  std::array<char, std::size_t{16} << 10> chunk;  // filled by pread
  while (text.size() <= kLargestTable) {
    const ssize_t count = ::pread(table.get(), chunk.data(), chunk.size(), static_cast<off_t>(text.size()));
    if (count == 0) return text;
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) break;
    text.append(chunk.data(), static_cast<std::size_t>(count));
  }
  return {};
}

/// Nothing where every user has a number here.
std::optional<uid_t> number_of_unmapped() {
  std::istringstream map(read_file("/proc/self/uid_map", 4096).value_or(""));
  constexpr std::uint64_t kAll = 0xFFFFFFFF;
  std::uint64_t inside = 1, outside = 1, count = 0;
  map >> inside >> outside >> count;
  if (inside == 0 && outside == 0 && count == kAll) return std::nullopt;
  const std::string text = read_file("/proc/sys/kernel/overflowuid", 64).value_or("");
  uid_t number = kUsualOverflow;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

union AnyInternetAddress {
  sockaddr any;
  sockaddr_in ip4;
  sockaddr_in6 ip6;
};

std::optional<Endpoint> endpoint(const AnyInternetAddress& address) {
  if (address.any.sa_family == AF_INET)
    return ip4_endpoint(&address.ip4.sin_addr, ntohs(address.ip4.sin_port));
  if (address.any.sa_family != AF_INET6) return std::nullopt;
  Endpoint end{.port = ntohs(address.ip6.sin6_port)};
  std::memcpy(end.address.data(), &address.ip6.sin6_addr, end.address.size());
  return end;
}

using AddressCall = int (*)(int, sockaddr*, socklen_t*);

std::optional<Endpoint> end_of(int socket, AddressCall which) {
  AnyInternetAddress address{};
  socklen_t size = sizeof address;
  if (which(socket, &address.any, &size) != 0) return std::nullopt;
  return endpoint(address);
}

}  // namespace

SocketTables SocketTables::of_this_machine() {
  // Shared, as functions that can be copied must not own a descriptor alone.
  const auto netlink = std::make_shared<FileDescriptor>(
      ::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_SOCK_DIAG));
  const auto ip4 = std::make_shared<FileDescriptor>(open_table("/proc/net/tcp"));
  const auto ip6 = std::make_shared<FileDescriptor>(open_table("/proc/net/tcp6"));
  return {.diag =
              [netlink](std::string_view request) {
                return *netlink ? ask_kernel(netlink->get(), request) : std::string();
              },
          .text = [ip4, ip6](bool of_ip6) { return read_table(of_ip6 ? *ip6 : *ip4); },
          .unmapped = number_of_unmapped()};
}

Result<PeerOwner> PeerOwner::open(int listener, SocketTables tables) {
  PeerOwner owner(std::move(tables));
  const auto own = end_of(listener, ::getsockname);
  if (own && owner.ask({*own, {}})) return owner;
  owner.by_text_ = true;
  if (own && owner.ask({*own, {}})) return owner;
  return std::unexpected(
      Error{"this system does not tell which user a connection comes from", "",
            "give a token (--token-file FILE), or answer every user of this machine (--any-user)",
            Error::Kind::machine_lacks});
}

Owner PeerOwner::ask(const SocketEnds& ends) {
  if (!by_text_) {
    ++sequence_;
    return owner_in_answer(tables_.diag(diag_request(ends, sequence_)), ends, sequence_);
  }
  // A socket for IPv6 that came by IPv4 stands in the other table. The text comes in pieces, between which
  // sockets come and go: what stood there may be left out once.
  Owner owner = std::unexpected(NoOwner::untold);
  for (const bool ip6 : {false, true, false, true}) {
    if (!ip6 && !is_ip4(ends.own)) continue;
    owner = owner_in_table(tables_.text(ip6), ends);
    if (owner) break;
  }
  return owner;
}

std::optional<uid_t> PeerOwner::of(int accepted) {
  const auto client = end_of(accepted, ::getpeername), here = end_of(accepted, ::getsockname);
  if (!client || !here) return std::nullopt;
  const Owner owner = ask({*client, *here});
  if (!owner || (tables_.unmapped && *owner == *tables_.unmapped)) return std::nullopt;
  return *owner;
}

std::optional<Response> refuse_stranger(std::optional<uid_t> owner, uid_t own) {
  constexpr uid_t kRoot = 0;
  if (owner && (*owner == own || *owner == kRoot)) return std::nullopt;
  const std::string who = owner ? fmt::format("this connection is of user {}", *owner)
                                : "of this connection the system does not tell the user";
  return error_response(
      403,
      fmt::format("this server answers the user who started it (user {}) and root alone, and {}; it lets "
                  "others in who bring a token, where it is started with --token-file FILE, and every "
                  "user of its machine with --any-user",
                  own, who));
}

}  // namespace plimsoll::serve
