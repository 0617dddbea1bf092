#include "estimate/profile/kernel_efficiency.hpp"

#include <array>

namespace plimsoll::estimate {
namespace {

constexpr std::size_t kFormats = 3;
constexpr std::size_t kRowCount =
    std::size_t{hardware::kOperatorClasses} * std::size_t{hardware::kDirections} * kFormats;
using Rows = std::array<const KernelEfficiency*, kRowCount>;

std::size_t index_of(hardware::OperatorClass c, hardware::Direction direction, KernelFormat format) {
  return (static_cast<std::size_t>(c) * hardware::kDirections + static_cast<std::size_t>(direction)) *
             kFormats +
         static_cast<std::size_t>(format);
}

Rows indexed() {
  Rows rows{};
  for (const KernelEfficiencyRow& row : kernel_efficiencies())
    rows[index_of(row.operator_class, row.direction, row.format)] = &row.efficiency;
  return rows;
}

}  // namespace

KernelFormat format_of(hardware::Arithmetic arithmetic) {
  using enum hardware::Arithmetic;
  switch (arithmetic) {
    case fp64:
    case fp32: return KernelFormat::vector;
    case tf32: return KernelFormat::tf32;
    case fp16:
    case bf16:
    case int8:
    case fp8: return KernelFormat::half;
  }
  return KernelFormat::vector;
}

const KernelEfficiency& efficiency_of(const hardware::OperatorCase& c, KernelFormat format) {
  static constexpr KernelEfficiency kUsual;
  static const Rows kRows = indexed();
  for (const hardware::OperatorClass like : {c.operator_class, channels_first(c.operator_class)})
    for (const KernelFormat f : {format, KernelFormat::tf32, KernelFormat::vector, KernelFormat::half})
      if (const KernelEfficiency* row = kRows[index_of(like, c.direction, f)]) return *row;
  return kUsual;
}

}  // namespace plimsoll::estimate
