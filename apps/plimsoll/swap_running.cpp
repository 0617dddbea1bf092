#include "swap_running.hpp"

#include <algorithm>
#include <map>
#include <variant>

#include <fmt/format.h>

#include "base/printable.hpp"
#include "hardware/this_machine.hpp"
#include "interruption.hpp"
#include "measure/engine_program.hpp"
#include "measure/engine_run.hpp"
#include "measure_options.hpp"
#include "progress_line.hpp"
#include "ready_model.hpp"

namespace plimsoll {
namespace {

using report::SwapReport;
using report::SwapRun;

constexpr double kStartingSeconds = 10;  // for libraries and weights; a guess for the progress line

/// Models with their weights, as members of a job.
struct Members {
  std::vector<ReadyModel> ready;
  std::vector<job::Job> jobs;
};

Result<Members> make_members(const SwapOptions& options, const SwapGround& ground,
                             const std::string& device) {
  Members out;
  for (const SwapModelRequest& model : ground.asked.models) {
    const WorkloadRequest& asked = model.workload;
    if (asked.setting.captured)
      return std::unexpected(Error{"a captured pass is one launch: its weights cannot come layer by layer",
                                   printable(asked.name), "leave captured out of it, or --run"});
    auto ready = make_ready({.model = asked.model,
                             .binding = {},
                             .batches = {},
                             .setting = asked.setting,
                             .seed = 0,
                             .weights = {}});
    if (!ready) return std::unexpected(std::move(ready).error().within(printable(asked.name)));
    out.ready.push_back(*std::move(ready));
    const ReadyModel& of = out.ready.back();
    out.jobs.push_back(job_for(of, of.batches.front(), device, asked.setting,
                               {.learning_rate = 0.01, .threads = options.threads}, {}));
  }
  return out;
}

/// Tensors of the engine's networks that are one, by what the simulation shares.
std::vector<std::vector<job::MemberWeight>> shared_weights(const SwapGround& ground, const Members& members) {
  std::map<std::size_t, std::vector<job::MemberWeight>> sets;  // by tensor of all
  for (std::size_t i = 0; i < ground.weighed.size(); ++i) {
    const network::Network& network = members.jobs[i].network;
    std::map<std::string_view, network::TensorId> named;
    for (const network::Graph& graph : network.graphs)
      for (const network::TensorId id : graph.weights) named.emplace(network.name_of(id), id);
    std::map<std::size_t, std::size_t> seen;  // own tensor to that of all
    const auto& own = ground.weighed[i].model.layers;
    const auto& all = ground.models.models[i].layers;
    for (std::size_t layer = 0; layer < own.size(); ++layer)
      for (std::size_t k = 0; k < own[layer].tensors.size(); ++k)
        seen.emplace(own[layer].tensors[k], all[layer].tensors[k]);
    for (const auto& [tensor, of_all] : seen)
      if (const auto found = named.find(ground.weighed[i].tensors[tensor].name); found != named.end())
        sets[of_all].push_back({i, found->second});
  }
  std::vector<std::vector<job::MemberWeight>> out;
  for (auto& [tensor, set] : sets)
    if (set.size() > 1) out.push_back(std::move(set));
  return out;
}

/// What an engine said of a run.
struct Heard {
  std::optional<job::Hello> hello;
  std::optional<job::LaidOut> laid_out;
  std::optional<job::Swapped> swapped;
  std::optional<job::DoesNotFit> does_not_fit;
  std::optional<Error> failure;
};

void hear(const job::Answer& answer, Heard& heard) {
  if (const auto* hello = std::get_if<job::Hello>(&answer)) heard.hello = *hello;
  if (const auto* laid_out = std::get_if<job::LaidOut>(&answer)) heard.laid_out = *laid_out;
  if (const auto* swapped = std::get_if<job::Swapped>(&answer)) heard.swapped = *swapped;
  if (const auto* full = std::get_if<job::DoesNotFit>(&answer)) heard.does_not_fit = *full;
  if (const auto* failure = std::get_if<job::Failure>(&answer))
    heard.failure = Error{failure->message, failure->where, failure->hint,
                          failure->kind == "machine-lacks" ? Error::Kind::machine_lacks
                          : failure->kind == "internal"    ? Error::Kind::internal
                                                           : Error::Kind::bad_input};
  if (const auto* missing = std::get_if<job::Unsupported>(&answer); missing && !missing->operators.empty())
    heard.failure = Error{fmt::format("the engine cannot execute {}: {}", missing->operators.front().op,
                                      missing->operators.front().reason)};
}

swapping::Models models_of(const job::LaidOut& laid_out, const SwapGround& ground) {
  swapping::Models out;
  for (const std::int64_t bytes : laid_out.tensor_bytes) out.tensors.emplace_back(bytes);
  for (std::size_t i = 0; i < laid_out.members.size(); ++i) {
    swapping::Model& model = out.models.emplace_back();
    model.name = ground.models.models[i].name;
    model.activations = Bytes(laid_out.members[i].activation_bytes);
    for (const job::LaidOut::Layer& layer : laid_out.members[i].layers)
      model.layers.push_back({{layer.tensors.begin(), layer.tensors.end()}, Seconds(layer.seconds)});
  }
  return out;
}

/// Frames that came one after the other came when they were begun, and none was late.
std::vector<swapping::Request> requests_as_run(const SwapGround& ground, const job::Swapped& swapped,
                                               bool in_sequence) {
  std::vector<swapping::Request> out = ground.requests;
  for (const job::Swapped::Frame& frame : swapped.frames)
    if (in_sequence) {
      swapping::Request& request = out[static_cast<std::size_t>(frame.frame)];
      request.arrival = Seconds(frame.begin);
      request.deadline = Seconds(frame.finish);
    }
  return out;
}

SwapRun run_of(const SwapGround& ground, const SwapReport::Row& row, const job::LaidOut& laid_out,
               const job::Swapped& swapped, bool in_sequence) {
  const swapping::Packed packed =
      swapping::pack(models_of(laid_out, ground), ground.report.block, swapping::kTensorAlignment);
  const std::vector<swapping::Request> requests = requests_as_run(ground, swapped, in_sequence);
  swapping::Outcome outcome;
  outcome.frames.resize(requests.size());
  outcome.moved.resize(packed.models.size());
  outcome.blocks = swapped.moved_bytes / ground.report.block.count();
  outcome.copying = Seconds(swapped.copying_seconds);
  outcome.end = Seconds(swapped.elapsed);
  for (const job::Swapped::Frame& frame : swapped.frames) {
    const auto at = static_cast<std::size_t>(frame.frame);
    outcome.frames[at] = {Seconds(frame.finish), Seconds(frame.finish) <= requests[at].deadline};
  }
  SwapRun out{.policy = row.policy,
              .merged = row.merged,
              .of = swapping::summary(packed, requests, outcome, ground.accuracies)};
  out.link = {BytesPerSecond(laid_out.copy_bandwidth), Seconds(laid_out.copy_latency), Provenance::measured,
              "copies of blocks before the first frame"};
  const swapping::Question question{
      .packed = packed,
      .policy = *swapping::policy_named(row.policy),
      .link = out.link,
      .capacity = ground.capacity(),
      .late = ground.report.drops_late ? swapping::Late::dropped : swapping::Late::run,
      .foreseen = ground.foreseen};
  out.simulated = swapping::summary(packed, ground.requests,
                                    in_sequence ? swapping::in_sequence(question, ground.requests)
                                                : swapping::simulate(question, ground.requests),
                                    ground.accuracies);
  out.peak = Bytes(swapped.peak_bytes);
  out.decided = Bytes(swapped.decided_bytes);
  out.decided_peak = Bytes(swapped.decided_peak_bytes);
  out.activations = Bytes(swapped.activation_bytes);
  out.copies = swapped.copies;
  if (swapped.copying_seconds > 0)
    out.copying = BytesPerSecond(static_cast<double>(swapped.moved_bytes) / swapped.copying_seconds);
  out.elapsed = Seconds(swapped.elapsed);
  out.outputs_differing = swapped.outputs_differing;
  return out;
}

class Running {
 public:
  Running(const SwapOptions& options, SwapGround& ground, std::filesystem::path engine,
          Interruption& interruption)
      : options_(options), ground_(ground), engine_(std::move(engine)), interruption_(interruption) {}

