#include <array>
#include <numeric>

#include <ATen/ops/cat.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/stack.h>

#include "engine/operators/forms.hpp"

namespace plimsoll::engine {
namespace {

using at::Tensor;
using Sequence = std::vector<Tensor>;

/// The place that an input names, counted from the end where negative; `past` allows the one after the last.
std::size_t place_in(Call& c, std::size_t input, const Sequence& sequence, std::int64_t past) {
  const auto length = static_cast<std::int64_t>(sequence.size());
  const std::int64_t at = wrapped(c.integers(input).at(0), length);
  TORCH_CHECK(at >= 0 && at < length + past, "place ", at, " of a sequence of ", length);
  return static_cast<std::size_t>(at);
}

void at_place(Call& c) {
  const Sequence& sequence = c.sequence(0);
  c.out(0, sequence[place_in(c, 1, sequence, 0)]);
}

void construct(Call& c) {
  Sequence sequence;
  for (std::size_t i = 0; i < c.inputs(); ++i) sequence.push_back(c.in(i));
  c.out_sequence(0, std::move(sequence));
}

void erase(Call& c) {
  Sequence sequence = c.sequence(0);
  const std::size_t at = c.has(1) ? place_in(c, 1, sequence, 0) : sequence.size() - 1;
  TORCH_CHECK(at < sequence.size(), "an empty sequence has nothing to erase");
  sequence.erase(sequence.begin() + static_cast<std::ptrdiff_t>(at));
  c.out_sequence(0, std::move(sequence));
}

void insert(Call& c) {
  Sequence sequence = c.sequence(0);
  const std::size_t at = c.has(2) ? place_in(c, 2, sequence, 1) : sequence.size();
  sequence.insert(sequence.begin() + static_cast<std::ptrdiff_t>(at), c.in(1));
  c.out_sequence(0, std::move(sequence));
}

void length(Call& c) {
  c.out(0, at::scalar_tensor(static_cast<std::int64_t>(c.sequence(0).size()), at::TensorOptions(at::kLong)));
}

Result<Kernel> prepare_concat(const Preparation& p) {
  return [axis = p.integer("axis", 0), anew = p.integer("new_axis", 0) != 0](Call& c) {
    c.out(0, anew ? at::stack(c.sequence(0), axis) : at::cat(c.sequence(0), axis));
  };
}

/// By equal parts (a scalar), by a list of sizes, or one by one; only the last may drop the axis.
Result<Kernel> prepare_split(const Preparation& p) {
  return [axis = p.integer("axis", 0), keep = p.integer("keepdims", 1) != 0](Call& c) {
    const Tensor& x = c.in(0);
    if (!c.has(1)) {
      Sequence parts = x.split(1, axis);
      if (!keep)
        for (Tensor& part : parts) part = part.squeeze(axis);
      return c.out_sequence(0, std::move(parts));
    }
    const Integers sizes = c.integers(1);
    if (c.where_it_lies(1).dim() == 0) return c.out_sequence(0, x.split(sizes.at(0), axis));
    c.out_sequence(0, x.split_with_sizes(sizes, axis));
  };
}

/// The body runs once per element of the first sequence; tensors beside it are the same for all.
Result<Kernel> prepare_map(const Preparation& p) {
  const auto body = p.graph("body");
  if (!body) return fail("its body is missing");
  return [body = *body, outputs = p.outputs()](Call& c) {
    std::vector<Sequence> results(outputs);
    for (std::size_t at = 0; at < c.sequence(0).size(); ++at) {
      std::vector<Value> given;
      for (std::size_t i = 0; i < c.inputs(); ++i)
        given.push_back({c.is_sequence(i) ? c.sequence(i).at(at) : c.where_it_lies(i)});
      std::vector<Value> found = c.run_body(body, given);
      for (std::size_t i = 0; i < outputs; ++i) results[i].push_back(std::move(found.at(i).tensor));
    }
    for (std::size_t i = 0; i < outputs; ++i) c.out_sequence(i, std::move(results[i]));
  };
}

/// An optional is its contents, or an undefined tensor.
void contents(Call& c) {
  if (!c.has(0)) return c.out(0, Tensor());
  if (c.is_sequence(0)) return c.out_sequence(0, c.sequence(0));
  c.out(0, c.where_it_lies(0));
}

void has_contents(Call& c) {
  const bool there = c.has(0) && (c.is_sequence(0) || c.where_it_lies(0).defined());
  c.out(0, at::scalar_tensor(there, at::TensorOptions(at::kBool)));
}

constexpr auto kSequenceRows = std::to_array<OperatorRow>({
    {"ConcatFromSequence", prepare_concat},
    {"Optional", plain<contents>},
    {"OptionalGetElement", plain<contents>},
    {"OptionalHasElement", plain<has_contents>},
    {"SequenceAt", plain<at_place>},
    {"SequenceConstruct", plain<construct>},
    {"SequenceEmpty", plain<[](Call& c) { c.out_sequence(0, {}); }>},
    {"SequenceErase", plain<erase>},
    {"SequenceInsert", plain<insert>},
    {"SequenceLength", plain<length>},
    {"SequenceMap", prepare_map},
    {"SplitToSequence", prepare_split},
});

}  // namespace

std::span<const OperatorRow> sequence_rows() {
  return kSequenceRows;
}

}  // namespace plimsoll::engine
