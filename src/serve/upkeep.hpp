#pragma once
#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <thread>

#include "store/store.hpp"

namespace plimsoll::serve {

/// Keeps a store in order while nobody waits for it: small pieces of metrics are joined, some milliseconds at
/// a time, and uploads that a server that was killed has left behind are removed after a day.
class Upkeep {
 public:
  Upkeep(store::Store& store, std::filesystem::path uploads);  ///< the store outlives it
  ~Upkeep();
  Upkeep(const Upkeep&) = delete;
  Upkeep& operator=(const Upkeep&) = delete;

 private:
  void work();

  store::Store& store_;
  std::filesystem::path uploads_;
  std::mutex mutex_;
  std::condition_variable news_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace plimsoll::serve
