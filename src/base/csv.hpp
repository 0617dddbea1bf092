#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"

namespace plimsoll {

struct CsvRow {
  std::vector<std::string> cells;
  std::size_t line = 0;  ///< on which it begins, from 1
};

/// RFC 4180: quotes, doubled quotes, newlines within quotes; a byte order mark and CRLF are taken; empty
/// lines are left out. Fails where a quote is not closed.
[[nodiscard]] Result<std::vector<CsvRow>> read_csv(std::string_view text);
[[nodiscard]] std::string write_csv(const std::vector<CsvRow>& rows);

}  // namespace plimsoll
