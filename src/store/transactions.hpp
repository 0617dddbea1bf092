#pragma once
#include "store/connections.hpp"
#include "store/database.hpp"

namespace plimsoll::store {

/// A piece of work, begun again a few times where the database says that this may help.
template <class Attempt>
auto with_patience(Database& database, const Attempt& attempt) {
  constexpr int kTimes = 5;
  auto result = attempt();
  for (int i = 1; i < kTimes && !result && database.may_be_repeated(); ++i) result = attempt();
  return result;
}

/// Work on a store's database, each piece in one transaction on a connection of its own.
class Transactions {
 public:
  /// `readers` may be null: reading waits for its turn among the writers. Both outlive this.
  Transactions(Connections& writers, Connections* readers) : writers_(&writers), readers_(readers) {}

  [[nodiscard]] Connections& writers() const { return *writers_; }

  /// All that `work` does, or nothing. It may be called again where what it did was undone through no fault
  /// of its own.
  template <class Work>
  [[nodiscard]] Status write(const Work& work) const {
    const Result<Connections::Lease> database = writers_->take();
    if (!database) return std::unexpected(database.error());
    return with_patience(**database, [&]() -> Status {
      Result<Transaction> transaction = Transaction::write(**database);
      if (!transaction) return std::unexpected(transaction.error());
      PLIMSOLL_TRY(work(**database));
      return transaction->commit();
    });
  }

  /// The same for work with a result.
  template <class T, class Work>
  [[nodiscard]] Result<T> write_for(const Work& work) const {
    Result<T> out = fail("nothing was done");
    PLIMSOLL_TRY(write([&](Database& database) -> Status {
      out = work(database);
      if (!out) return std::unexpected(out.error());
      return {};
    }));
    return out;
  }

  template <class T, class Work>
  [[nodiscard]] Result<T> read(const Work& work) const {
    const Result<Connections::Lease> database = (readers_ != nullptr ? readers_ : writers_)->take();
    if (!database) return std::unexpected(database.error());
    return with_patience(**database, [&]() -> Result<T> {
      const Result<Transaction> transaction = Transaction::read(**database);
      if (!transaction) return std::unexpected(transaction.error());
      return work(**database);
    });
  }

 private:
  Connections* writers_;
  Connections* readers_;
};

}  // namespace plimsoll::store
