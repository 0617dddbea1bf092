#include "store/connections.hpp"

namespace plimsoll::store {

Connections::Connections(std::size_t most, Opener opener, std::unique_ptr<Database> first)
    : most_(most), opener_(std::move(opener)) {
  if (!first) return;
  idle_.push_back(std::move(first));
  opened_ = 1;
}

Result<Connections::Lease> Connections::take() {
  std::unique_lock lock(mutex_);
  returned_.wait(lock, [&] { return !idle_.empty() || opened_ < most_; });
  if (!idle_.empty()) {
    std::unique_ptr<Database> database = std::move(idle_.back());
    idle_.pop_back();
    return Lease(*this, std::move(database));
  }
  ++opened_;
  lock.unlock();
  Result<std::unique_ptr<Database>> database = opener_();
  if (database) return Lease(*this, std::move(*database));
  lock.lock();
  --opened_;
  lock.unlock();
  returned_.notify_one();
  return std::unexpected(std::move(database).error());
}

void Connections::give_back(std::unique_ptr<Database> database) {
  {
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(database));
  }
  returned_.notify_one();
}

}  // namespace plimsoll::store
