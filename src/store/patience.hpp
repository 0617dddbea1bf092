#pragma once
#include <chrono>

namespace plimsoll::store {

/// How long to wait for another's lock, and since when.
struct Patience {
  std::chrono::milliseconds most{};
  std::chrono::steady_clock::time_point since{};
};

}  // namespace plimsoll::store
