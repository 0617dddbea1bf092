#pragma once
#include <string>
#include <string_view>

#include "report/kernel_report.hpp"

namespace plimsoll::report {

/// A page: the kernels of one pass or step over time, line after line as a text is written, coloured by what
/// binds each, as high as the share of SMs that it keeps busy; then the longest of them as a table.
[[nodiscard]] std::string kernel_page(const KernelReport& report, std::string_view title);

}  // namespace plimsoll::report