  Result<SwapEnd> run() {
    const auto device = swap_engine_device(options_.device);
    PLIMSOLL_TRY(device);
    auto members = make_members(options_, ground_, *device);
    PLIMSOLL_TRY(members);
    members_ = *std::move(members);
    const std::vector<std::size_t> rows = rows_to_run();
    if (rows.empty()) return SwapEnd::done;
    const double seconds = options_.in_sequence ? 0 : ground_.requests.back().arrival.value();
    ProgressLine progress(static_cast<std::int64_t>(rows.size()), kStartingSeconds + seconds);
    for (const std::size_t row : rows) {
      const SwapReport::Row& of = ground_.report.rows[row];
      progress.begin_row(fmt::format("{}{} on {}", of.policy, of.merged ? " merged" : "", *device));
      const Result<SwapEnd> end = run(of, *device, progress);
      if (!end || *end != SwapEnd::done) {
        if (std::error_code ignored; !options_.outputs.empty())
          std::filesystem::remove(unfinished_outputs(), ignored);
        return end;
      }
      progress.end_row();
    }
    PLIMSOLL_TRY(finish_outputs());
    return SwapEnd::done;
  }

 private:
  /// Until all has run well.
  [[nodiscard]] std::string unfinished_outputs() const { return options_.outputs + ".unfinished"; }
  [[nodiscard]] Status finish_outputs() const {
    if (options_.outputs.empty()) return {};
    std::error_code problem;
    std::filesystem::rename(unfinished_outputs(), options_.outputs, problem);
    if (problem)
      return std::unexpected(
          Error{"cannot be written: " + problem.message(), printable(options_.outputs), {}});
    return {};
  }

