#include "serve/mlflow/api.hpp"

#include <charconv>
#include <limits>

#include "base/printable.hpp"
#include "serve/mlflow/message.hpp"

namespace plimsoll::serve::mlflow {
namespace {

constexpr std::chrono::seconds kBelieved{5};
constexpr std::size_t kMostKnown = 10'000;

bool is_run_id(std::string_view id) {
  return id.size() == 32 && id.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

std::unexpected<Fault> no_run(std::string_view id) {
  constexpr std::size_t kShown = 256;
  return refuse(Code::resource_does_not_exist, "Run with id={} not found", printable(id, kShown));
}

}  // namespace

Outcome<store::Run> Api::run(const std::string& id) {
  if (!is_run_id(id)) return no_run(id);
  Result<store::Run> found = store_.find(id);
  if (!found && found.error().kind == Error::Kind::not_found) return no_run(id);
  if (!found) return std::unexpected(fault_of(found.error()));
  return std::move(*found);
}

Outcome<void> Api::check_active(const std::string& id) {
  const Clock::time_point now = Clock::now();
  {
    const std::scoped_lock lock(mutex_);
    if (const auto known = active_.find(id); known != active_.end() && known->second > now) return {};
  }
  PLIMSOLL_TAKE(found, run(id));
  if (found.deleted)
    return invalid("The run {} must be in the 'active' state. Current state is deleted.", id);
  const std::scoped_lock lock(mutex_);
  if (active_.size() >= kMostKnown) active_.clear();
  active_.insert_or_assign(id, now + kBelieved);
  return {};
}

void Api::forget(const std::string& run) {
  const std::scoped_lock lock(mutex_);
  active_.erase(run);
}

void Api::forget_all() {
  const std::scoped_lock lock(mutex_);
  active_.clear();
}

Outcome<store::Experiment> Api::experiment(std::string_view id) {
  PLIMSOLL_TAKE(number, experiment_number(id));
  Result<store::Experiment> found = store_.experiment(number);
  if (!found && found.error().kind == Error::Kind::not_found)
    return refuse(Code::resource_does_not_exist, "No Experiment with id={} exists", number);
  if (!found) return std::unexpected(fault_of(found.error()));
  return std::move(*found);
}

Outcome<std::string> Api::artifact_location(std::int64_t experiment) {
  {
    const std::scoped_lock lock(mutex_);
    if (const auto known = locations_.find(experiment); known != locations_.end()) return known->second;
  }
  PLIMSOLL_TAKE(found, store_.experiment(experiment));
  std::string location = mlflow::artifact_location(found);
  const std::scoped_lock lock(mutex_);
  return locations_.try_emplace(experiment, std::move(location)).first->second;
}

Outcome<std::int64_t> experiment_number(std::string_view id) {
  std::int64_t number = 0;
  const auto [end, problem] = std::from_chars(id.data(), id.data() + id.size(), number);
  if (id.empty() || problem != std::errc() || end != id.data() + id.size())
    return invalid("Invalid experiment ID '{}'. Experiment ID must be a valid integer.", printable(id));
  return number;
}

std::string artifact_location(const store::Experiment& experiment) {
  return experiment.artifact_location.empty() ? fmt::format("mlflow-artifacts:/{}", experiment.id)
                                              : experiment.artifact_location;
}

Outcome<store::Time> time_of(std::int64_t milliseconds, std::string_view field) {
  if (milliseconds < 0 || milliseconds > std::numeric_limits<store::Time>::max() / 1000)
    return std::unexpected(
        Fault{Code::invalid_parameter_value,
              invalid_value(field, fmt::format("{}", milliseconds),
                            "Timestamp must be a nonnegative long (64-bit integer) of milliseconds")});
  return milliseconds * 1000;
}

Outcome<store::Time> moment_of(std::int64_t milliseconds, std::string_view field) {
  // Half of what there is on either side, so that the time between two moments can be told as well.
  if (milliseconds > std::numeric_limits<store::Time>::max() / 2000 ||
      milliseconds < std::numeric_limits<store::Time>::min() / 2000)
    return std::unexpected(
        Fault{Code::invalid_parameter_value,
              invalid_value(field, fmt::format("{}", milliseconds), "Times are milliseconds since 1970")});
  return milliseconds * 1000;
}

}  // namespace plimsoll::serve::mlflow
