#include "told_errors.hpp"

#include <fmt/format.h>

#include "base/printable.hpp"

namespace plimsoll {

Error all_told(const std::vector<Error>& errors, const std::string& where, std::string_view undone) {
  constexpr std::size_t kMostTold = 50;
  for (std::size_t i = 0; i < std::min(errors.size(), kMostTold); ++i) {
    const Error& error = errors[i];
    fmt::print(stderr, "plimsoll: {}: {}\n", printable(where), printable(error.text()));
    if (!error.hint.empty()) fmt::print(stderr, "  {}\n", printable(error.hint));
  }
  if (errors.size() > kMostTold) fmt::print(stderr, "plimsoll: and {} more\n", errors.size() - kMostTold);
  return Error{fmt::format("{} {} cannot be used; nothing was {}", errors.size(),
                           errors.size() == 1 ? "entry" : "entries", undone),
               where};
}

}  // namespace plimsoll
