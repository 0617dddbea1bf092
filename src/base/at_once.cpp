#include "base/at_once.hpp"

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

namespace plimsoll {

void at_once(std::size_t count, std::size_t threads, const std::function<void(std::size_t)>& work) {
  std::atomic<std::size_t> next = 0;
  const auto take = [&] {
    for (std::size_t i = next++; i < count; i = next++) work(i);
  };
  std::vector<std::jthread> others;
  for (std::size_t i = 1; i < std::min(threads, count); ++i) others.emplace_back(take);
  take();
}

void at_once(std::size_t count, const std::function<void(std::size_t)>& work) {
  at_once(count, std::thread::hardware_concurrency(), work);
}

}  // namespace plimsoll
