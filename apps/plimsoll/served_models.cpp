#include "served_models.hpp"

#include <algorithm>

#include "base/at_once.hpp"
#include "base/printable.hpp"
#include "workload_source.hpp"

namespace plimsoll {
namespace {

/// A model at each batch that it takes. Fails where it takes not even the smallest.
Result<std::vector<plan::BatchedModel>> batched(const std::string& model, const EstimateTarget& on,
                                                const ServedModels& how) {
  const auto read = read_workload(model);
  PLIMSOLL_TRY(read);
  if (read->arrivals > 0 || !read->alone_run.empty() || read->setting.batch)
    return std::unexpected(Error{"a service's model has no batch, arrivals or alone", "",
                                 "batches are chosen (--batches), requests come as request_rate_req_s says"});
  std::vector<plan::BatchedModel> out;
  std::vector<std::int64_t> batches = how.batches;
  std::ranges::sort(batches);
  for (const std::int64_t batch : batches) {
    WorkloadRequest request = *read;
    request.setting.mode = network::Mode::infer;
    if (request.setting.precision == network::Precision::fp32) request.setting.precision = how.precision;
    if (!model.contains("captured=")) request.setting.captured = true;
    request.setting.batch = batch;
    auto placed = place_workload(request, on);
    if (!placed && out.empty()) return std::unexpected(std::move(placed).error());
    if (!placed) break;  // what has a fixed batch
    out.push_back({model, static_cast<int>(batch), *std::move(placed)});
  }
  return out;
}

std::vector<std::string> models_of(const std::vector<plan::Service>& services) {
  std::vector<std::string> out;
  for (const plan::Service& service : services) out.push_back(service.model);
  std::ranges::sort(out);
  out.erase(std::ranges::unique(out).begin(), out.end());
  return out;
}

}  // namespace

AllErrors<plan::PredictedProfiles> predict_served(const std::vector<plan::Service>& services,
                                                  const EstimateTarget& on, const hardware::MigTable& table,
                                                  const share::SharingFigures& figures,
                                                  const ServedModels& how) {
  const std::vector<std::string> models = models_of(services);
  std::vector<plan::PredictedProfiles> told(models.size());
  std::vector<std::optional<Error>> failed(models.size());
  at_once(models.size(), [&](std::size_t at) {
    auto each = batched(models[at], on, how);
    if (each)
      told[at] = plan::predicted_profiles(table, on.device(), *each, services, how.share_of_limit,
                                          static_cast<int>(how.processes), figures);
    else
      failed[at] = std::move(each).error().within(quote(models[at]));
  });
  std::vector<Error> wrong;
  for (const auto& error : failed)
    if (error) wrong.push_back(*error);
  if (!wrong.empty()) return std::unexpected(std::move(wrong));
  plan::PredictedProfiles out;
  for (const plan::PredictedProfiles& model : told) {
    out.rows.insert(out.rows.end(), model.rows.begin(), model.rows.end());
    out.low = std::min(out.low, model.low);
    out.high = std::max(out.high, model.high);
  }
  return out;
}

}  // namespace plimsoll
