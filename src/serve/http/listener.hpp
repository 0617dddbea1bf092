#pragma once
#include <cstdint>
#include <filesystem>
#include <string>

#include "base/error.hpp"
#include "base/file_descriptor.hpp"

namespace plimsoll::serve {

/// A socket that listens; it does not block.
struct Listener {
  FileDescriptor socket;
  std::string address = {};     ///< as bound; empty for a Unix socket
  std::uint16_t port = 0;       ///< 0 for a Unix socket
  bool is_loopback = true;      ///< reached from this machine alone; a Unix socket is
  std::string reached_at = {};  ///< the address, or one that stands for "every address of this machine"
  [[nodiscard]] std::string url(const std::filesystem::path& unix_socket) const;
};

/// Whether it is an address that only this machine reaches; "localhost" is.
[[nodiscard]] Result<bool> is_loopback(const std::string& address);

[[nodiscard]] Result<Listener> listen_at(const std::string& address, std::uint16_t port);
/// Only this user may connect. The socket that a server left when it was killed is replaced; one that is
/// listened at is not.
[[nodiscard]] Result<Listener> listen_at(const std::filesystem::path& unix_socket);

}  // namespace plimsoll::serve
