#pragma once
#include <expected>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace plimsoll {

/// What went wrong, in words for the person at the terminal. The command line prints
/// "plimsoll: WHERE: MESSAGE" and, on a second line, the hint.
struct Error {
  enum class Kind {
    bad_input,       ///< exit code 2: wrong usage, a file that cannot be used
    machine_lacks,   ///< exit code 3: a program, library or device is missing
    internal,        ///< exit code 4: a defect of Plimsoll
    not_found,       ///< exit code 2: what was asked for is not there
    exists_already,  ///< exit code 2: what should be made is there
    unavailable,     ///< exit code 3: the same may succeed later (a lock, a full disk, a server that is down)
  };
  std::string message;
  std::string where = {};  ///< file, node, line: outermost first, joined by ": "
  std::string hint = {};   ///< what to do about it; may be empty
  Kind kind = Kind::bad_input;

  /// The same error seen from one level further out ("file" before "node").
  [[nodiscard]] Error within(std::string_view outer) && {
    where = where.empty() ? std::string(outer) : fmt::format("{}: {}", outer, where);
    return std::move(*this);
  }
  /// Whether the same, asked again later, may succeed: it is the machine's fault, not the question's.
  [[nodiscard]] bool may_pass() const { return kind == Kind::machine_lacks || kind == Kind::unavailable; }
  [[nodiscard]] std::string text() const { return where.empty() ? message : where + ": " + message; }
};

template <class T>
using Result = std::expected<T, Error>;
using Status = Result<void>;

/// `return fail("stride {} is not positive", s);`
template <class... Args>
[[nodiscard]] std::unexpected<Error> fail(fmt::format_string<Args...> format, Args&&... args) {
  return std::unexpected(Error{fmt::format(format, std::forward<Args>(args)...)});
}

}  // namespace plimsoll

/// Returns the error of a Status or Result expression from the calling function; for the many places
/// that only pass an error on. A named Result is looked at where it stands, not copied.
#define PLIMSOLL_TRY(expression)                                                            \
  do {                                                                                      \
    if (auto&& plimsoll_try_ = (expression); !plimsoll_try_)                                \
      return std::unexpected(std::forward<decltype(plimsoll_try_)>(plimsoll_try_).error()); \
  } while (false)
