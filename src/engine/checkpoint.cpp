#include "engine/checkpoint.hpp"

#include <algorithm>
#include <memory>
#include <set>

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Context.h>
#include <ATen/ops/zeros.h>
#include <c10/core/GradMode.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>

namespace plimsoll::engine {
namespace {

using network::kNoTensor;
using network::TensorId;
using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

/// Steps [begin, end), what they read from before and what is read of them after.
struct Segment {
  std::size_t begin = 0, end = 0;
  std::vector<TensorId> reads, makes;
};

/// What a segment needs to run again.
struct Again {
  Executor* executor = nullptr;
  const Segment* segment = nullptr;
  std::vector<Value> others;      ///< of `reads`: what carries no gradient
  std::vector<TensorId> carried;  ///< of `reads`: the inputs of the function, in order
  std::vector<TensorId> made;     ///< of `makes`: its results, in order
  at::Tensor random_state;
};

bool carries(const Value& v) {
  return v.tensor.defined() && at::isFloatingType(v.tensor.scalar_type());
}

at::Generator generator_of(const Executor& executor) {
  return at::globalContext().defaultGenerator(executor.device());
}

struct Recomputed : Function<Recomputed> {
  static variable_list forward(AutogradContext* context, const at::Tensor& /*asks for a gradient*/,
                               Again* again, const variable_list& inputs) {
    context->saved_data["again"] = reinterpret_cast<std::int64_t>(again);
    context->save_for_backward(inputs);
    again->random_state = generator_of(*again->executor).get_state();
    again->executor->run_steps(again->segment->begin, again->segment->end);
    variable_list results;
    for (const TensorId id : again->segment->makes)
      if (const Value& v = again->executor->value(id); carries(v)) {
        again->made.push_back(id);
        results.push_back(v.tensor);
      }
    return results;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    // Owned from here on: the backward pass runs once.
    const std::unique_ptr<Again> again(reinterpret_cast<Again*>(context->saved_data["again"].toInt()));
    Executor& executor = *again->executor;
    variable_list inputs;
    for (const at::Tensor& saved : context->get_saved_variables()) {
      inputs.push_back(saved.detach());
      inputs.back().requires_grad_(saved.requires_grad());
    }
    std::size_t carried = 0, other = 0;
    for (const TensorId id : again->segment->reads) {
      const bool is_carried = carried < again->carried.size() && again->carried[carried] == id;
      executor.value(id) = is_carried ? Value{.tensor = inputs[carried++]} : again->others[other++];
    }
    at::Generator generator = generator_of(executor);
    const at::Tensor after = generator.get_state();
    generator.set_state(again->random_state);
    variable_list results, wanted;
    {
      const at::AutoGradMode with_gradients(true);
      executor.run_steps(again->segment->begin, again->segment->end);
      for (std::size_t i = 0; i < again->made.size(); ++i) {
        const at::Tensor made = executor.value(again->made[i]).tensor;
        if (!gradients[i].defined() || !made.requires_grad()) continue;
        results.push_back(made);
        wanted.push_back(gradients[i]);
      }
    }
    generator.set_state(after);
    executor.clear();
    torch::autograd::backward(results, wanted);
    variable_list back = {at::Tensor(), at::Tensor()};
    for (const at::Tensor& input : inputs) back.push_back(input.grad());
    return back;
  }
};

/// Runs a segment as one function of what carries gradients into it.
void run_segment(Executor& executor, const Segment& segment, const at::Tensor& asking) {
  auto again = std::make_unique<Again>();
  again->executor = &executor;
  again->segment = &segment;
  variable_list inputs;
  for (const TensorId id : segment.reads) {
    const Value& v = executor.value(id);
    if (carries(v)) {
      again->carried.push_back(id);
      inputs.push_back(v.tensor);
    } else {
      again->others.push_back(v);
    }
  }
  Again* run =
      again.release();  // backward() takes it; a pass without one leaks it, so only training comes here
  const variable_list results = Recomputed::apply(asking, run, inputs);
  for (std::size_t i = 0; i < results.size(); ++i) executor.value(run->made[i]).tensor = results[i];
}

std::vector<Segment> segments_of(Executor& executor, const std::vector<std::size_t>& starts) {
  const auto& steps = executor.steps();
  const network::Network& network = *executor.plan().network;
  std::vector<Segment> segments;
  for (std::size_t i = 0; i < starts.size(); ++i)
    segments.push_back({.begin = starts[i],
                        .end = i + 1 < starts.size() ? starts[i + 1] : steps.size(),
                        .reads = {},
                        .makes = {}});
  std::set<TensorId> made_before;
  for (std::size_t i = 0; i < segments.front().begin; ++i)
    made_before.insert(steps[i].outputs.begin(), steps[i].outputs.end());
  for (const TensorId id : network.main().inputs) made_before.insert(id);
  for (Segment& segment : segments) {
    std::set<TensorId> inside, reads;
    for (std::size_t i = segment.begin; i < segment.end; ++i) {
      for (const TensorId id : steps[i].inputs)
        if (made_before.contains(id)) reads.insert(id);
      inside.insert(steps[i].outputs.begin(), steps[i].outputs.end());
    }
    std::set<TensorId> makes;
    for (std::size_t i = segment.end; i < steps.size(); ++i)
      for (const TensorId id : steps[i].inputs)
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
  const network::Network& network = *executor.plan().network;
  std::vector<std::size_t> starts;
  for (const std::string& layer : layers) {
    const auto& steps = executor.steps();
    const auto found = std::ranges::find_if(steps, [&](const Step& step) {
      return network.name_of(network.main().operators[step.op]).starts_with(layer);
    });
    if (found == steps.end())
      return std::unexpected(Error{.message = fmt::format("no layer's name begins with '{}'", layer),
                                   .hint = "`plimsoll inspect MODEL --layers` lists the names"});
    starts.push_back(static_cast<std::size_t>(found - steps.begin()));
  }
  std::ranges::sort(starts);
  const auto repeated = std::ranges::unique(starts);
  starts.erase(repeated.begin(), repeated.end());
  if (starts.empty()) return {};
  auto segments = std::make_shared<std::vector<Segment>>(segments_of(executor, starts));
  // A function whose inputs ask for no gradient (images) would have results that ask for none either.
  const at::Tensor asking = at::zeros({}, at::TensorOptions().device(executor.device())).requires_grad_(true);
  executor.run_main = [&executor, segments, asking] {
    executor.run_steps(0, segments->front().begin);
    for (const Segment& segment : *segments) {
      if (c10::GradMode::is_enabled())
        run_segment(executor, segment, asking);
      else
        executor.run_steps(segment.begin, segment.end);
    }
  };
  return {};
}

}  // namespace plimsoll::engine
