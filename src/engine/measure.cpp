// The task "measure": time and memory of one setting.
#include <c10/core/GradMode.h>

#include "engine/precision.hpp"
#include "engine/session.hpp"
#include "engine/training.hpp"

namespace plimsoll::engine {
namespace {

constexpr int kPassesBeforeCapture = 3;

std::int64_t batch_of(const GivenInputs& inputs) {
  return inputs.empty() || inputs[0].second.dim() == 0 ? 1 : inputs[0].second.size(0);
}

/// What one pass is, and what it needs for as long as it is called.
struct Work {
  GivenInputs inputs;
  std::unique_ptr<Optimizer> optimizer;
  at::Tensor labels, loss;
  Pass pass;
};

Pass inference(Session& session, Work& work) {
  return [&session, &work] {
    const c10::NoGradGuard no_gradients;
    const Autocast autocast(session.job.setting.precision, session.device->torch_device());
    const std::vector<Value> outputs = session.executor->run(work.inputs);
  };
}

Pass training(Session& session, Work& work) {
  return [&session, &work] {
    const network::Setting& setting = session.job.setting;
    work.loss = training_step(setting, *session.executor, work.inputs, work.labels, *work.optimizer);
  };
}

/// The shape of what is learned from: as inference tells it, so that the first step is the first pass of all;
/// else as a pass without gradients finds it.
std::vector<std::int64_t> output_shape(Session& session, const Work& work) {
  const network::TensorId id = session.job.network.main().outputs.front();
  std::vector<std::int64_t> dims;
  if (session.shapes.ranked(id))
    for (const network::Dim d : session.shapes.dims(id))
      if (d.exact()) dims.push_back(d.value());
  if (session.shapes.ranked(id) && dims.size() == session.shapes.dims(id).size()) return dims;
  const c10::NoGradGuard no_gradients;
  const std::vector<Value> outputs = session.executor->run(work.inputs);
  return outputs[0].tensor.sizes().vec();
}

Status prepare(Session& session, Work& work) {
  Result<GivenInputs> inputs = random_inputs(session.job, session.shapes, session.device->torch_device());
  if (!inputs) return std::unexpected(std::move(inputs).error());
  work.inputs = std::move(*inputs);
  if (session.job.setting.mode == network::Mode::infer) {
    work.pass = inference(session, work);
    return {};
  }
  if (session.job.network.main().outputs.empty()) return fail("the network has no output to learn from");
  work.labels = random_labels(session.job.setting.loss, output_shape(session, work),
                              session.device->torch_device(), session.job.execution.seed);
  work.optimizer =
      std::make_unique<Optimizer>(session.job.setting.optimizer, session.job.execution.learning_rate,
                                  trained_parameters(session.job, *session.executor));
  work.pass = training(session, work);
  return {};
}

}  // namespace

Status measure(Session& session, const Emit& emit) {
  session.phase = "running";
  const job::Protocol& protocol = session.job.protocol;
  Device& device = *session.device;
  Work work;
  if (Status ready = prepare(session, work); !ready) return ready;
  emit(job::Progress{.phase = "cold", .done = 0, .seconds_left = {}});
  device.reset_peaks();
  job::Measured measured;
  measured.cold_seconds = time_cold(device, work.pass);

  Pass timed = work.pass;
  std::unique_ptr<Captured> captured;
  if (session.job.setting.captured) {
    work.pass();
    device.synchronize();
    measured.memory = device.memory();  // a graph keeps a pool of its own besides, and its stream workspaces
    device.run_aside([&] {
      for (int i = 0; i < kPassesBeforeCapture; ++i) work.pass();
    });
    if (work.optimizer) work.optimizer->forget_gradients();
    Result<std::unique_ptr<Captured>> graph = device.capture(work.pass);
    if (!graph) return std::unexpected(std::move(graph).error());
    captured = std::move(*graph);
    timed = [&captured] { captured->replay(); };
    measured.captured = true;
  }
  time_hot(device, timed, protocol, emit, measured);
  if (!captured) measured.memory = device.memory();
  if (work.loss.defined()) measured.loss = work.loss.to(at::kDouble).item().toDouble();
  emit(measured);
  if (!protocol.trace.empty())
    if (Status written = device.write_trace(protocol.trace); !written) return written;
  if (protocol.layers) {
    if (captured)
      return std::unexpected(Error{.message = "a captured pass is one launch: it has no layers to time",
                                   .hint = "leave out --capture, or --layers"});
    emit(time_layers(device, work.pass, *session.executor, emit));
  }
  if (protocol.energy_seconds > 0) run_window(device, timed, protocol.energy_seconds, emit);
  if (protocol.scenario.arrival != job::Arrival::none)
    emit(run_scenario(device, timed, protocol, batch_of(work.inputs), session.job.execution.seed, emit));
  return {};
}

}  // namespace plimsoll::engine
