#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "serve/http/response.hpp"
#include "serve/http/socket_table.hpp"

namespace plimsoll::serve {

/// The ways to the kernel's table of sockets.
struct SocketTables {
  /// Takes a request to sock_diag, gives what came back, empty where nothing did.
  std::function<std::string(std::string_view request)> diag;
  /// /proc/net/tcp, or tcp6, as text, for where sock_diag is not let through: some containers. It takes
  /// milliseconds to write, however short it is.
  std::function<std::string(bool ip6)> text;
  /// In a user namespace: the number by which the kernel shows all users that have none there.
  std::optional<uid_t> unmapped = {};

  [[nodiscard]] static SocketTables of_this_machine();
};

/// Says which user of this machine is at the other end of a TCP connection, by the kernel's own table of
/// sockets. Nothing waits: the kernel answers at once.
class PeerOwner {
 public:
  /// Finds the way by which the kernel tells of `listener`, which this process has open; an error where it
  /// tells by none.
  [[nodiscard]] static Result<PeerOwner> open(int listener,
                                              SocketTables tables = SocketTables::of_this_machine());

  /// The user who opened the client's socket. Nothing where the client has gone already, where it came
  /// through a translation of addresses, or where the user has no number here.
  [[nodiscard]] std::optional<uid_t> of(int accepted);

 private:
  explicit PeerOwner(SocketTables tables) : tables_(std::move(tables)) {}
  [[nodiscard]] Owner ask(const SocketEnds& ends);

  SocketTables tables_;
  bool by_text_ = false;
  std::uint32_t sequence_ = 0;
};

/// The answer 403 to a client of another user than `own` and root; nothing where it may come in.
[[nodiscard]] std::optional<Response> refuse_stranger(std::optional<uid_t> owner, uid_t own);

}  // namespace plimsoll::serve
