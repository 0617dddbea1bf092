#pragma once
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plan/schedule/instance.hpp"

namespace plimsoll::plan::schedule {

/// A job that starts now, on these places (as many as GPUs that it wants).
struct Start {
  std::size_t job = 0;
  std::vector<std::size_t> places;
};

/// What a policy sees.
struct View {
  double now = 0;
  const Instance& instance;
  std::span<const PlaceState> places;
  Rates& beliefs;  ///< what it may believe of groups
  /// Places on which something changed since the policy last had nothing to start.
  std::span<const std::size_t> changed;
  /// SM activity of a place over the last seconds, and its parts.
  struct Activity {
    double sms = 0, occupancy = 0, bandwidth = 0;
  };
  const std::function<Activity(std::size_t place)>& activity;
  double stirred = 0;  ///< s: when what computes on any place changed last
};

/// Decides which job starts where, and when. Adding one is a file of its own in policies/ and a row of its
/// table.
class Policy {
 public:
  virtual ~Policy() = default;
  /// A job has come, and all that it waits for has ended.
  virtual void arrive(const View& view, std::size_t job) = 0;
  /// The next to start now, or nothing: then it is asked again when something has changed.
  virtual std::optional<Start> next(const View& view) = 0;
  /// When it wants to be asked even where nothing changes.
  [[nodiscard]] virtual std::optional<double> look_again(double /*now*/) const { return std::nullopt; }
  /// It did not fit where it was put, and is to run alone.
  virtual void failed(const View& view, std::size_t job) = 0;

  Policy() = default;
  Policy(const Policy&) = delete;
  Policy& operator=(const Policy&) = delete;
};

/// Those that there are.
struct PolicyRow {
  std::string_view name;
  std::string_view words;
  share::Way way;    ///< in which places are shared
  bool clairvoyant;  ///< it is told what is true, not what is believed
  std::unique_ptr<Policy> (*make)(const Instance& instance);
};
[[nodiscard]] std::span<const PolicyRow> policy_rows();
[[nodiscard]] const PolicyRow* policy_named(std::string_view name);

}  // namespace plimsoll::plan::schedule
