#include <utility>
#include <vector>

#include "serve/mlflow/batch.hpp"
#include "serve/mlflow/handlers.hpp"
#include "serve/mlflow/message.hpp"
#include "serve/mlflow/param_conflict.hpp"
#include "serve/mlflow/validation.hpp"

namespace plimsoll::serve::mlflow {
namespace {

Outcome<LoggedBatch> batch_in(const Request& request) {
  if (request.body.size() > limits::kMostBatchBytes)
    return invalid("Batched logging API requests must be at most {} bytes, got a request of size {}.",
                   limits::kMostBatchBytes, request.body.size());
  PLIMSOLL_TRY(check_content_type(request));
  if (std::optional<LoggedBatch> plain = read_plain_batch(request.body)) return std::move(*plain);
  return read_batch(request.body);
}

/// A batch whose params and tags are in the store already; its metrics are still to go.
Outcome<std::vector<store::Batch>> begin_batch(Api& api, const Request& request) {
  PLIMSOLL_TAKE(batch, batch_in(request));
  PLIMSOLL_TRY(check_run_id(batch.run));
  PLIMSOLL_TRY(check_limits(batch));
  PLIMSOLL_TAKE(points, batches_of(batch.run, batch.metrics, "metrics"));
  PLIMSOLL_TAKE(change, change_of(batch));
  PLIMSOLL_TRY(api.check_active(batch.run));
  if (!change.params.empty() || !change.tags.empty())
    if (const Status done = api.store().change(batch.run, change); !done)
      return std::unexpected(explained(api, batch.run, change, done.error()));
  return std::move(points);
}

Outcome<std::vector<store::Batch>> begin_metric(Api& api, const Request& request) {
  static constexpr Field kFields[] = {{"run_id", Type::text, true},
                                      {"key", Type::text, true},
                                      {"value", Type::number, true},
                                      {"timestamp", Type::integer, true},
                                      {"step", Type::integer},
                                      {"model_id"},
                                      {"dataset_name"},
                                      {"dataset_digest"}};
  PLIMSOLL_TAKE(document, Document::read(request, kFields));
  const std::string run = document.message().text("run_id");
  PLIMSOLL_TAKE(points, batches_of(run, {metric_of(document.message())}, {}));
  PLIMSOLL_TRY(api.check_active(run));
  return std::move(points);
}

void finish(Api& api, Outcome<std::vector<store::Batch>> batches, Answer answer) {
  if (!batches) return answer(response_of(batches.error()));
  if (batches->empty()) return answer(empty_response());
  api.writer().submit(std::move(*batches), [answer = std::move(answer)](Status done) mutable {
    answer(done ? empty_response() : response_of(fault_of(done.error())));
  });
}

}  // namespace

void log_metric(Api& api, Call call, Answer answer) {
  finish(api, begin_metric(api, call.request), std::move(answer));
}

void log_batch(Api& api, Call call, Answer answer) {
  finish(api, begin_batch(api, call.request), std::move(answer));
}

}  // namespace plimsoll::serve::mlflow
