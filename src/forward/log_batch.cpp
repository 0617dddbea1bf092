#include "forward/log_batch.hpp"

#include <fmt/format.h>

#include "forward/mlflow_text.hpp"
#include "store/mlflow_limits.hpp"
#include "store/timestamp.hpp"

namespace plimsoll::forward {
namespace {

namespace limits = store::mlflow_limits;

/// With room for the run's id and the names of the lists.
constexpr std::size_t kMostBytes = limits::kMostBatchBytes - 10'000;

}  // namespace

bool LogBatch::add(Entries& to, std::size_t most, std::string_view entry) {
  const std::size_t bytes = metrics_.json.size() + params_.json.size() + tags_.json.size();
  const bool fits = to.count < most &&
                    metrics_.count + params_.count + tags_.count < limits::kMostBatchEntities &&
                    bytes + entry.size() + 1 <= kMostBytes;
  if (!fits) return false;
  if (to.count++ > 0) to.json += ',';
  to.json += entry;
  return true;
}

bool LogBatch::add_metric(std::string_view key_json, const store::Point& point) {
  const bool added = add(metrics_, limits::kMostBatchMetrics,
                         fmt::format(R"({{"key":{},"value":{},"timestamp":{},"step":{}}})", key_json,
                                     json_number(point.value), store::milliseconds(point.time), point.step));
  if (added) points_.push_back({std::string(key_json), point});
  return added;
}

bool LogBatch::add_param(std::string_view key, std::string_view value) {
  return add(params_, limits::kMostBatchParams,
             fmt::format(R"({{"key":{},"value":{}}})", json_text(key), json_text(value)));
}

bool LogBatch::add_tag(std::string_view key, std::string_view value) {
  return add(tags_, limits::kMostBatchTags,
             fmt::format(R"({{"key":{},"value":{}}})", json_text(key), json_text(value)));
}

std::string LogBatch::body(std::string_view run) const {
  return fmt::format(R"({{"run_id":{},"metrics":[{}],"params":[{}],"tags":[{}]}})", json_text(run),
                     metrics_.json, params_.json, tags_.json);
}

}  // namespace plimsoll::forward
