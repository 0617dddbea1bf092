#include "network/rules/control.hpp"

#include <algorithm>

#include "network/operators.hpp"
#include "network/rules/axes.hpp"
#include "network/rules/folding.hpp"
#include "network/rules/merging.hpp"

namespace plimsoll::network {

Inferred body_output(const InferenceContext& c, const Graph& body, std::size_t i) {
  return i < body.outputs.size() && body.outputs[i] != kNoTensor ? c.tensor(body.outputs[i]) : Inferred{};
}

namespace {

Status take_branch(InferenceContext& c, GraphId branch) {
  PLIMSOLL_TRY(c.infer_body(branch));
  const Graph& graph = c.network().graph(branch);
  for (std::size_t i = 0; i < c.outputs(); ++i) c.set(i, body_output(c, graph, i));
  return {};
}

Status if_rule(InferenceContext& c) {
  const auto then_branch = c.graph("then_branch"), else_branch = c.graph("else_branch");
  if (!then_branch || !else_branch) return fail("a branch is missing");
  const Graph& yes = c.network().graph(*then_branch);
  const Graph& no = c.network().graph(*else_branch);
  for (const Graph* branch : {&yes, &no})
    if (branch->outputs.size() < c.outputs())
      return fail("a branch has {} outputs, the operator {}", branch->outputs.size(), c.outputs());
  if (const auto condition = single(c, 0); condition && condition->is_integer())
    return take_branch(c, condition->integer() != 0 ? *then_branch : *else_branch);
  Status taken = c.infer_body(*then_branch), other = c.infer_body(*else_branch);
  // A branch that cannot run with these shapes is one that is not taken. What has a remedy (an operator
  // that Plimsoll does not know) is about the file, not about the shapes.
  if (!taken && (!other || !taken.error().hint.empty())) return taken;
  if (!other && !other.error().hint.empty()) return other;
  for (std::size_t i = 0; i < c.outputs(); ++i) {
    if (!taken || !other)
      c.set(i, body_output(c, taken ? yes : no, i));
    else
      c.set(i, merge(c, body_output(c, yes, i), body_output(c, no, i)));
  }
  return {};
}

/// Where the parts of a Scan stand; its form changed with opset 9.
struct ScanForm {
  std::size_t first = 0;  ///< input of the first state: opset 8 has the lengths before it
  std::size_t states = 0;
  std::size_t scans = 0;
  bool batched = false;  ///< opset 8: everything has a batch before it, and the sequence is axis 1
};

Result<ScanForm> scan_form(const InferenceContext& c, const Graph& body) {
  ScanForm form;
  form.batched = c.opset() < 9;
  form.first = form.batched ? 1 : 0;
  const std::int64_t scans = c.integer("num_scan_inputs", 0);
  const std::size_t given = c.inputs() - std::min(c.inputs(), form.first);
  if (scans < 0 || static_cast<std::uint64_t>(scans) > given)
    return fail("num_scan_inputs is {} of {} inputs", scans, given);
  form.scans = static_cast<std::size_t>(scans);
  form.states = given - form.scans;
  if (body.inputs.size() != given)
    return fail("the body has {} inputs, the operator gives it {}", body.inputs.size(), given);
  if (body.outputs.size() < form.states)
    return fail("the body has {} outputs for {} states", body.outputs.size(), form.states);
  if (c.outputs() > body.outputs.size())
    return fail("has {} outputs, its body {}", c.outputs(), body.outputs.size());
  return form;
}

Shape without(const Shape& shape, std::size_t axis) {
  Shape out;
  for (std::size_t i = 0; i < shape.rank(); ++i)
    if (i != axis) out.push_back(shape[i]);
  return out;
}
Shape with(const Shape& shape, std::size_t axis, Dim extent) {
  Shape out(shape.dims().first(axis));
  out.push_back(extent);
  out.append(shape.dims().subspan(axis));
  return out;
}

/// How many steps a Scan makes and over what batch, as its inputs say.
struct ScanExtents {
  std::optional<Dim> steps, batch;
};

Status agree(InferenceContext& c, std::optional<Dim>& known, Dim extent, std::string_view what) {
  if (known && known->exact() && extent.exact() && *known != extent)
    return fail("{} of {} and {} do not agree", what, c.symbols().text(*known), c.symbols().text(extent));
  if (!known || (extent.exact() && !known->exact())) known = extent;
  return {};
}

/// Gives the body one step of its inputs.
Result<ScanExtents> enter_scan(InferenceContext& c, const Graph& body, const ScanForm& form) {
  ScanExtents extents;
  const auto axes = c.integers("scan_input_axes");
  for (std::size_t i = 0; i < form.states + form.scans; ++i) {
    if (!c.has(form.first + i)) return fail("input {} is missing", form.first + i);
    Inferred input = c.copy(form.first + i);
    input.has_value = false;
    const bool scanned = i >= form.states;
    if (input.ranked && form.batched) {
      if (input.shape.rank() < (scanned ? 2 : 1))
        return fail("input {} has no batch and sequence", form.first + i);
      PLIMSOLL_TRY(agree(c, extents.batch, input.shape[0], "batches"));
      input.shape = without(input.shape, 0);
    }
    if (input.ranked && scanned) {
      const std::size_t k = i - form.states;
      const Result<std::size_t> axis =
          c.axis(k < axes.size() && !form.batched ? axes[k] : 0, input.shape.rank());
      PLIMSOLL_TRY(axis);
      PLIMSOLL_TRY(agree(c, extents.steps, input.shape[*axis], "sequences"));
      input.shape = without(input.shape, *axis);
    }
    if (body.inputs[i] != kNoTensor) c.set_tensor(body.inputs[i], input);
  }
  return extents;
}

Status scan(InferenceContext& c) {
  const auto id = c.graph("body");
  if (!id) return fail("the body is missing");
  const Graph& body = c.network().graph(*id);
  const Result<ScanForm> form = scan_form(c, body);
  PLIMSOLL_TRY(form);
  const Result<ScanExtents> extents = enter_scan(c, body, *form);
  PLIMSOLL_TRY(extents);
  PLIMSOLL_TRY(c.infer_body(*id));
  const auto axes = c.integers("scan_output_axes");
  const Dim steps = extents->steps ? *extents->steps : c.unknown("steps", {});
  for (std::size_t i = 0; i < c.outputs(); ++i) {
    Inferred out = body_output(c, body, i);
    out.has_value = false;
    if (i < form->states) {
      // A state keeps its shape from step to step; what came in says it as well as what goes out.
      Inferred before = c.copy(form->first + i);
      before.has_value = false;
      if (before.type == DataType::undefined) before.type = out.type;
      if (before.ranked) {
        c.set(i, std::move(before));
        continue;
      }
    } else if (out.ranked) {
      const std::size_t k = i - form->states;
      const Result<std::size_t> axis =
          c.axis(k < axes.size() && !form->batched ? axes[k] : 0, out.shape.rank() + 1);
      PLIMSOLL_TRY(axis);
      out.shape = with(out.shape, *axis, steps);
    }
    if (out.ranked && form->batched)
      out.shape = with(out.shape, 0, extents->batch ? *extents->batch : c.unknown("batch", {}));
    c.set(i, std::move(out));
  }
  return {};
}

constexpr OperatorInfo kControlOperators[] = {
    {"ConcatFromSequence", 1, 1, 1, concat_from_sequence},
    {"If", 1, 1, kAny, if_rule},
    {"Loop", 0, kAny, kAny, loop},
    {"Optional", 0, 1, 1, optional},
    {"OptionalGetElement", 1, 1, 1, optional_get_element},
    {"OptionalHasElement", 0, 1, 1, optional_has_element},
    {"Scan", 0, kAny, kAny, scan},
    {"SequenceAt", 2, 2, 1, sequence_at},
    {"SequenceConstruct", 1, kAny, 1, sequence_construct},
    {"SequenceEmpty", 0, 0, 1, sequence_empty},
    {"SequenceErase", 1, 2, 1, sequence_erase},
    {"SequenceInsert", 2, 3, 1, sequence_insert},
    {"SequenceLength", 1, 1, 1, sequence_length},
    {"SequenceMap", 1, kAny, kAny, sequence_map},
    {"SplitToSequence", 1, 2, 1, split_to_sequence},
};

}  // namespace

std::span<const OperatorInfo> control_operators() {
  return kControlOperators;
}

}  // namespace plimsoll::network
