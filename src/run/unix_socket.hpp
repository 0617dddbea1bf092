#pragma once
#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

#include <sys/types.h>

#include "base/error.hpp"
#include "base/file_descriptor.hpp"

namespace plimsoll::running {

/// A socket that listens at `path`, for this user alone. Not blocking.
[[nodiscard]] Result<FileDescriptor> listen_at(const std::filesystem::path& path);
/// Whether to wait for one who listens, and takes nobody for the moment.
enum class Patience { endless, none };
/// A connection to the one that listens there; not_found where nobody does.
[[nodiscard]] Result<FileDescriptor> connect_to(const std::filesystem::path& path,
                                                Patience patience = Patience::endless);
/// Whose the process at the other end is, as the kernel says.
[[nodiscard]] std::optional<uid_t> owner_of(int socket);
/// Whether the process at the other end belongs to this user or to root, as the kernel says.
[[nodiscard]] bool is_of_this_user(int socket);

/// Sends all of a text, and descriptors with its first byte; waits where the other end is slow.
[[nodiscard]] Status send_all(int socket, std::string_view text, const std::vector<int>& descriptors = {});

}  // namespace plimsoll::running
