#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"

namespace plimsoll::store {

/// A piece of a filter.
struct Token {
  enum class Kind {
    word,    ///< metrics, and, LIKE
    number,  ///< 0.1, -3e4
    string,  ///< 'FINISHED', "FINISHED": its contents
    key,     ///< `learning rate`: its contents
    sign,    ///< = != < <= > >= . , ( )
    end,
  };
  Kind kind = Kind::end;
  std::string text = {};
  std::size_t at = 0;  ///< where it begins, in bytes
  char quote = '\0';   ///< of a string: ' or "
  double number = 0;
};

/// At most 64 KiB and 4096 tokens; the last is `end`.
[[nodiscard]] Result<std::vector<Token>> tokenize_filter(std::string_view text);

/// An error at a place of the filter, counted in characters from 1.
[[nodiscard]] Error filter_error(std::string_view text, std::size_t at, std::string message);

}  // namespace plimsoll::store
