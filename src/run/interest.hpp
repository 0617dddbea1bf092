#pragma once
#include <functional>
#include <vector>

#include <poll.h>

namespace plimsoll::running {

/// A descriptor to wait on, and what to do when it is ready. Collected anew for every wait.
struct Interest {
  int descriptor = -1;
  short events = POLLIN;
  std::function<void()> act;
};
using Interests = std::vector<Interest>;

}  // namespace plimsoll::running
