#include "batches.hpp"
#include "estimate/memory/memory.hpp"
#include "program/lowering.hpp"
#include "swap_models.hpp"

namespace plimsoll {

Result<swapping::WeighedModel> weigh_swap_model(const WorkloadRequest& request, const EstimateTarget& on,
                                                LayerTimes times) {
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
  const auto memory = estimate::estimate_peak(batches->network(), *program, setting, on.device());
  if (!memory) return named(memory.error());
  const auto profile = estimate::profile(*program, setting, target);
  if (!profile && times == LayerTimes::needed) return named(profile.error());
  auto out = swapping::weighed(request.name, batches->network(), *program,
                               profile ? *profile : estimate::Profile(), setting.captured);
  out.model.activations = std::max(Bytes(), memory->peak_allocated - memory->weights);
  return out;
}

}  // namespace plimsoll
