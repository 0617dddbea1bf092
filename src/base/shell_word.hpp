#pragma once
#include <string>
#include <string_view>

namespace plimsoll {

/// One word of a POSIX shell's command line that stands for exactly these bytes: in single quotes unless it
/// is plain. There is no word for a zero byte, nor can a command's argument hold one.
[[nodiscard]] std::string shell_word(std::string_view text);

}  // namespace plimsoll
