#include "serve/http/listener.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/percent.hpp"
#include "base/printable.hpp"

namespace plimsoll::serve {
namespace {

constexpr int kBacklog = 4096;  // the kernel takes the lesser of this and its own limit

/// Room for an address of any family, seen as the one that the system's calls take.
union AnyAddress {
  sockaddr_storage whole;  // first, so that {} clears every byte: of a union only the first member is
  sockaddr any;
  sockaddr_in ip4;
  sockaddr_in6 ip6;
  sockaddr_un path;
};

struct Place {
  AnyAddress address = {};
  socklen_t size = 0;
};

std::unexpected<Error> cannot(std::string where, std::string_view hint = {}) {
  const std::string why = std::generic_category().message(errno);
  return std::unexpected(
      Error{"cannot listen: " + why, std::move(where), std::string(hint), Error::Kind::machine_lacks});
}

Result<Place> ip_place(const std::string& address, std::uint16_t port) {
  Place place;
  const char* text = address == "localhost" ? "127.0.0.1" : address.c_str();
  if (::inet_pton(AF_INET, text, &place.address.ip4.sin_addr) == 1) {
    place.address.ip4.sin_family = AF_INET;
    place.address.ip4.sin_port = htons(port);
    place.size = sizeof place.address.ip4;
  } else if (place = {}; ::inet_pton(AF_INET6, text, &place.address.ip6.sin6_addr) == 1) {
    place.address.ip6.sin6_family = AF_INET6;
    place.address.ip6.sin6_port = htons(port);
    place.size = sizeof place.address.ip6;
  } else {
    return std::unexpected(Error{fmt::format("{} is not an address to listen at", quote(address)),
                                 {},
                                 "give an address of this machine in numbers, as 127.0.0.1 or ::1"});
  }
  return place;
}

Result<Place> unix_place(const std::filesystem::path& path) {
  Place place;
  const std::string text = path.string();
  if (text.empty() || text.size() >= sizeof place.address.path.sun_path) {
    errno = ENAMETOOLONG;
    return cannot(text, "a Unix socket's path has at most 107 bytes");
  }
  place.address.path.sun_family = AF_UNIX;
  std::memcpy(place.address.path.sun_path, text.data(), text.size());
  place.size = sizeof place.address.path;
  return place;
}

FileDescriptor open_socket(const Place& place) {
  return FileDescriptor(::socket(place.address.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

std::string text_of(const AnyAddress& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const void* bytes = address.any.sa_family == AF_INET6 ? static_cast<const void*>(&address.ip6.sin6_addr)
                                                        : &address.ip4.sin_addr;
  const char* done = ::inet_ntop(address.any.sa_family, bytes, text.data(), text.size());
  return done == nullptr ? std::string() : std::string(done);
}

/// This machine's address on the way to `far`, by the system's own choice; nothing is sent. Empty where no
/// way leads there.
std::string own_address_towards(const std::string& far) {
  constexpr std::uint16_t kAnyPort = 9;
  auto place = ip_place(far, kAnyPort);
  if (!place) return {};
  const FileDescriptor probe(::socket(place->address.any.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!probe || ::connect(probe.get(), &place->address.any, place->size) != 0 ||
      ::getsockname(probe.get(), &place->address.any, &place->size) != 0)
    return {};
  return text_of(place->address);
}

bool is_everywhere(const Place& place) {
  if (place.address.any.sa_family == AF_INET6)
    return IN6_IS_ADDR_UNSPECIFIED(&place.address.ip6.sin6_addr) != 0;
  return place.address.ip4.sin_addr.s_addr == htonl(INADDR_ANY);
}

/// Where a client finds a server that listens at every address of this machine: an address in a network for
/// documentation is as far as any other.
std::string reachable_address(bool is_ip6) {
  std::string found = is_ip6 ? own_address_towards("2001:db8::1") : std::string();
  if (found.empty()) found = own_address_towards("192.0.2.1");  // on Linux "::" takes IPv4 too
  if (found.empty()) found = is_ip6 ? "::1" : "127.0.0.1";
  return found;
}

/// Removes a socket at which nobody listens any more.
Status remove_stale(const std::filesystem::path& path, const Place& place) {
  struct stat about{};
  if (::lstat(path.c_str(), &about) != 0) return {};
  if (!S_ISSOCK(about.st_mode))
    return std::unexpected(Error{"there is a file already, which is not a socket", path});
  const FileDescriptor probe = open_socket(place);
  if (!probe) return cannot(path);
  if (::connect(probe.get(), &place.address.any, place.size) == 0 || errno != ECONNREFUSED)
    return std::unexpected(Error{"another server listens there already", path});
  if (::unlink(path.c_str()) != 0) return cannot(path);
  return {};
}

}  // namespace

std::string Listener::url(const std::filesystem::path& unix_socket) const {
  if (address.empty()) return "http+unix://" + percent_encode(unix_socket.string());
  const bool is_ip6 = reached_at.find(':') != std::string::npos;
  return is_ip6 ? fmt::format("http://[{}]:{}", reached_at, port)
                : fmt::format("http://{}:{}", reached_at, port);
}

Result<bool> is_loopback(const std::string& address) {
  const auto place = ip_place(address, 0);
  PLIMSOLL_TRY(place);
  if (place->address.any.sa_family == AF_INET6)
    return IN6_IS_ADDR_LOOPBACK(&place->address.ip6.sin6_addr) != 0;
  return (ntohl(place->address.ip4.sin_addr.s_addr) >> 24U) == 127;
}

Result<Listener> listen_at(const std::string& address, std::uint16_t port) {
  const auto loopback = is_loopback(address);
  PLIMSOLL_TRY(loopback);
  auto place = ip_place(address, port);
  PLIMSOLL_TRY(place);
  const std::string where = fmt::format("{}:{}", address, port);
  const bool is_ip6 = place->address.any.sa_family == AF_INET6;
  Listener listener{open_socket(*place), address == "localhost" ? "127.0.0.1" : address, 0, *loopback};
  listener.reached_at = is_everywhere(*place) ? reachable_address(is_ip6) : listener.address;
  const int on = 1;
  if (!listener.socket ||
      ::setsockopt(listener.socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
      ::bind(listener.socket.get(), &place->address.any, place->size) != 0 ||
      ::listen(listener.socket.get(), kBacklog) != 0 ||
      ::getsockname(listener.socket.get(), &place->address.any, &place->size) != 0)
    return cannot(where, errno == EADDRINUSE ? "choose another port, or 0 for one that is free" : "");
  listener.port = ntohs(place->address.any.sa_family == AF_INET ? place->address.ip4.sin_port
                                                                : place->address.ip6.sin6_port);
  return listener;
}

Result<Listener> listen_at(const std::filesystem::path& unix_socket) {
  const auto place = unix_place(unix_socket);
  PLIMSOLL_TRY(place);
  PLIMSOLL_TRY(remove_stale(unix_socket, *place));
  Listener listener{open_socket(*place)};
  // Nobody can connect before listen(), when the mode is already right.
  if (!listener.socket || ::bind(listener.socket.get(), &place->address.any, place->size) != 0 ||
      ::chmod(unix_socket.c_str(), S_IRUSR | S_IWUSR) != 0 || ::listen(listener.socket.get(), kBacklog) != 0)
    return cannot(unix_socket);
  return listener;
}

}  // namespace plimsoll::serve
