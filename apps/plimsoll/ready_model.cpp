#include "ready_model.hpp"

#include <fmt/format.h>

#include "base/printable.hpp"
#include "batches.hpp"

namespace plimsoll {
namespace {

/// Of an offline scenario where nobody says how many samples there are.
constexpr std::int64_t kOfflineBatches = 32;

Status check_patch(const network::Network& network, const network::Shapes& shapes,
                   const measure::Scene& scene) {
  for (const network::TensorId id : network.main().inputs) {
    const auto dims = shapes.dims(id);
    if (!shapes.ranked(id) || dims.size() != 4) continue;
    if (dims[2].is(scene.patch_height) && dims[3].is(scene.patch_width)) return {};
    return fail("takes images of {}, but --patch asks for {}x{}", shapes.text(id), scene.patch_width,
                scene.patch_height);
  }
  return fail("takes no images, so a scene cannot be cut into patches for it");
}

Result<ReadyModel::Bound> bind_batch(const LoadedModel& loaded, const ReadyRequest& asked,
                                     std::optional<std::int64_t> batch) {
  network::Setting setting = asked.setting;
  setting.batch = batch;
  const Result<network::BindingRequest> request = asked.binding.request(setting, !loaded.inputs_used);
  if (!request) return std::unexpected(request.error());
  Result<network::Binding> binding = network::bind(loaded.network, *request);
  if (!binding) return std::unexpected(std::move(binding).error());
  const Result<network::Shapes> shapes = network::infer(loaded.network, *binding);
  if (!shapes) return std::unexpected(shapes.error());
  if (asked.scene) PLIMSOLL_TRY(check_patch(loaded.network, *shapes, *asked.scene));
  return ReadyModel::Bound{network::batch_of(loaded.network, *shapes), std::move(*binding)};
}

void add_notes(ReadyModel& ready, const ReadyRequest& request) {
  ready.notes = ready.loaded.notes;
  if (ready.weights.random)
    ready.notes.push_back(
        fmt::format("random weights, seed {}: where data decides how much is computed, "
                    "trained ones may take another time",
                    request.seed));
  for (std::string& note : ready.weights.notes) ready.notes.push_back(std::move(note));
  if (!ready.batches.empty())
    for (const network::BoundSymbol& symbol : ready.batches.front().binding.symbols)
      if (symbol.assumed)
        ready.notes.push_back(
            fmt::format("{} was not given; {} is assumed", printable(symbol.name), symbol.value));
}

}  // namespace

Result<ReadyModel> make_ready(const ReadyRequest& request) {
  const std::string& model = request.model;
  const auto named = [&model](Error error) { return std::unexpected(std::move(error).within(model)); };
  Result<LoadedModel> loaded = load_model({model, request.setting.mode, request.binding.inputs, true});
  if (!loaded) return std::unexpected(std::move(loaded).error());
  ReadyModel ready{std::move(*loaded), {}, {}, {}};
  std::vector<std::optional<std::int64_t>> batches(request.batches.begin(), request.batches.end());
  if (batches.empty()) batches.push_back(request.setting.batch);
  for (const std::optional<std::int64_t>& batch : batches) {
    Result<ReadyModel::Bound> bound = bind_batch(ready.loaded, request, batch);
    if (!bound) return named(std::move(bound).error());
    ready.batches.push_back(std::move(*bound));
  }
  Result<measure::Weights> weights = measure::find_weights(
      ready.loaded.network, ready.loaded.file ? &*ready.loaded.file : nullptr, request.weights);
  if (!weights) return named(std::move(weights).error());
  ready.weights = std::move(*weights);
  add_notes(ready, request);
  return ready;
}

job::Job job_for(const ReadyModel& model, const ReadyModel::Bound& bound, const std::string& device,
                 const network::Setting& setting, const job::Execution& execution,
                 const job::Protocol& protocol) {
  job::Job job;
  job.network = model.loaded.network;
  job.binding = bound.binding;
  job.device = device;
  job.setting = setting;
  job.setting.batch = bound.batch;
  job.execution = execution;
  job.protocol = protocol;
  if (protocol.scenario.arrival == job::Arrival::offline && protocol.scenario.samples == 0)
    job.protocol.scenario.samples = kOfflineBatches * bound.batch;
  job.files = model.weights.files;
  job.weights = model.weights.locations;
  job.random_weights = model.weights.random;
  return job;
}

}  // namespace plimsoll
