#pragma once
#include <optional>
#include <span>
#include <string>

#include "plan/schedule/job.hpp"
#include "plan/schedule/rates.hpp"
#include "queue/learning.hpp"
#include "queue/request.hpp"

namespace plimsoll::queue {

/// What is believed of a job on the GPUs at hand.
struct Belief {
  plan::schedule::Kind kind = {};
  std::string key = {};                         ///< equal for those that are alike
  std::optional<Bytes> seen = {};               ///< the most memory that it took in a run, where a run tells
  std::optional<double> seconds = {};           ///< alone, from its first step to its last
  std::optional<double> startup = {};           ///< s
  std::optional<double> steps_per_second = {};  ///< alone
  bool is_known = false;    ///< by a model, a profile or what it states; else it is learned
  std::string source = {};  ///< "resnet50 and its last run"
};

/// Of a job of which nobody knows how long it takes: for deciding alone, never told.
inline constexpr double kUnknownLength = 3600;  // s

/// Tells what jobs take and what groups of them do, by `estimate`, `beside` and what was learned. Used by one
/// thread at a time, but where it says otherwise.
class Oracle {
 public:
  virtual ~Oracle() = default;
  /// `need`: as it was raised since. Fails where what the job says of itself makes no sense.
  [[nodiscard]] virtual Result<Belief> belief(const JobRequest& request,
                                              const std::optional<Profile>& profile,
                                              const std::optional<Bytes>& need) = 0;
  /// Of those whose belief was told, by their keys, in their order. Several threads may ask at the same time.
  [[nodiscard]] virtual plan::schedule::GroupRates together(std::span<const std::string> keys,
                                                            const plan::schedule::Setup& setup) = 0;
  [[nodiscard]] virtual double idle_watts() const = 0;

 protected:
  Oracle() = default;
  Oracle(const Oracle&) = default;
  Oracle& operator=(const Oracle&) = default;
};

}  // namespace plimsoll::queue
