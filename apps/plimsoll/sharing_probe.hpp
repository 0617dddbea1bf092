#pragma once
#include <string>

#include "base/error.hpp"
#include "report/table.hpp"

namespace plimsoll {

/// What `plimsoll probe --sharing` is asked.
struct SharingTask {
  int device = 0;
  std::string output = {};  ///< a file of figures, as `plimsoll beside --figures` reads it; empty: none
  std::string date = {};    ///< ISO, of today
  bool json = false;
};

/// Measures what sharing a GPU costs, prints it beside what is built in, writes the file. Exit code.
[[nodiscard]] Result<int> probe_sharing(const SharingTask& task, const report::TextStyle& style);

}  // namespace plimsoll