  [[nodiscard]] std::vector<std::size_t> rows_to_run() const {
    if (options_.policies.empty() && ground_.report.best) return {*ground_.report.best};
    std::vector<std::size_t> out;
    for (std::size_t row = 0; row < ground_.report.rows.size(); ++row)
      if (!ground_.report.rows[row].needs) out.push_back(row);
    return out;
  }

  [[nodiscard]] job::Job job_for_row(const SwapReport::Row& row, const std::string& device) const {
    job::Job out;
    out.task = job::Task::swap;
    out.device = device;
    out.execution.threads = options_.threads;
    out.members = members_.jobs;
    job::Swapping& asked = out.swapping;
    if (row.merged) asked.shared = shared_weights(ground_, members_);
    asked.block_bytes = ground_.report.block.count();
    asked.capacity = ground_.capacity();
    asked.policy = row.policy;
    asked.foreseen = ground_.foreseen;
    asked.drops_late = ground_.report.drops_late;
    asked.by_clock = !options_.in_sequence;
    if (!options_.outputs.empty()) asked.outputs = std::filesystem::absolute(unfinished_outputs()).string();
    for (const swapping::Request& request : ground_.requests)
      asked.frames.push_back({request.model, request.arrival.value(), request.deadline.value()});
    return out;
  }

  Result<SwapEnd> run(const SwapReport::Row& row, const std::string& device, ProgressLine& progress) {
    Heard heard;
    const measure::EngineListener listener{.on_answer =
                                               [&](const job::Answer& answer) {
                                                 hear(answer, heard);
                                                 if (const auto* at = std::get_if<job::Progress>(&answer))
                                                   progress.show(*at);
                                               },
                                           .on_turn = {},
                                           .interrupted = [&] { return interruption_.came(); }};
    const auto end = measure::run_engine(engine_, job_for_row(row, device), {}, listener);
    PLIMSOLL_TRY(end);
    if (*end == measure::EngineEnd::interrupted) return SwapEnd::interrupted;
    if (heard.failure) return std::unexpected(*heard.failure);
    SwapReport& report = ground_.report;
    if (heard.does_not_fit) {
      report.did_not_fit = fmt::format("{} while {}", heard.does_not_fit->message, heard.does_not_fit->phase);
      return SwapEnd::does_not_fit;
    }
    if (!heard.laid_out || !heard.swapped || heard.laid_out->members.size() != members_.jobs.size())
      return fail("the engine did not say what came of a run");
    if (heard.hello) report.ran_on = fmt::format("{}, {}", heard.hello->device, heard.hello->device_name);
    report.in_sequence = options_.in_sequence;
    report.runs.push_back(run_of(ground_, row, *heard.laid_out, *heard.swapped, options_.in_sequence));
    return SwapEnd::done;
  }

  const SwapOptions& options_;
  SwapGround& ground_;
  std::filesystem::path engine_;
  Interruption& interruption_;
  Members members_;
};

}  // namespace

Result<std::string> swap_engine_device(const std::string& word) {
  if (word == "this") {
    const auto machine = hardware::this_machine();
    return machine && !machine->gpus.empty() ? "cuda:0" : "cpu";
  }
  if (hardware::names_this_machine(word)) return engine_device(word);
  return std::unexpected(Error{fmt::format("--run runs on this machine, not on {}", quote(word)), "--device",
                               "leave it out, or say cpu; without --run it is simulated"});
}

Result<SwapEnd> run_swapping(const SwapOptions& options, SwapGround& ground) {
  auto engine = measure::find_engine(measure::EngineSearch::of_this_process());
  PLIMSOLL_TRY(engine);
  auto signals = running::SignalSource::open();
  PLIMSOLL_TRY(signals);
  Interruption interruption(*std::move(signals));
  return Running(options, ground, *std::move(engine), interruption).run();
}

}  // namespace plimsoll
