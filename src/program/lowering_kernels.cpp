// Which kernels a call runs, for estimates of time.
#include <algorithm>
#include <limits>

#include "hardware/operator_place.hpp"
#include "program/lowering.hpp"
#include "program/views.hpp"

namespace plimsoll::program {

using network::DataType;

hardware::Arithmetic Lowering::arithmetic(hardware::OperatorClass what, DataType type) const {
  using hardware::Arithmetic;
  using hardware::OperatorClass;
  using network::Precision;
  if (type == DataType::bfloat16) return Arithmetic::bf16;
  if (type == DataType::float16) return Arithmetic::fp16;
  if (type == DataType::float32) {
    const bool product =
        what == OperatorClass::matrix || what == OperatorClass::batched || what == OperatorClass::attention;
    const Precision p = setting_.precision;
    if (!platform_.gpu) return Arithmetic::fp32;  // others have no such units
    if (is_convolution(what) && p != Precision::fp32_strict) return Arithmetic::tf32;
    return product && p == Precision::tf32 ? Arithmetic::tf32 : Arithmetic::fp32;
  }
  // Of other elements only their size counts.
  const auto bits = network::bits(type);
  return bits >= 64   ? Arithmetic::fp64
         : bits == 32 ? Arithmetic::fp32
         : bits == 16 ? Arithmetic::fp16
                      : Arithmetic::int8;
}

void Lowering::kernel(hardware::OperatorClass what, DataType type, Extents extents,
                      hardware::Direction direction) {
  hardware::OperatorCase c{
      .operator_class = what, .direction = direction, .arithmetic = arithmetic(what, type)};
  std::ranges::copy(extents, c.extents.begin());
  kernel(c);
}
void Lowering::kernel(const hardware::OperatorCase& c) {
  kernels_.push_back(c);
}
void Lowering::backward_kernel(ValueId of, const hardware::OperatorCase& c) {
  if (needs_gradient(of)) backward_kernels_.push_back(c);
}

void Lowering::backward_kernel(ValueId of, hardware::OperatorClass what, hardware::Direction direction,
                               DataType type, Extents extents) {
  hardware::OperatorCase c{
      .operator_class = what, .direction = direction, .arithmetic = arithmetic(what, type)};
  std::ranges::copy(extents, c.extents.begin());
  backward_kernel(of, c);
}

void Lowering::add_unnamed_kernels(std::span<const ValueId> results) {
  using hardware::Direction;
  using hardware::OperatorClass;
  const auto steps = std::span(program_.actions).subspan(call_.forward.begin);
  if (kernels_.empty())
    for (const ValueId id : results)
      if (std::ranges::any_of(steps,
                              [&](const Action& s) { return s.kind == ActionKind::output && s.value == id; }))
        kernel(OperatorClass::unary, at(id).type, {at(id).elements});
  if (!backward_kernels_.empty()) return;
  for (const Action& action : backward_) {
    if (action.kind != ActionKind::gradient) continue;
    const Value& v = at(action.value);
    const std::int64_t whole = results.empty() ? v.elements : at(results.front()).elements;
    if (whole > v.elements && v.elements > 0)  // summed down
      backward_kernel(action.value, OperatorClass::column_sum, Direction::forward, v.type,
                      {whole / v.elements, v.elements});
    else
      backward_kernel(action.value, OperatorClass::binary, Direction::forward, v.type, {v.elements});
  }
}

/// Where a value is read more than once its gradients are summed: one kernel for each after the first, in the
/// backward pass of the call whose gradient comes later.
void Lowering::add_gradient_sums() {
  std::vector<bool> arrived(program_.values.size(), false);
  for (auto call = program_.calls.rbegin(); call != program_.calls.rend(); ++call) {
    call->gradient_sums.begin = static_cast<std::uint32_t>(program_.kernels.size());
    for (const Action& action : program_.slice(call->backward)) {
      if (action.kind != ActionKind::gradient && action.kind != ActionKind::share) continue;
      if (!arrived[static_cast<std::size_t>(action.value)]) {
        arrived[static_cast<std::size_t>(action.value)] = true;
        continue;
      }
      const Value& v = at(action.value);
      const bool half = v.type == DataType::bfloat16 || v.type == DataType::float16;
      hardware::OperatorCase c{.operator_class = hardware::OperatorClass::binary,
                               .arithmetic = half ? hardware::Arithmetic::bf16 : hardware::Arithmetic::fp32};
      c.extents[0] = v.elements;
      program_.kernels.push_back(c);
    }
    call->gradient_sums.count =
        static_cast<std::uint32_t>(program_.kernels.size()) - call->gradient_sums.begin;
  }
}

/// From the second pass of a step on each parameter's gradient is added to what is there: to the device's
/// part of it, where gradients are divided.
void Lowering::add_accumulation() {
  program_.accumulation.begin = static_cast<std::uint32_t>(program_.kernels.size());
  if (setting_.accumulate <= 1) return;
  for (const ValueId id : program_.parameters) {
    const Value& v = at(id);
    if (!v.needs_gradient) continue;
    hardware::OperatorCase c{.operator_class = hardware::OperatorClass::binary,
                             .arithmetic = arithmetic(hardware::OperatorClass::binary, v.type)};
    c.extents[0] = network::divided(v.elements, network::sharded(setting_).gradients);
    program_.kernels.push_back(c);
    program_.accumulated.push_back(id);
  }
  program_.accumulation.count = static_cast<std::uint32_t>(program_.accumulated.size());
}

/// All parameters in a few launches, as foreach optimizers take them; of divided state the device's part.
void Lowering::add_update() {
  using hardware::OperatorClass;
  using network::Optimizer;
  hardware::OperatorCase c{.operator_class =
                               setting_.optimizer == Optimizer::sgd        ? OperatorClass::optimizer_sgd
                               : setting_.optimizer == Optimizer::momentum ? OperatorClass::optimizer_momentum
                                                                           : OperatorClass::optimizer_adam};
  for (const ValueId id : program_.parameters) {
    const Value& v = at(id);
    if (!v.needs_gradient) continue;
    ++c.extents[0];
    c.extents[1] = network::sum(c.extents[1], network::divided(v.elements, parts_of_update()));
    if (v.type != DataType::float32) c.arithmetic = hardware::Arithmetic::bf16;
  }
  program_.update = {static_cast<std::uint32_t>(program_.kernels.size()), 1};
  program_.kernels.push_back(c);
}

DataType Lowering::stepped_type(DataType type) const {
  return network::bits(type) == 16 && platform_.gpu ? DataType::float32 : type;
}

/// Rows that stay whole are copied as fast as if all was contiguous, but element by element.
void Lowering::name_copy(ValueId id) {
  const Value& v = at(id);
  if (v.rank < 2 || !v.strided || rows_stay_whole(v) || v.elements == 0) {
    const bool steps = v.strided && !v.contiguous();
    return kernel(hardware::OperatorClass::copy, steps ? stepped_type(v.type) : v.type, {v.elements});
  }
  const std::int64_t columns = std::max<std::int64_t>(v.dims[v.rank - 1], 1);
  const std::int64_t lines = std::max<std::int64_t>(v.dims[v.rank - 2], 1);
  kernel(hardware::OperatorClass::transpose, v.type, {v.elements / columns / lines, lines, columns});
}

}  // namespace plimsoll::program
