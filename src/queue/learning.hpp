#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.hpp"
#include "run/session.hpp"

namespace plimsoll::queue {

/// What was learned of a command, by its fingerprint, with the GPU to itself where that matters.
struct Profile {
  std::optional<double> steps_per_second = {};                 ///< alone
  std::optional<double> steps = {};                            ///< of a whole run
  std::optional<double> seconds = {};                          ///< of a whole run, alone, from its first step
  std::optional<double> startup = {};                          ///< s before its first step
  std::optional<Bytes> peak = {};                              ///< the most GPU memory that it took
  std::optional<double> sms = {}, bandwidth = {}, watts = {};  ///< alone: means of activity, power of the GPU
  std::string run = {};                                        ///< that tells most of it
  std::string device = {};                                     ///< on which
  friend bool operator==(const Profile&, const Profile&) = default;
};
[[nodiscard]] std::string profile_text(const Profile& profile);
[[nodiscard]] std::optional<Profile> read_profile(std::string_view text);

/// Watches one attempt, and says at its end, or before, what was learned.
class Lesson {
 public:
  explicit Lesson(double started, double first_step = 0) : started_(started), counted_from_(first_step) {}
  /// What its supervisor tells, at a time of the clock that `started` is of: seconds since 1970.
  void note(const running::Progress& progress, double now);
  /// Somebody else has come to its GPU, or the last of them has gone.
  void note_company(double at, bool alone);

  /// Steps a second since `from`, where two points tell; by the points' own times.
  [[nodiscard]] std::optional<double> pace_since(double from) const;
  [[nodiscard]] std::optional<double> steps_done() const;
  [[nodiscard]] bool has_stepped() const { return last_.has_value(); }
  [[nodiscard]] std::optional<Bytes> peak() const { return peak_; }
  /// With what was known before, where this attempt tells nothing better. `finished`: it came to its end.
  [[nodiscard]] Profile learned(const Profile& before, bool finished) const;
  /// Enough was seen of it: five seconds, or fifty steps, of work.
  [[nodiscard]] bool is_learned() const;
  /// What there is to be told before its end.
  struct Extent {
    bool has_pace = false, has_activity = false;
    Bytes peak = {};
  };
  [[nodiscard]] Extent extent() const;
  /// Whether it is learned, and tells more than it did then.
  [[nodiscard]] bool has_more_than(const Extent& before) const;

 private:
  struct Point {
    double at, step;
  };
  double started_;
  double counted_from_;  ///< the step that an earlier attempt came to
  bool alone_ = true;
  std::optional<Point> first_, last_, alone_first_, alone_last_;
  std::vector<Point> recent_;  ///< the last hundred or so
  double best_alone_ = 0;      ///< s of the longest time alone
  std::optional<double> alone_rate_;
  std::optional<Bytes> peak_;
  double sms_ = 0, bandwidth_ = 0, watts_ = 0;
  int readings_ = 0, power_readings_ = 0;
};

}  // namespace plimsoll::queue
