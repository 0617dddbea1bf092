#pragma once
#include <string>
#include <string_view>

#include "store/transfer.hpp"

namespace plimsoll {

/// How far it is, as one line on standard error; on a terminal alone. Taken away when the object goes.
class TransferLine {
 public:
  TransferLine();
  TransferLine(const TransferLine&) = delete;
  TransferLine& operator=(const TransferLine&) = delete;
  ~TransferLine();
  void show(const store::Transferred& so_far) const;

 private:
  bool shown_;
};

/// "12 runs with 340,000 points and 7 files (1.2 MB), 3 new experiments; 5 runs were there already".
[[nodiscard]] std::string transfer_words(const store::Transferred& done);

/// Prints what was brought to a store, for people or as JSON. Returns 1 where runs were left as they are
/// because they differ, else 0.
[[nodiscard]] int print_transferred(const store::Transferred& done, std::string_view to, bool json);

}  // namespace plimsoll
