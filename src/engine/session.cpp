#include "engine/session.hpp"

#include "engine/checkpoint.hpp"
#include "engine/folding.hpp"
#include "engine/precision.hpp"
#include "engine/quantized.hpp"

namespace plimsoll::engine {
namespace {

/// False, and answered, where operators cannot be executed.
Result<bool> prepare_routine(Session& session, const Emit& emit, std::optional<Routine>& made) {
  const job::Job& job = session.job;
  network::InferOptions options;
  options.allow_unknown_operators = true;
  Result<network::Shapes> shapes = network::infer(job.network, job.binding, options);
  if (!shapes) return std::unexpected(std::move(shapes).error());
  session.shapes = std::move(*shapes);
  std::vector<Unexecutable> missing;
  Result<Routine> routine = make_routine(job.network, session.shapes, job.setting, missing);
  if (!routine) return std::unexpected(std::move(routine).error());
  if (!missing.empty()) {
    job::Unsupported answer;
    for (Unexecutable& m : missing)
      answer.operators.push_back({std::move(m.op), m.nodes, std::move(m.reason)});
    emit(answer);
    return false;
  }
  if (routine->eight_bits && !session.device->torch_device().is_cpu()) {
    emit(
        job::Unsupported{{{"QuantizeLinear", 1,
                           "LibTorch has eight-bit kernels for CPUs alone; --literal computes the network in "
                           "real numbers"}}});
    return false;
  }
  if (routine->eight_bits) {
    Result<std::string> library = choose_quantized_library(job.execution.quantized_by);
    PLIMSOLL_TRY(library);
    session.quantized_by = *std::move(library);
  }
  made = std::move(*routine);
  return true;
}

void tell_prepared(const Routine& routine, std::int64_t folded, const std::string& quantized_by,
                   const Emit& emit) {
  job::Prepared prepared;
  prepared.quantized_by = quantized_by;
  for (const auto& instructions : routine.graphs)
    prepared.operators += static_cast<std::int64_t>(instructions.size());
  prepared.recognised = routine.recognised;
  prepared.in_place = routine.in_place;
  prepared.folded = folded;
  emit(prepared);
}

std::int64_t parameters_in(const Session& session) {
  std::int64_t parameters = 0;
  for (const network::TensorId id : session.executor->routine().weights)
    if (session.job.network.tensor(id).role == network::Role::parameter)
      parameters += session.executor->kept(id).numel();
  return parameters;
}

}  // namespace

Result<bool> open_session(Session& session, const Emit& emit) {
  PlacedWeights placed;
  return open_session(session, placed, emit);
}

Result<bool> open_session(Session& session, PlacedWeights& placed, const Emit& emit) {
  const job::Job& job = session.job;
  session.phase = "context";
  Result<std::unique_ptr<Device>> device = open_device(job.device, job.execution.threads);
  if (!device) return std::unexpected(std::move(device).error());
  session.device = std::move(*device);
  emit(session.device->describe());
  set_float32_arithmetic(job.setting.precision);
  set_deterministic(job.execution.deterministic);
  seed_generators(job.execution.seed);

  std::optional<Routine> made;
  Result<bool> possible = prepare_routine(session, emit, made);
  if (!possible || !*possible) return possible;
  const std::int64_t before =
      session.device->allocated_bytes();  // on the CPU they may stay where they are read
  Result<std::vector<HostWeight>> weights = read_weights(job, *made, session.shapes);
  if (!weights) return std::unexpected(std::move(weights).error());
  std::int64_t folded = 0;
  if (job.setting.fold && job.setting.mode == network::Mode::infer)
    folded = fold_normalizations(*made, *weights);
  tell_prepared(*made, folded, session.quantized_by, emit);
  if (job.task == job::Task::check) return true;

  if (!job.protocol.trace.empty()) session.device->start_trace();
  emit(job::Context{.device_bytes = {}, .resident_bytes = resident_memory().now});
  session.phase = "loading";
  session.executor = std::make_unique<Executor>(std::move(*made), session.device->torch_device());
  session.device->synchronize();
  const auto begin = std::chrono::steady_clock::now();
  place_weights(std::move(*weights), job, *session.executor, placed);
  session.device->synchronize();
  const double seconds = seconds_since(begin);
  const std::int64_t bytes = session.device->allocated_bytes() - before;
  session.executor->settle_numbers();
  // A framework that records a graph cannot look at what its tensors hold, so there masks are used as given.
  if (!job.setting.captured) session.executor->settle_masks();
  emit(job::Loaded{.seconds = seconds,
                   .bytes = bytes,
                   .parameters = parameters_in(session),
                   .reserved_bytes = session.device->reserved_bytes(),
                   .resident_bytes = resident_memory().now,
                   .random = job.random_weights && job.weights.empty()});
  if (job.setting.mode == network::Mode::train)
    if (Status set = set_checkpoints(*session.executor, job.setting.checkpoints); !set)
      return std::unexpected(std::move(set).error());
  return true;
}

Result<std::unique_ptr<Executor>> other_mode(const Session& session, network::Mode mode,
                                             network::Setting& setting) {
  setting = session.job.setting;
  setting.mode = mode;
  std::vector<Unexecutable> missing;
  Result<Routine> routine = make_routine(session.job.network, session.shapes, setting, missing);
  if (!routine) return std::unexpected(std::move(routine).error());
  if (!missing.empty())
    return fail("{} cannot be executed in this mode: {}", missing[0].op, missing[0].reason);
  auto executor = std::make_unique<Executor>(std::move(*routine), session.device->torch_device());
  for (const network::TensorId id : executor->routine().weights)
    executor->keep(id, session.executor->kept(id));
  executor->settle_numbers();
  executor->settle_masks();
  return executor;
}

}  // namespace plimsoll::engine
