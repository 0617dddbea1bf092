#include "queue/learning.hpp"

#include <algorithm>

#include "job/fields.hpp"

namespace plimsoll::queue {
namespace {

constexpr std::size_t kMostPoints = 200;
constexpr double kEnoughSeconds = 5, kEnoughSteps = 50;
constexpr double kLeastAlone = 1;  // s, before they tell a pace

}  // namespace

std::string profile_text(const Profile& profile) {
  job::Json out{{"version", 1}};
  const auto put = [&](const char* key, const std::optional<double>& value) {
    if (value) out[key] = *value;
  };
  put("steps_per_second", profile.steps_per_second);
  put("steps", profile.steps);
  put("seconds", profile.seconds);
  put("startup_seconds", profile.startup);
  if (profile.peak) out["peak_bytes"] = profile.peak->count();
  put("sm_activity", profile.sms);
  put("dram_activity", profile.bandwidth);
  put("watts", profile.watts);
  if (!profile.run.empty()) out["run"] = profile.run;
  if (!profile.device.empty()) out["device"] = profile.device;
  return job::dump(out);
}

std::optional<Profile> read_profile(std::string_view text) {
  const auto document = job::parse_within(text, std::size_t{1} << 20, 4);
  if (!document || !document->is_object()) return std::nullopt;
  std::optional<Error> error;
  const job::Fields fields(*document, "profile", error);
  Profile out;
  out.steps_per_second = fields.not_negative_if_any("steps_per_second");
  out.steps = fields.not_negative_if_any("steps");
  out.seconds = fields.not_negative_if_any("seconds");
  out.startup = fields.not_negative_if_any("startup_seconds");
  if (fields.has("peak_bytes")) out.peak = Bytes(fields.whole("peak_bytes"));
  out.sms = fields.not_negative_if_any("sm_activity");
  out.bandwidth = fields.not_negative_if_any("dram_activity");
  out.watts = fields.not_negative_if_any("watts");
  out.run = fields.text_if_any("run").value_or("");
  out.device = fields.text_if_any("device").value_or("");
  if (error) return std::nullopt;
  return out;
}

void Lesson::note(const running::Progress& progress, double now) {
  if (progress.gpu_bytes) peak_ = std::max(peak_.value_or(Bytes()), *progress.gpu_bytes);
  if (alone_ && first_) {
    if (progress.gpu_sm_activity) {
      sms_ += *progress.gpu_sm_activity;
      bandwidth_ += progress.gpu_dram_activity.value_or(0);
      ++readings_;
    }
    if (progress.gpu_watts) {
      watts_ += *progress.gpu_watts;
      ++power_readings_;
    }
  }
  const auto step = progress.step ? std::optional(static_cast<double>(*progress.step)) : std::nullopt;
  if (!step || (last_ && *step <= last_->step)) return;
  const Point point{progress.at.value_or(now), *step};
  if (!first_) first_ = point;
  last_ = point;
  recent_.push_back(point);
  if (recent_.size() > kMostPoints) recent_.erase(recent_.begin());
  if (!alone_) return;
  if (!alone_first_) alone_first_ = point;
  alone_last_ = point;
  const double span = alone_last_->at - alone_first_->at;
  if (span <= best_alone_) return;
  best_alone_ = span;
  alone_rate_ = (alone_last_->step - alone_first_->step) / span;
}

void Lesson::note_company(double, bool alone) {
  if (alone == alone_) return;
  alone_ = alone;
  alone_first_.reset();
  alone_last_.reset();
}

std::optional<double> Lesson::pace_since(double from) const {
  const auto first = std::ranges::find_if(recent_, [&](const Point& point) { return point.at >= from; });
  if (first == recent_.end() || recent_.end() - first < 2) return std::nullopt;
  const double span = recent_.back().at - first->at;
  if (span <= 0) return std::nullopt;
  return (recent_.back().step - first->step) / span;
}

std::optional<double> Lesson::steps_done() const {
  return last_ ? std::optional(last_->step) : std::nullopt;
}

bool Lesson::is_learned() const {
  if (!first_ || !last_) return false;
  if (last_->at - first_->at >= kEnoughSeconds) return true;
  // What the GPU does comes twice a second. That, and its pace, is not learned later, with others beside.
  return last_->step - counted_from_ >= kEnoughSteps && readings_ > 0 && best_alone_ >= kLeastAlone;
}

Lesson::Extent Lesson::extent() const {
  return {.has_pace = alone_rate_ && best_alone_ >= kLeastAlone,
          .has_activity = readings_ > 0,
          .peak = peak_.value_or(Bytes())};
}

bool Lesson::has_more_than(const Extent& before) const {
  const Extent now = extent();
  return is_learned() && ((now.has_pace && !before.has_pace) || (now.has_activity && !before.has_activity) ||
                          now.peak > before.peak);
}

Profile Lesson::learned(const Profile& before, bool finished) const {
  Profile out = before;
  if (peak_) out.peak = std::max(before.peak.value_or(Bytes()), *peak_);
  if (alone_rate_ && *alone_rate_ > 0 && best_alone_ >= kLeastAlone) {
    out.steps_per_second = alone_rate_;
    if (readings_ > 0) {
      out.sms = sms_ / readings_;
      out.bandwidth = bandwidth_ / readings_;
    }
    if (power_readings_ > 0) out.watts = watts_ / power_readings_;
  }
  const auto rate = out.steps_per_second;
  if (first_ && rate) {
    // The first point is of a step that took its time, too.
    const double took = first_->at - started_ - (first_->step - counted_from_) / *rate;
    if (took > 0 && took < 3600) out.startup = took;
  }
  if (finished && last_) {
    out.steps = last_->step;
    if (rate) out.seconds = last_->step / *rate;
  }
  return out;
}

}  // namespace plimsoll::queue
