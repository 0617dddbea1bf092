#include "network/operators.hpp"

#include <algorithm>
#include <tuple>
#include <vector>

namespace plimsoll::network {
namespace {

auto key(const OperatorInfo& row) {
  return std::tie(row.domain, row.name);
}

std::vector<OperatorInfo> make_table() {
  std::vector<OperatorInfo> table;
  for (const auto rows :
       {arithmetic_operators(), convolution_operators(), product_operators(), normalization_operators(),
        reduction_operators(), movement_operators(), shape_operators(), selection_operators(),
        recurrent_operators(), quantization_operators(), signal_operators(), control_operators(),
        attention_operators(), fused_operators(), unruled_operators()})
    table.insert(table.end(), rows.begin(), rows.end());
  std::ranges::sort(table, {}, key);
  return table;
}

// Built once, on first use: the rows stand in several files so that each subject has its own.
const std::vector<OperatorInfo>& table() {
  static const std::vector<OperatorInfo> kTable = make_table();
  return kTable;
}

}  // namespace

std::span<const OperatorInfo> operator_table() {
  return table();
}
const OperatorInfo& info(OperatorKind kind) {
  return table()[static_cast<std::size_t>(kind)];
}

OperatorKind find_operator(std::string_view domain, std::string_view name) {
  if (domain == "ai.onnx") domain = "";
  const auto wanted = std::tie(domain, name);
  const auto found = std::ranges::lower_bound(table(), wanted, {}, key);
  if (found == table().end() || key(*found) != wanted) return kUnknownKind;
  return static_cast<OperatorKind>(found - table().begin());
}

bool is_known_domain(std::string_view domain) {
  if (domain == "ai.onnx") return true;
  return std::ranges::any_of(table(), [domain](const OperatorInfo& row) { return row.domain == domain; });
}

}  // namespace plimsoll::network
