#include "engine/swapping/swapped_model.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>

#include <ATen/core/Tensor.h>
// Needs what it does not include.
#include <ATen/ops/from_blob.h>
#include <c10/core/GradMode.h>

#include "base/statistics.hpp"
#include "engine/precision.hpp"

namespace plimsoll::engine {
namespace {

using network::kNoTensor;
using network::TensorId;

constexpr std::size_t kTimedPasses = 10;
constexpr double kTimedSeconds = 2;

/// Which weights each instruction of a pass reads. What the graph says is not all: a view of a weight is read
/// as the weight is. So a pass is run, and each tensor that an instruction is given is looked at.
class Reading {
 public:
  explicit Reading(SwappedModel& model) : model_(model), executor_(*model.session.executor) {
    const auto& ids = executor_.routine().weights;
    for (const TensorId id : ids)
      if (const at::Tensor& weight = executor_.kept(id); weight.defined() && weight.nbytes() > 0)
        of_storage_[storage_of(weight)].push_back(id);
  }

  void run() {
    executor_.run_main = [this] {
      for (std::size_t i = 0; i < executor_.instructions().size(); ++i) {
        begin_layer(i, read_by(executor_.instructions()[i]));
        executor_.run_instructions(i, i + 1);
        model_.layers.back().end = i + 1;
      }
    };
    const std::vector<Value> outputs = executor_.run(model_.inputs);
    executor_.run_main = {};
    if (model_.layers.empty()) model_.layers.emplace_back();
    std::vector<TensorId> given;
    for (const Value& value : outputs) note(value, given);
    add(model_.layers.back(), given);
    model_.expected = on_host(outputs);
  }

 private:
  static const void* storage_of(const at::Tensor& tensor) { return tensor.storage().unsafeGetStorageImpl(); }

  void begin_layer(std::size_t instruction, const std::vector<TensorId>& read) {
    if (instruction == 0 || !read.empty()) model_.layers.push_back({.end = instruction});
    add(model_.layers.back(), read);
  }

  void add(SwappedLayer& layer, const std::vector<TensorId>& read) {
    for (const TensorId id : read) {
      const auto [at, is_new] = number_.emplace(id, model_.weights.size());
      if (is_new) model_.weights.push_back({of_storage_[storage_of(executor_.kept(id))]});
      if (std::ranges::find(layer.weights, at->second) == layer.weights.end())
        layer.weights.push_back(at->second);
    }
  }

  std::vector<TensorId> read_by(const Instruction& instruction) {
    std::vector<TensorId> out;
    for (const TensorId id : instruction.inputs)
      if (id != kNoTensor) note(executor_.value(id), out);
    const network::Network& network = *executor_.routine().network;
    note_bodies(network.main().operators[instruction.op], out);
    return out;
  }

  /// What a body reads of the graphs around it is read by the operator that owns the body.
  void note_bodies(const network::Operator& op, std::vector<TensorId>& out) {
    const network::Network& network = *executor_.routine().network;
    for (const network::Attribute& attribute : network.attributes_of(op)) {
      if (attribute.kind != network::Attribute::Kind::graph) continue;
      const network::Graph& body = network.graph(static_cast<network::GraphId>(attribute.integer));
      for (const network::Operator& inner : body.operators) {
        for (const auto ids : {network.inputs(inner), network.outputs(inner)})
          for (const TensorId id : ids)
            if (id != kNoTensor) note(executor_.value(id), out);  // an output: a constant's
        note_bodies(inner, out);
      }
      for (const TensorId id : body.outputs)
        if (id != kNoTensor) note(executor_.value(id), out);
    }
  }

  void note(const Value& value, std::vector<TensorId>& out) {
    if (value.tensor.defined()) note(value.tensor, out);
    for (const at::Tensor& tensor : value.sequence)
      if (tensor.defined()) note(tensor, out);
  }
  void note(const at::Tensor& tensor, std::vector<TensorId>& out) {
    if (!tensor.has_storage()) return;
    const auto found = of_storage_.find(storage_of(tensor));
    if (found != of_storage_.end()) out.push_back(found->second.front());
  }

