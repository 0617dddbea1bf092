#pragma once
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "store/store.hpp"

namespace plimsoll::store {

/// Whether a location is a server's: postgresql://… or postgres://….
[[nodiscard]] bool is_postgres(std::string_view location);

/// An address without the passwords in it, for people.
[[nodiscard]] std::string masked(std::string_view address);

/// What `location` means where it is empty: PLIMSOLL_STORE, or still nothing.
[[nodiscard]] std::string named_location(const std::string& location);

/// The directory for artifacts of a store that is no file: `given`, else PLIMSOLL_ARTIFACTS, else
/// $XDG_DATA_HOME/plimsoll/artifacts.
[[nodiscard]] Result<std::filesystem::path> artifact_directory(const std::filesystem::path& given);

/// The file that `location` means: the path itself, or, where it is empty, PLIMSOLL_STORE, else
/// $XDG_DATA_HOME/plimsoll/plimsoll.db, else ~/.local/share/plimsoll/plimsoll.db.
[[nodiscard]] Result<std::filesystem::path> store_path(const std::string& location);

/// Where everybody may make files, as in /tmp, one of another user may be a trap, made before ours: what is
/// kept in it is theirs to read and to change. A link counts as what it is, not as what it leads to.
[[nodiscard]] Status refuse_trap(const std::filesystem::path& path);

/// Makes the directory and those above it that are missing, for this user only.
[[nodiscard]] Status make_private_directory(const std::filesystem::path& directory);

/// Makes sure that there is a regular file, readable and writable by this user alone where it is new. An
/// existing one is not opened: closing it again would drop the locks that another connection of this process
/// has on it.
[[nodiscard]] Status make_private_file(const std::filesystem::path& path, bool create);

/// Whether a file is on a file system that other machines may have mounted too. Nothing known of it: no.
[[nodiscard]] bool is_on_network(const std::filesystem::path& path);

/// The regular files below a directory, which need not be there; `most` of them and 32 levels deep at most.
[[nodiscard]] Result<std::vector<File>> list_files(const std::filesystem::path& directory, std::size_t most);

}  // namespace plimsoll::store
