#pragma once
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "report/table.hpp"
#include "share/matrix.hpp"

namespace plimsoll::report {

/// All pairs of some workloads on a device.
struct MatrixReport {
  std::string device;
  std::vector<std::string> names;
  share::Matrix matrix;
};

[[nodiscard]] std::string matrix_text(const MatrixReport& report, const TextStyle& style);
[[nodiscard]] nlohmann::ordered_json matrix_json(const MatrixReport& report);
/// A page that opens without a network: the pairs in colours, the best partner of each marked.
[[nodiscard]] std::string matrix_page(const MatrixReport& report);

}  // namespace plimsoll::report
