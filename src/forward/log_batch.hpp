#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "store/run.hpp"

namespace plimsoll::forward {

/// What one call of MLflow's runs/log-batch brings, within its limits: 1,000 metrics, 100 params, 100 tags,
/// 1,000 in all, 1 MB. What does not fit is left out, and told.
class LogBatch {
 public:
  [[nodiscard]] bool add_metric(std::string_view key_json, const store::Point& point);
  [[nodiscard]] bool add_param(std::string_view key, std::string_view value);
  [[nodiscard]] bool add_tag(std::string_view key, std::string_view value);

  [[nodiscard]] bool empty() const { return metrics_.count + params_.count + tags_.count == 0; }
  [[nodiscard]] std::size_t metrics() const { return metrics_.count; }
  /// With their names in JSON, in the order in which they were added.
  struct Added {
    std::string key_json;
    store::Point point;
  };
  [[nodiscard]] const std::vector<Added>& points() const { return points_; }
  /// The call's JSON.
  [[nodiscard]] std::string body(std::string_view run) const;

 private:
  struct Entries {
    std::string json = {};
    std::size_t count = 0;
  };
  bool add(Entries& to, std::size_t most, std::string_view entry);
  Entries metrics_, params_, tags_;
  std::vector<Added> points_;
};

}  // namespace plimsoll::forward
