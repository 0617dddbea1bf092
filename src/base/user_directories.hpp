#pragma once
#include <filesystem>
#include <optional>

namespace plimsoll {

/// Where this user's data of Plimsoll lies: $XDG_DATA_HOME/plimsoll, else ~/.local/share/plimsoll. Nothing
/// where neither XDG_DATA_HOME nor HOME is set. It need not be there yet.
[[nodiscard]] std::optional<std::filesystem::path> user_data_directory();

}  // namespace plimsoll
