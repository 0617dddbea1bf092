#include "base/user_directories.hpp"

#include <cstdlib>
#include <string>

namespace plimsoll {
namespace {

std::string variable_or_empty(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

}  // namespace

std::optional<std::filesystem::path> user_data_directory() {
  const std::string data = variable_or_empty("XDG_DATA_HOME"), home = variable_or_empty("HOME");
  // The specification says that a relative path there is to be ignored.
  if (data.starts_with('/')) return std::filesystem::path(data) / "plimsoll";
  if (!home.empty()) return std::filesystem::path(home) / ".local" / "share" / "plimsoll";
  return std::nullopt;
}

}  // namespace plimsoll
