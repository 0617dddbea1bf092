#pragma once
#include <string>
#include <string_view>

namespace plimsoll::onnx {

/// A name from a file, fit for a message: in quotes, control and non-ASCII-safe bytes as \xNN, cut where
/// long.
[[nodiscard]] std::string quote(std::string_view name);

}  // namespace plimsoll::onnx
