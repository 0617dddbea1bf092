#include "diagnose/laps.hpp"

#include <algorithm>
#include <cmath>

#include "base/text.hpp"
#include "diagnose/series_catalogue.hpp"
#include "store/host_series.hpp"

namespace plimsoll::diagnose {
namespace {

constexpr std::string_view kEpoch = "epoch";
/// An epoch metric that counts further than this is no count of epochs.
constexpr double kMostEpochs = 1e5;

/// The end of a step or epoch.
struct End {
  double time = 0;
  std::int64_t points = 1;
  std::optional<std::int64_t> recorded = {};
  std::optional<double> value = {};
};

/// The series that a step's figures come from: of the run's own part where that is known on every GPU.
class Hardware {
 public:
  explicit Hardware(const Recording& recording) : cpu_(recording.find("system/run/cpu")) {
    const std::vector<Gpu> gpus = gpus_of(recording);
    of_run_ = !gpus.empty() && std::ranges::all_of(gpus, [&](const Gpu& gpu) {
      return recording.find(run_gpu_series(gpu, "sm_activity")) &&
             recording.find(run_gpu_series(gpu, "energy"));
    });
    for (const Gpu& gpu : gpus) {
      const auto find = [&](std::string_view of_run, std::string_view of_gpu) {
        return recording.find(of_run_ ? run_gpu_series(gpu, of_run) : gpu_series(gpu, of_gpu));
      };
      activity_.push_back(find("sm_activity", "sm_activity"));
      energy_.push_back(find("energy", "energy"));
      memory_.push_back(find("memory", "memory_used"));
    }
  }
  [[nodiscard]] bool of_run() const { return of_run_; }

  void look(Lap& lap) const {
    double activity = 0, joules = 0, covered = 0;
    bool all_active = !activity_.empty(), all_counted = !energy_.empty();
    for (std::size_t gpu = 0; gpu < activity_.size(); ++gpu) {
      const std::optional<Average> mean = mean_of(activity_[gpu], lap);
      all_active = all_active && mean;
      if (mean) activity += mean->mean, covered += mean->seconds;
      const std::optional<double> grown = energy_[gpu] ? increase(*energy_[gpu], lap.span) : std::nullopt;
      all_counted = all_counted && grown;
      joules += grown.value_or(0);
      if (const std::optional<Average> memory = mean_of(memory_[gpu], lap))
        lap.gpu_memory = std::max(lap.gpu_memory.value_or(0), memory->high);
    }
    const auto gpus = static_cast<double>(std::max<std::size_t>(activity_.size(), 1));
    if (all_active) lap.sm_activity = activity / gpus;
    if (all_counted) lap.joules = joules;
    if (const std::optional<Average> cpu = mean_of(cpu_, lap)) {
      lap.cpu = cpu->mean;
      if (activity_.empty()) covered = cpu->seconds;
    }
    const double length = lap.span.seconds();
    lap.covered = length > 0 ? std::min(1.0, covered / gpus / length) : 0;
    const Series* slowest = activity_.empty() ? cpu_ : activity_.front();
    lap.coarse = slowest && length < slowest->period;
  }

 private:
  static std::optional<Average> mean_of(const Series* series, const Lap& lap) {
    return series ? average(*series, lap.span) : std::nullopt;
  }

