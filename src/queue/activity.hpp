#pragma once
#include <deque>
#include <map>
#include <memory>
#include <vector>

#include "nvml/library.hpp"
#include "plan/schedule/policy.hpp"
#include "telemetry/sampling_thread.hpp"

namespace plimsoll::queue {

/// What GPUs did over the last seconds, whoever used them.
class RecentActivity {
 public:
  RecentActivity(nvml::Library* nvml, const std::vector<unsigned>& devices);

  /// Takes what was sampled since.
  void refresh();
  /// Means over plan::schedule::kActivityWindow; zero where nothing is told.
  [[nodiscard]] plan::schedule::View::Activity of(unsigned device) const;

 private:
  struct Sample {
    std::int64_t time = 0;  ///< µs
    plan::schedule::View::Activity activity = {};
  };
  std::vector<telemetry::Series> series_;
  std::map<unsigned, std::deque<Sample>> samples_;
  telemetry::SamplingThread thread_;
};

}  // namespace plimsoll::queue
