#pragma once
#include <array>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

#include <sys/types.h>

namespace plimsoll::serve {

// How the kernel tells who owns a TCP socket of this machine: its messages and its table as text, without any
// way to it (peer_owner.hpp).

/// One end of a TCP connection. An IPv4 address as IPv6 has it, ::ffff:127.0.0.1: a client may have come by a
/// socket of either family.
struct Endpoint {
  std::array<std::uint8_t, 16> address = {};
  std::uint16_t port = 0;
  bool operator==(const Endpoint&) const = default;
};

[[nodiscard]] bool is_ip4(const Endpoint& end);
[[nodiscard]] Endpoint ip4_endpoint(const void* address, std::uint16_t port);

/// The connection of one socket: its own end and the far one.
struct SocketEnds {
  Endpoint own, far;
  bool operator==(const SocketEnds&) const = default;
};

enum class NoOwner {
  gone,    ///< no such socket, or one that no process has open any more
  untold,  ///< the kernel does not answer such questions, or not in a way that can be understood
};
using Owner = std::expected<uid_t, NoOwner>;

/// Asks sock_diag for the one socket with these ends; `far` all zero: for one that listens.
[[nodiscard]] std::string diag_request(const SocketEnds& ends, std::uint32_t sequence);
/// What the answer to that request says. The kernel gives the nearest socket, be it one that listens at the
/// same port: only one with exactly these ends counts.
[[nodiscard]] Owner owner_in_answer(std::string_view answer, const SocketEnds& ends, std::uint32_t sequence);

/// The same from the text of /proc/net/tcp or /proc/net/tcp6.
[[nodiscard]] Owner owner_in_table(std::string_view table, const SocketEnds& ends);

}  // namespace plimsoll::serve