  SwappedModel& model_;
  Executor& executor_;
  std::map<const void*, std::vector<TensorId>> of_storage_;
  std::map<TensorId, std::size_t> number_;
};

/// Medians over some passes.
void time_layers(SwappedModel& model) {
  Device& device = *model.session.device;
  Executor& executor = *model.session.executor;
  std::vector<std::unique_ptr<Marker>> markers(model.layers.size() + 1);
  for (auto& marker : markers) marker = device.marker();
  executor.run_main = [&] {
    markers[0]->record();
    std::size_t begin = 0;
    for (std::size_t layer = 0; layer < model.layers.size(); ++layer) {
      executor.run_instructions(begin, model.layers[layer].end);
      begin = model.layers[layer].end;
      markers[layer + 1]->record();
    }
  };
  std::vector<std::vector<double>> seconds(model.layers.size());
  const auto begin = std::chrono::steady_clock::now();
  for (std::size_t pass = 0; pass < kTimedPasses && (pass < 2 || seconds_since(begin) < kTimedSeconds);
       ++pass) {
    static_cast<void>(executor.run(model.inputs));
    device.synchronize();
    for (std::size_t layer = 0; layer < model.layers.size(); ++layer)
      seconds[layer].push_back(markers[layer + 1]->seconds_since(*markers[layer]));
  }
  executor.run_main = {};
  for (std::size_t layer = 0; layer < model.layers.size(); ++layer)
    model.layers[layer].seconds = Seconds(median(seconds[layer]));
}

void take_to_host(SwappedModel& model) {
  Executor& executor = *model.session.executor;
  for (SwappedWeight& weight : model.weights) {
    weight.contents = executor.kept(weight.tensors.front()).detach().to(at::kCPU);
    for (const TensorId id : weight.tensors) executor.keep(id, at::Tensor());
  }
  model.session.device->empty_cache();
}

}  // namespace

std::vector<at::Tensor> on_host(const std::vector<Value>& outputs) {
  std::vector<at::Tensor> out;
  for (const Value& value : outputs)
    out.push_back(value.is_sequence || !value.tensor.defined()
                      ? at::Tensor()
                      : value.tensor.detach().to(at::kCPU).contiguous().clone());
  return out;
}

bool same_bits(const at::Tensor& a, const at::Tensor& b) {
  if (!a.defined() || !b.defined()) return a.defined() == b.defined();
  return a.scalar_type() == b.scalar_type() && a.sizes() == b.sizes() && a.strides() == b.strides() &&
         std::memcmp(a.data_ptr(), b.data_ptr(), a.nbytes()) == 0;
}

Result<std::unique_ptr<SwappedModel>> bring_in(const job::Job& job,
                                               const std::vector<std::pair<TensorId, at::Tensor>>& drawn_as,
                                               const Emit& emit) {
  auto model = std::make_unique<SwappedModel>(SwappedModel{.session = {job, {}, {}, {}, "loading"}});
  Session& session = model->session;
  const Result<bool> ready = open_session(session, emit);
  if (!ready) return std::unexpected(ready.error());
  if (!*ready) return nullptr;
  for (const auto& [id, contents] : drawn_as)
    session.executor->keep(id, contents.to(session.device->torch_device()));
  auto inputs = random_inputs(job, session.shapes, session.device->torch_device());
  PLIMSOLL_TRY(inputs);
  model->inputs = *std::move(inputs);
  session.phase = "running";
  const c10::NoGradGuard no_gradients;
  const Autocast autocast(job.setting.precision, session.device->torch_device());
  const std::int64_t before = session.device->allocated_bytes();
  session.device->reset_peaks();
  Reading(*model).run();
  model->activation_bytes = session.device->memory().peak_allocated_bytes - before;
  time_layers(*model);
  take_to_host(*model);
  return model;
}

void place_at(SwappedModel& model, const SwappedWeight& weight, std::byte* address) {
  Executor& executor = *model.session.executor;
  const at::Device device = model.session.device->torch_device();
  const at::Tensor placed = at::for_blob(address, weight.contents.sizes())
                                .strides(weight.contents.strides())
                                .options(weight.contents.options().device(device))
                                .target_device(device)
                                .make_tensor();
  for (const TensorId id : weight.tensors) executor.keep(id, placed);
}

}  // namespace plimsoll::engine
