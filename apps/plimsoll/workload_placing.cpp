#include <algorithm>

#include "base/at_once.hpp"
#include "batches.hpp"
#include "estimate/memory/memory.hpp"
#include "estimate/time/time.hpp"
#include "program/lowering.hpp"
#include "workload_source.hpp"

namespace plimsoll {

Result<share::Workload> place_workload(const WorkloadRequest& request, const EstimateTarget& on) {
  const estimate::Target target = on.place();
  InspectOptions options;
  options.setting = request.setting;
  const Result<Batches> batches = Batches::load(request.model, options);
  PLIMSOLL_TRY(batches);
  const Result<network::Shapes> shapes = batches->shapes(0);
  PLIMSOLL_TRY(shapes);
  const auto named = [&](Error error) { return std::unexpected(std::move(error).within(request.name)); };
  network::Setting setting = request.setting;
  setting.batch = batches->batch_in(*shapes);
  const auto program = program::lower(batches->network(), *shapes, setting, target.platform(setting));
  if (!program) return named(program.error());
  const auto memory = estimate::estimate_memory(batches->network(), *program, setting, on.device());
  if (!memory) return named(memory.error());
  const auto profile = estimate::profile(*program, setting, target);
  if (!profile) return named(profile.error());
  const estimate::TimeEstimate time = estimate::estimate_time(*program, *profile, target);
  std::optional<Watts> watts;
  if (time.joules && profile->seconds > Seconds()) watts = *time.joules / profile->seconds;
  auto workload =
      share::workload_of(request.name, *profile, *program, setting, on.device(), request.alone, watts);
  if (!workload)
    return named(Error{fmt::format("what kernels ask of {} is not known", on.device().name), "",
                       "sharing is told of GPUs whose multiprocessors are known"});
  workload->arrivals = request.arrivals;
  workload->memory = memory->minimum_device();
  const double spread = memory->peak_allocated > Bytes() ? memory->high / memory->peak_allocated : 1;
  Bytes reserved = Bytes::rounded(static_cast<double>(memory->peak_reserved.count()) * spread);
  if (request.alone && request.alone->reserved_bytes)
    reserved = std::max(reserved, Bytes::rounded(*request.alone->reserved_bytes));
  workload->memory_high = reserved + memory->context.value_or(Bytes());
  return *std::move(workload);
}

Result<std::vector<share::Workload>> place_workloads(const std::vector<WorkloadRequest>& requests,
                                                     const EstimateTarget& on) {
  std::vector<std::optional<Result<share::Workload>>> placed(requests.size());
  at_once(requests.size(), [&](std::size_t i) { placed[i] = place_workload(requests[i], on); });
  std::vector<share::Workload> out;
  for (auto& workload : placed) {
    PLIMSOLL_TRY(*workload);
    out.push_back(**std::move(workload));
  }
  return out;
}

}  // namespace plimsoll
