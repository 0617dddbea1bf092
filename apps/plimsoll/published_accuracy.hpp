#pragma once
#include <string>

#include "base/error.hpp"
#include "report/table.hpp"

namespace plimsoll {

/// Prints accuracies that others published, of a network or (empty) of all; fails where there are none of it.
[[nodiscard]] Result<int> print_published(const std::string& model, bool json, bool csv,
                                          const report::TextStyle& style);

}  // namespace plimsoll
