#pragma once
#include <string>

namespace plimsoll::report {

/// Samples, images or queries a second, one way everywhere: "27.1", "1,117", "1.25 M".
[[nodiscard]] std::string throughput_text(double per_second);

}  // namespace plimsoll::report
