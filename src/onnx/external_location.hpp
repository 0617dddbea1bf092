#pragma once
#include <filesystem>
#include <string_view>

#include "base/error.hpp"

namespace plimsoll::onnx {

/// Whether a location of external data stays within the model's folder as far as its text says: relative,
/// and never above where it starts.
[[nodiscard]] Status check_location(std::string_view location);

/// The file itself, symbolic links followed; fails where it then lies outside `folder`.
[[nodiscard]] Result<std::filesystem::path> resolve_location(const std::filesystem::path& folder,
                                                             std::string_view location);

}  // namespace plimsoll::onnx
