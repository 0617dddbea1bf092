#include "engine/calibration/operator_call.hpp"

#include <algorithm>

#include <ATen/Context.h>

#include "base/printable.hpp"
#include "engine/calibration/rows.hpp"

namespace plimsoll::engine {
namespace {

/// Prepared cases are small beside this; more would only be a job file that went wrong.
constexpr std::int64_t kMostExtent = std::int64_t{1} << 31;

const CallRow* row_of(std::string_view name) {
  for (const std::span<const CallRow> rows : {product_calls(), streaming_calls()})
    for (const CallRow& row : rows)
      if (row.name == name) return &row;
  return nullptr;
}

Build build_of(const CallRow& row, std::string_view direction) {
  if (direction == "forward") return row.forward;
  if (direction == "backward-input") return row.backward_input;
  return direction == "backward-weight" ? row.backward_weight : nullptr;
}

struct Arithmetic {
  std::string_view name;
  at::ScalarType type;
};
constexpr Arithmetic kArithmetics[] = {{"fp64", at::kDouble},
                                       {"fp32", at::kFloat},
                                       {"tf32", at::kFloat},
                                       {"bf16", at::kBFloat16},
                                       {"fp16", at::kHalf}};

Status check_extents(const CallRow& row, Extents extents) {
  if (extents.size() != row.extents)
    return fail("{} has {} extents, not {}", row.name, row.extents, extents.size());
  for (std::size_t i = 0; i < extents.size(); ++i)
    if (extents[i] < (i < row.positive ? 1 : 0) || extents[i] > kMostExtent)
      return fail("extent {} of {} is {}", i + 1, row.name, extents[i]);
  const bool divides = row.extents != 9 || (extents[1] % extents[8] == 0 && extents[4] % extents[8] == 0);
  if (!divides) return fail("{} groups do not divide the channels", extents[8]);
  return {};
}

}  // namespace

Result<OperatorCall> prepare_call(const job::OperatorCase& c, at::Device device) {
  const CallRow* row = row_of(c.operator_class);
  if (row == nullptr) return fail("no operators are called {}", quote(c.operator_class));
  const Build build = build_of(*row, c.direction);
  if (build == nullptr) return fail("{} has no direction {}", row->name, quote(c.direction));
  const auto arithmetic = std::ranges::find(kArithmetics, std::string_view(c.arithmetic), &Arithmetic::name);
  if (arithmetic == std::end(kArithmetics)) return fail("no arithmetic is called {}", quote(c.arithmetic));
  PLIMSOLL_TRY(check_extents(*row, c.extents));
  at::globalContext().setAllowTF32CuDNN(arithmetic->name == "tf32");
  at::globalContext().setAllowTF32CuBLAS(arithmetic->name == "tf32");
  return build(Ingredients(device, arithmetic->type), c.extents);
}

}  // namespace plimsoll::engine
