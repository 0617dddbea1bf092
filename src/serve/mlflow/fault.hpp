#pragma once
#include <expected>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/error.hpp"
#include "serve/http/response.hpp"

namespace plimsoll::serve::mlflow {

/// The codes of MLflow's errors that this server gives; each has its HTTP status.
enum class Code {
  invalid_parameter_value,
  resource_does_not_exist,
  resource_already_exists,
  endpoint_not_found,
  invalid_state,
  not_implemented,
  temporarily_unavailable,
  internal_error,
};
[[nodiscard]] std::string_view name(Code code);  ///< "INVALID_PARAMETER_VALUE"
[[nodiscard]] int status(Code code);

/// Why a request is refused, in MLflow's words where its clients or tests look at them.
struct Fault {
  Code code = Code::invalid_parameter_value;
  std::string message;
  friend bool operator==(const Fault&, const Fault&) = default;
};

template <class T>
using Outcome = std::expected<T, Fault>;

template <class... Args>
[[nodiscard]] std::unexpected<Fault> refuse(Code code, fmt::format_string<Args...> format, Args&&... args) {
  return std::unexpected(Fault{code, fmt::format(format, std::forward<Args>(args)...)});
}
/// The most frequent refusal.
template <class... Args>
[[nodiscard]] std::unexpected<Fault> invalid(fmt::format_string<Args...> format, Args&&... args) {
  return refuse(Code::invalid_parameter_value, format, std::forward<Args>(args)...);
}

/// What the store or the file system said, as a client is told it.
[[nodiscard]] Fault fault_of(const Error& error);
[[nodiscard]] inline Fault fault_of(Fault fault) {
  return fault;
}
[[nodiscard]] Response response_of(const Fault& fault);

}  // namespace plimsoll::serve::mlflow

// NOLINTBEGIN(bugprone-macro-parentheses): `name` is declared, not used
/// `PLIMSOLL_TAKE(run, store.find(id));` declares `run`, or returns the error, be it the store's, as a Fault.
#define PLIMSOLL_TAKE(name, expression)                                                                     \
  auto name##_or_error = (expression);                                                                      \
  if (!name##_or_error) return std::unexpected(plimsoll::serve::mlflow::fault_of(name##_or_error.error())); \
  auto& name = *name##_or_error
// NOLINTEND(bugprone-macro-parentheses)
/// The same for what gives nothing when it succeeds.
#define PLIMSOLL_DO(expression)                                                \
  do {                                                                         \
    if (auto done = (expression); !done)                                       \
      return std::unexpected(plimsoll::serve::mlflow::fault_of(done.error())); \
  } while (false)
