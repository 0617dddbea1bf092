#include "estimate/sweep.hpp"

#include <algorithm>
#include <atomic>
#include <thread>

namespace plimsoll::estimate {
namespace {

constexpr double kMore = 1 + 1e-9;  // rounding is no reason to prefer a larger batch

/// A run that several devices share: the same program with the same library workspaces.
struct SharedRun {
  std::size_t program = 0;  ///< in the options that programs are lowered with
  std::int64_t library_bytes = 0;
  friend bool operator==(const SharedRun&, const SharedRun&) = default;
};

struct Place {
  SweepTarget target;
  MemoryRoom room;
  std::size_t program = 0, run = 0;
};

template <class T>
std::size_t index_in(std::vector<T>& all, T value) {
  const auto found = std::ranges::find(all, value);
  if (found != all.end()) return static_cast<std::size_t>(found - all.begin());
  all.push_back(std::move(value));
  return all.size() - 1;
}

class Sweeper {
 public:
  Sweeper(const network::Network& network, const ShapesForBatch& shapes, const MemorySetting& setting,
          std::span<const SweepTarget> targets)
      : network_(network), shapes_(shapes), setting_(setting) {
    for (const SweepTarget& target : targets) {
      MemorySetting own = setting;
      own.curves = target.curves;
      Place place{.target = target, .room = memory_room(network, *target.device)};
      place.program = index_in(programs_, lowering_options(own, *target.device));
      place.run = index_in(runs_, SharedRun{place.program, place.room.library_bytes});
      places_.push_back(std::move(place));
    }
  }

  /// The point of that batch for every target.
  [[nodiscard]] Result<std::vector<SweepPoint>> points(std::int64_t batch) const;
  /// Why a target has no time; empty where it has one.
  [[nodiscard]] Result<std::vector<std::string>> without_time(std::int64_t batch) const;

 private:
  [[nodiscard]] Result<std::vector<Program>> programs(std::int64_t batch) const;
  [[nodiscard]] Result<TimeEstimate> time(const Place& place, std::span<const Program> programs) const {
    const TimeSetting asked{.lowering = programs_[place.program], .optimizer = setting_.optimizer};
    return estimate_time(programs[place.program], asked, *place.target.device, place.target.curves);
  }

  const network::Network& network_;
  const ShapesForBatch& shapes_;
  const MemorySetting& setting_;
  std::vector<LoweringOptions> programs_;
  std::vector<SharedRun> runs_;
  std::vector<Place> places_;
};

Result<std::vector<Program>> Sweeper::programs(std::int64_t batch) const {
  const Result<network::Shapes> shapes = shapes_(batch);
  PLIMSOLL_TRY(shapes);
  std::vector<Program> out;
  for (const LoweringOptions& options : programs_) {
    Result<Program> program = lower(network_, *shapes, options);
    PLIMSOLL_TRY(program);
    out.push_back(*std::move(program));
  }
  return out;
}

Result<std::vector<SweepPoint>> Sweeper::points(std::int64_t batch) const {
  const Result<std::vector<Program>> programs = this->programs(batch);
  PLIMSOLL_TRY(programs);
  struct Recorded {
    Recording recording;
    Replay natural;
  };
  std::vector<Recorded> recorded;
  for (const SharedRun& run : runs_) {
    Recording recording = record_run((*programs)[run.program], setting_, run.library_bytes);
    AllocatorSettings allocator = setting_.allocator;
    allocator.caching = programs_[run.program].gpu;
    const Replay natural = replay(recording, allocator);
    if (natural.failed) return fail("a batch of {} needs more memory than can be counted", batch);
    recorded.push_back({std::move(recording), natural});
  }
  std::vector<SweepPoint> points;
  for (const Place& place : places_) {
    const auto& [recording, natural] = recorded[place.run];
    SweepPoint point{
        .batch = batch,
        .peak_allocated = Bytes(natural.peak_allocated),
        .device_used = Bytes(natural.peak_reserved) + place.room.context.value_or(Bytes()),
        .fits = fits(recording, natural, place.room, setting_.allocator),
        .time = std::nullopt,
    };
    if (Result<TimeEstimate> estimated = time(place, *programs); estimated) {
      // Thousands of points, each with hundreds of layers, would fill the memory.
      estimated->layers = {};
      point.time = *std::move(estimated);
    }
    points.push_back(std::move(point));
  }
  return points;
}

Result<std::vector<std::string>> Sweeper::without_time(std::int64_t batch) const {
  const Result<std::vector<Program>> programs = this->programs(batch);
  PLIMSOLL_TRY(programs);
  std::vector<std::string> out;
  for (const Place& place : places_) {
    const Result<TimeEstimate> estimated = time(place, *programs);
    out.push_back(estimated ? std::string() : estimated.error().text());
  }
  return out;
}

}  // namespace

std::optional<double> SweepPoint::samples_per_second() const {
  if (!time || time->seconds <= Seconds()) return std::nullopt;
  return static_cast<double>(batch) / time->seconds.value();
}

const SweepPoint* SweptDevice::best() const {
  const SweepPoint* best = nullptr;
  for (const SweepPoint& point : points)
    if (point.fits.value_or(true) && point.samples_per_second() &&
        (best == nullptr || *point.samples_per_second() > kMore * *best->samples_per_second()))
      best = &point;
  return best;
}

const SweepPoint* SweptDevice::knee() const {
  const SweepPoint* most = best();
  if (most == nullptr) return nullptr;
  for (const SweepPoint& point : points)
    if (point.fits.value_or(true) &&
        point.samples_per_second().value_or(0) >= kKneeShare * *most->samples_per_second())
      return &point;
  return most;
}

const SweepPoint* SweptDevice::first_too_large() const {
  const auto found = std::ranges::find(points, std::optional(false), &SweepPoint::fits);
  return found == points.end() ? nullptr : &*found;
}

const SweepPoint* SweptDevice::last_that_fits() const {
  const auto end = std::ranges::find_if(points, [](const SweepPoint& p) { return !p.fits.value_or(false); });
  return end == points.begin() ? nullptr : &*std::prev(end);
}

Result<std::vector<SweptDevice>> sweep(const network::Network& network, const ShapesForBatch& shapes,
                                       std::span<const std::int64_t> batches, const MemorySetting& setting,
                                       std::span<const SweepTarget> targets, unsigned threads) {
  if (batches.empty() || targets.empty()) return std::vector<SweptDevice>(targets.size());
  const Sweeper sweeper(network, shapes, setting, targets);
  // A batch for each, the next to who is free; large batches take no longer than small ones.
  std::vector<std::optional<Result<std::vector<SweepPoint>>>> found(batches.size());
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t i = next++; i < batches.size(); i = next++) found[i] = sweeper.points(batches[i]);
  };
  {
    std::vector<std::jthread> others;
    for (unsigned i = 1; i < threads && i < batches.size(); ++i) others.emplace_back(work);
    work();
  }
  std::vector<SweptDevice> out(targets.size());
  for (auto& points : found) {
    PLIMSOLL_TRY(*points);
    for (std::size_t i = 0; i < out.size(); ++i) out[i].points.push_back(std::move((**points)[i]));
  }
  const Result<std::vector<std::string>> why = sweeper.without_time(batches.front());
  PLIMSOLL_TRY(why);
  for (std::size_t i = 0; i < out.size(); ++i) out[i].no_time = (*why)[i];
  return out;
}

}  // namespace plimsoll::estimate
