#include <algorithm>
#include <utility>

#include "engine/call.hpp"

namespace plimsoll::engine {
namespace {

using Table = std::span<const OperatorRow> (*)();
constexpr Table kTables[] = {
    elementwise_rows,   activation_rows, convolution_rows, pooling_rows,   product_rows,
    normalization_rows, reduction_rows,  loss_rows,        movement_rows,  image_rows,
    shape_rows,         selection_rows,  detection_rows,   recurrent_rows, quantization_rows,
    random_rows,        signal_rows,     control_rows,     sequence_rows,  attention_rows,
};

std::vector<OperatorRow> sorted_rows() {
  std::vector<OperatorRow> rows;
  for (const Table table : kTables) rows.insert(rows.end(), table().begin(), table().end());
  std::ranges::sort(rows, {}, [](const OperatorRow& r) { return std::pair(r.domain, r.name); });
  return rows;
}

}  // namespace

std::span<const OperatorRow> operator_rows() {
  static const std::vector<OperatorRow> rows = sorted_rows();
  return rows;
}

}  // namespace plimsoll::engine
