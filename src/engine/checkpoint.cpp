#include "engine/checkpoint.hpp"

#include <algorithm>
#include <memory>
#include <set>

#include <ATen/Context.h>
#include <c10/core/GradMode.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/functions/utils.h>

namespace plimsoll::engine {
namespace {

using network::kNoTensor;
using network::TensorId;
using torch::autograd::variable_list;

/// Instructions [begin, end), what they read from before and what is read of them after.
struct Segment {
  std::size_t begin = 0, end = 0;
  std::vector<TensorId> reads, makes;
};

bool carries(const Value& v) {
  return v.tensor.defined() && at::isFloatingType(v.tensor.scalar_type());
}

at::Generator generator_of(const Executor& executor) {
  return at::globalContext().defaultGenerator(executor.device());
}

/// A segment in the backward pass: runs its instructions again, this time for their gradients.
class Recomputation final : public torch::autograd::Node {
 public:
  Recomputation(Executor& executor, const Segment& segment)
      : executor_(executor), segment_(segment), random_state_(generator_of(executor).get_state()) {
    for (const TensorId id : segment.reads) {
      const Value& v = executor.value(id);
      if (carries(v))
        inputs_.push_back(v.tensor);
      else
        others_.push_back(v);
      is_carried_.push_back(carries(v));
    }
    set_next_edges(torch::autograd::collect_next_edges(inputs_));
  }

  variable_list apply(variable_list&& gradients) override {
    variable_list inputs;
    for (const at::Tensor& saved : inputs_) {
      inputs.push_back(saved.detach());
      inputs.back().requires_grad_(saved.requires_grad());
    }
    put_back(inputs);
    at::Generator generator = generator_of(executor_);
    const at::Tensor after = generator.get_state();
    generator.set_state(random_state_);
    variable_list results, wanted;
    {
      const at::AutoGradMode with_gradients(true);
      executor_.run_instructions(segment_.begin, segment_.end);
      for (std::size_t i = 0; i < made.size(); ++i) {
        const at::Tensor again = executor_.value(made[i]).tensor;
        if (!gradients[i].defined() || !again.requires_grad()) continue;
        results.push_back(again);
        wanted.push_back(gradients[i]);
      }
    }
    generator.set_state(after);
    executor_.clear();
    if (!results.empty()) torch::autograd::backward(results, wanted);
    variable_list back;
    for (const at::Tensor& input : inputs) back.push_back(input.grad());
    return back;
  }
  void release_variables() override {
    inputs_.clear();
    others_.clear();
  }

  std::vector<TensorId> made;  ///< the results that carry gradients, in the order of their edges

 private:
  void put_back(const variable_list& inputs) {
    std::size_t carried = 0, other = 0;
    for (std::size_t i = 0; i < segment_.reads.size(); ++i)
      executor_.value(segment_.reads[i]) =
          is_carried_[i] ? Value{.tensor = inputs[carried++]} : others_[other++];
  }

  Executor& executor_;
  const Segment& segment_;
  variable_list inputs_;
  std::vector<Value> others_;
  std::vector<bool> is_carried_;
  at::Tensor random_state_;
};

/// Runs a segment without gradients; what it made leads back to its recomputation.
void run_segment(Executor& executor, const Segment& segment) {
  // Shared, since the graph of the backward pass owns it together with every result.
  const auto node = std::make_shared<Recomputation>(executor, segment);
  {
    const at::AutoGradMode without_gradients(false);
    executor.run_instructions(segment.begin, segment.end);
  }
  for (const TensorId id : segment.makes) {
    Value& v = executor.value(id);
    if (!carries(v)) continue;
    node->made.push_back(id);
    at::Tensor result = v.tensor.detach();  // a view of an input must not become the input itself
    torch::autograd::set_history(result, node);
    v.tensor = result;
  }
}

std::vector<Segment> segments_of(Executor& executor, const std::vector<std::size_t>& starts) {
  const auto& instructions = executor.instructions();
  const network::Network& network = *executor.routine().network;
  std::vector<Segment> segments;
  for (std::size_t i = 0; i < starts.size(); ++i)
    segments.push_back({.begin = starts[i],
                        .end = i + 1 < starts.size() ? starts[i + 1] : instructions.size(),
                        .reads = {},
                        .makes = {}});
  std::set<TensorId> made_before;
  for (std::size_t i = 0; i < segments.front().begin; ++i)
    made_before.insert(instructions[i].outputs.begin(), instructions[i].outputs.end());
  for (const TensorId id : network.main().inputs) made_before.insert(id);
  for (Segment& segment : segments) {
    std::set<TensorId> inside, reads;
    for (std::size_t i = segment.begin; i < segment.end; ++i) {
      for (const TensorId id : instructions[i].inputs)
        if (made_before.contains(id)) reads.insert(id);
      inside.insert(instructions[i].outputs.begin(), instructions[i].outputs.end());
    }
    std::set<TensorId> makes;
    for (std::size_t i = segment.end; i < instructions.size(); ++i)
      for (const TensorId id : instructions[i].inputs)
        if (inside.contains(id)) makes.insert(id);
    for (const TensorId id : network.main().outputs)
      if (inside.contains(id)) makes.insert(id);
    made_before.insert(inside.begin(), inside.end());
    reads.erase(kNoTensor);
    makes.erase(kNoTensor);
    segment.reads.assign(reads.begin(), reads.end());
    segment.makes.assign(makes.begin(), makes.end());
  }
  return segments;
}

}  // namespace

Status set_checkpoints(Executor& executor, const std::vector<std::string>& layers) {
  const network::Network& network = *executor.routine().network;
  std::vector<std::size_t> starts;
  for (const std::string& layer : layers) {
    const auto& instructions = executor.instructions();
    const auto found = std::ranges::find_if(instructions, [&](const Instruction& instruction) {
      return network.name_of(network.main().operators[instruction.op]).starts_with(layer);
    });
    if (found == instructions.end())
      return std::unexpected(Error{.message = fmt::format("no layer's name begins with '{}'", layer),
                                   .hint = "`plimsoll inspect MODEL --layers` lists the names"});
    starts.push_back(static_cast<std::size_t>(found - instructions.begin()));
  }
  std::ranges::sort(starts);
  const auto repeated = std::ranges::unique(starts);
  starts.erase(repeated.begin(), repeated.end());
  if (starts.empty()) return {};
  auto segments = std::make_shared<std::vector<Segment>>(segments_of(executor, starts));
  executor.run_main = [&executor, segments] {
    executor.run_instructions(0, segments->front().begin);
    for (const Segment& segment : *segments) {
      if (c10::GradMode::is_enabled())
        run_segment(executor, segment);
      else
        executor.run_instructions(segment.begin, segment.end);
    }
  };
  return {};
}

}  // namespace plimsoll::engine
