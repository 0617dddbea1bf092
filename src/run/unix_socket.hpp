#pragma once
#include <filesystem>
#include <string_view>
#include <vector>

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
/// Whether the process at the other end belongs to this user or to root, as the kernel says.
[[nodiscard]] bool is_of_this_user(int socket);

/// Sends all of a text, and descriptors with its first byte; waits where the other end is slow.
[[nodiscard]] Status send_all(int socket, std::string_view text, const std::vector<int>& descriptors = {});

}  // namespace plimsoll::running