  std::vector<const Series*> activity_, energy_, memory_;  // by GPU; null: unknown
  const Series* cpu_;
  bool of_run_ = false;
};

Laps rows_between(const Recording& recording, std::string_view metric, double begin,
                  const std::vector<End>& ends, std::size_t most_rows) {
  const Hardware hardware(recording);
  Laps out{std::string(metric), 0, {}, hardware.of_run()};
  const std::size_t together = (ends.size() + most_rows - 1) / std::max<std::size_t>(most_rows, 1);
  double from = begin;
  for (std::size_t i = 0; i < ends.size();) {
    Lap lap;
    lap.first = out.count + 1;
    const std::size_t stop = std::min(ends.size(), i + std::max<std::size_t>(together, 1));
    for (; i < stop; ++i) out.count += ends[i].points;
    lap.last = out.count;
    lap.recorded = ends[i - 1].recorded;
    lap.value = ends[i - 1].value;
    lap.span = {from, ends[i - 1].time};
    from = lap.span.to;
    hardware.look(lap);
    out.rows.push_back(lap);
  }
  return out;
}

/// The moments at which a metric that counts in fractions passes each whole number.
std::vector<End> ends_of_fractions(const Series& series, double run_end) {
  std::vector<End> ends;
  double next = std::floor(series.samples.front().value) + 1;
  for (std::size_t i = 0; i < series.samples.size(); ++i) {
    const Sample& now = series.samples[i];
    while (now.value >= next && now.value < kMostEpochs) {
      double time = now.span.to;
      if (i > 0 && now.value > series.samples[i - 1].value) {
        const Sample& before = series.samples[i - 1];
        const double share = std::max(0.0, (next - before.value) / (now.value - before.value));
        time = before.span.to + share * (now.span.to - before.span.to);
      }
      ends.push_back({time, 1, static_cast<std::int64_t>(next), {}});
      ++next;
    }
  }
  if (series.samples.back().value > next - 1)  // the last was begun
    ends.push_back({run_end, 1, static_cast<std::int64_t>(next), {}});
  return ends;
}

/// The first sample of each value, in the order of time.
std::vector<const Sample*> changes(const Series& series) {
  std::vector<const Sample*> out;
  for (const Sample& sample : series.samples)
    if (out.empty() || sample.value != out.back()->value) out.push_back(&sample);
  return out;
}

bool marks_ends(const Series& series, const std::vector<const Sample*>& firsts, double run_end) {
  if (firsts.size() < series.samples.size()) return false;  // told throughout the epoch: the first begins it
  if (firsts.size() < 2) return firsts.front()->span.to > run_end / 2;
  const double usual =
      (firsts.back()->span.to - firsts.front()->span.to) / static_cast<double>(firsts.size() - 1);
  return run_end - firsts.back()->span.to < usual / 2 && firsts.front()->span.to > usual / 2;
}

}  // namespace

std::optional<std::string> step_metric(const Recording& recording) {
  const std::string* best = nullptr;
  bool best_is_loss = false;
  std::int64_t most = 1;
  for (const auto& [metric, series] : recording.series) {
    if (!store::is_own_metric(metric) || metric == kEpoch || series.points < 2) continue;
    const bool is_loss = lower_case(metric).contains("loss");
    if (is_loss < best_is_loss || (is_loss == best_is_loss && series.points <= most)) continue;
    best = &metric;
    best_is_loss = is_loss;
    most = series.points;
  }
  return best ? std::optional(*best) : std::nullopt;
}

Laps step_laps(const Recording& recording, const std::string& metric, std::size_t most_rows) {
  std::vector<End> ends;
  if (const Series* series = recording.find(metric))
    for (const Sample& sample : series->samples)
      ends.push_back({sample.span.to, sample.points, sample.step, sample.value});
  return rows_between(recording, metric, 0, ends, most_rows);
}

Laps epoch_laps(const Recording& recording, std::size_t most_rows) {
  const Series* series = recording.find(std::string(kEpoch));
  const auto counts = [](const Sample& s) { return s.value >= 0 && s.value < kMostEpochs; };
  if (!series || !std::ranges::all_of(series->samples, counts)) return {std::string(kEpoch)};
  const auto whole = [](const Sample& s) { return s.value == std::floor(s.value); };
  if (!std::ranges::all_of(series->samples, whole))
    return rows_between(recording, kEpoch, 0, ends_of_fractions(*series, recording.seconds), most_rows);
  const std::vector<const Sample*> firsts = changes(*series);
  const bool at_ends = marks_ends(*series, firsts, recording.seconds);
  std::vector<End> ends;
  for (std::size_t i = 0; i < firsts.size(); ++i) {
    const double next =
        i + 1 < firsts.size() ? firsts[i + 1]->span.to : std::max(recording.seconds, firsts[i]->span.to);
    ends.push_back({at_ends ? firsts[i]->span.to : next, 1, static_cast<std::int64_t>(firsts[i]->value), {}});
  }
  return rows_between(recording, kEpoch, at_ends ? 0 : firsts.front()->span.to, ends, most_rows);
}

}  // namespace plimsoll::diagnose
