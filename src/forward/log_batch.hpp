#pragma once
#include <cstddef>
#include <string>
#include <string_view>

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
  /// The call's JSON.
  [[nodiscard]] std::string body(std::string_view run) const;

 private:
  struct Entries {
    std::string json = {};
    std::size_t count = 0;
  };
  bool add(Entries& to, std::size_t most, std::string_view entry);
  Entries metrics_, params_, tags_;
};

}  // namespace plimsoll::forward
