#pragma once
#include <chrono>
#include <thread>

namespace plimsoll::forward {

/// A server that stumbles is asked again a few times.
template <class Ask>
[[nodiscard]] auto again(const Ask& ask) {
  constexpr int kTries = 3;
  std::chrono::milliseconds pause{500};
  for (int tried = 1;; ++tried) {
    auto answer = ask();
    if (answer || answer.error().kind != decltype(answer)::error_type::Kind::unavailable || tried == kTries)
      return answer;
    std::this_thread::sleep_for(pause);
    pause *= 2;
  }
}

}  // namespace plimsoll::forward
