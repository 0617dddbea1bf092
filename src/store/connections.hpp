#pragma once
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "store/database.hpp"

namespace plimsoll::store {

/// Connections to one database, used by several threads: each call has one for itself, and waits where all
/// are in use. They are opened when they are first needed.
class Connections {
 public:
  using Opener = std::function<Result<std::unique_ptr<Database>>()>;
  /// `first`, where it is given, is the one that is open already.
  Connections(std::size_t most, Opener opener, std::unique_ptr<Database> first = nullptr);

  /// A connection, given back at the end of its scope.
  class Lease {
   public:
    Lease(Connections& from, std::unique_ptr<Database> database)
        : from_(&from), database_(std::move(database)) {}
    Lease(Lease&&) = default;
    Lease& operator=(Lease&&) = delete;
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    ~Lease() {
      if (database_) from_->give_back(std::move(database_));
    }
    [[nodiscard]] Database& operator*() const { return *database_; }
    [[nodiscard]] Database* operator->() const { return database_.get(); }

   private:
    Connections* from_;
    std::unique_ptr<Database> database_;
  };

  [[nodiscard]] Result<Lease> take();

 private:
  void give_back(std::unique_ptr<Database> database);

  std::size_t most_;
  Opener opener_;
  std::mutex mutex_;
  std::condition_variable returned_;
  std::size_t opened_ = 0;  ///< in use or idle
  std::vector<std::unique_ptr<Database>> idle_;
};

}  // namespace plimsoll::store
