#pragma once
#include <span>
#include <string_view>

namespace plimsoll {

/// A data file compiled into the program (cmake/embed.cmake). Both views live as long as the program.
struct EmbeddedFile {
  std::string_view name;
  std::string_view contents;
};

}  // namespace plimsoll
