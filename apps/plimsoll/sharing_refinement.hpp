#pragma once
#include <string>

#include "base/error.hpp"
#include "report/table.hpp"

namespace plimsoll {

struct RefinementTask {
  std::string store;   ///< whose runs
  std::string output;  ///< empty: where `beside` looks for this machine's figures
  std::string date;
  bool json = false;
};

/// Figures of sharing that say better what recorded groups did, and by how much. The exit code: 1 where they
/// are no better.
[[nodiscard]] Result<int> refine_sharing(const RefinementTask& task, const report::TextStyle& style);

}  // namespace plimsoll
