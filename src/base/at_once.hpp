#pragma once
#include <cstddef>
#include <functional>

namespace plimsoll {

/// Calls work(0) to work(count - 1), the next one by who is free, in so many threads at most, the caller's
/// among them. Returns when all have been done.
void at_once(std::size_t count, std::size_t threads, const std::function<void(std::size_t)>& work);
/// In as many threads as there are cores.
void at_once(std::size_t count, const std::function<void(std::size_t)>& work);

}  // namespace plimsoll
