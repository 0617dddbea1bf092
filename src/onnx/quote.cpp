#include "onnx/quote.hpp"

#include <fmt/format.h>

namespace plimsoll::onnx {

std::string quote(std::string_view name) {
  constexpr std::size_t kLongest = 120;
  std::string out = "'";
  for (const char c : name.substr(0, kLongest)) {
    const auto byte = static_cast<unsigned char>(c);
    // Bytes from 0x80 on are UTF-8 or would be shown as such; only what moves a terminal's cursor is escaped.
    if (byte < 0x20 || byte == 0x7f || byte == '\\')
      out += fmt::format("\\x{:02x}", byte);
    else
      out += c;
  }
  if (name.size() > kLongest) out += "…";
  out += '\'';
  return out;
}

}  // namespace plimsoll::onnx
