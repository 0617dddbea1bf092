#include "batches.hpp"

namespace plimsoll {

Result<Batches> Batches::load(const std::string& model, const InspectOptions& options) {
  Result<LoadedModel> loaded = load_model({model, options.setting.mode, options.binding.inputs});
  if (!loaded) return std::unexpected(std::move(loaded).error());
  return Batches(model, options, std::move(*loaded));
}

Result<network::Shapes> Batches::shapes(std::int64_t batch) const {
  const auto named = [&](Error error) { return std::unexpected(std::move(error).within(model_)); };
  network::Setting setting = options_.setting;
  if (batch > 0) setting.batch = batch;
  const Result<network::BindingRequest> request = options_.binding.request(setting, !loaded_.inputs_used);
  if (!request) return std::unexpected(request.error());
  const Result<network::Binding> binding = network::bind(loaded_.network, *request);
  if (!binding) return named(binding.error());
  network::InferOptions infer;
  infer.allow_unknown_operators = options_.allow_unknown;
  Result<network::Shapes> inferred = network::infer(loaded_.network, *binding, infer);
  if (!inferred) return named(std::move(inferred).error());
  return inferred;
}

}  // namespace plimsoll
