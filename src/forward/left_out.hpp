#pragma once
#include <string>

namespace plimsoll::forward {

/// What the server does not take, and is left out there.
struct LeftOut {
  std::string what, why;  ///< "param 'lr'", and the server's words; for people
  friend bool operator==(const LeftOut&, const LeftOut&) = default;
};

}  // namespace plimsoll::forward
