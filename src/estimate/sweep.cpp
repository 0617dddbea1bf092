#include "estimate/sweep.hpp"

#include <algorithm>
#include <deque>

#include "base/at_once.hpp"
#include "program/lowering.hpp"

namespace plimsoll::estimate {
namespace {

using program::Platform;

constexpr double kMore = 1 + 1e-9;  // rounding is no reason to prefer a larger batch

/// A run that several devices share: the same program with the same library workspaces.
struct SharedRun {
  std::size_t program = 0;  ///< in the platforms that programs are lowered for
  std::int64_t library_bytes = 0;
  friend bool operator==(const SharedRun&, const SharedRun&) = default;
};

struct Place {
  Target target;
  MemoryRoom room;
  std::size_t program = 0, run = 0;
};

/// The programs of one batch, by platform. Platforms that lead to the same program have one.
struct Programs {
  std::deque<Program> kept;
  std::vector<const Program*> by_platform;
};

/// Whether platforms that differ in multiprocessors alone would have made the program, too.
bool same_with(const Program& program, Platform made_with, const Platform& asked) {
  const std::int64_t before = made_with.multiprocessors;
  made_with.multiprocessors = asked.multiprocessors;
  return made_with == asked && std::ranges::all_of(program.column_sums, [&](const program::ColumnSum& sum) {
           return program::reduction_buffer(sum.rows, sum.columns, before) ==
                  program::reduction_buffer(sum.rows, sum.columns, asked.multiprocessors);
         });
}

template <class T>
std::size_t index_in(std::vector<T>& all, T value) {
  const auto found = std::ranges::find(all, value);
  if (found != all.end()) return static_cast<std::size_t>(found - all.begin());
  all.push_back(std::move(value));
  return all.size() - 1;
}

class Sweeper {
 public:
  Sweeper(const network::Network& network, const ShapesForBatch& shapes, const network::Setting& setting,
          std::span<const Target> targets)
      : network_(network), shapes_(shapes), setting_(setting) {
    for (const Target& target : targets) {
      Place place{.target = target, .room = memory_room(network, *target.device)};
      place.program = index_in(platforms_, target.platform(setting));
      place.run = index_in(runs_, SharedRun{place.program, place.room.library_bytes});
      places_.push_back(place);
    }
  }

  /// The point of that batch for every target.
  [[nodiscard]] Result<std::vector<SweepPoint>> points(std::int64_t batch) const;

 private:
  [[nodiscard]] Result<Programs> programs(std::int64_t batch) const;
  [[nodiscard]] Result<TimeEstimate> time(const Place& place, const Programs& programs) const {
    return estimate_time(*programs.by_platform[place.program], setting_, place.target);
  }

  const network::Network& network_;
  const ShapesForBatch& shapes_;
  const network::Setting& setting_;
  std::vector<Platform> platforms_;
  std::vector<SharedRun> runs_;
  std::vector<Place> places_;
};

Result<Programs> Sweeper::programs(std::int64_t batch) const {
  const Result<network::Shapes> shapes = shapes_(batch);
  PLIMSOLL_TRY(shapes);
  Programs out;
  for (const Platform& platform : platforms_) {
    const Program* same = nullptr;
    for (std::size_t i = 0; i < out.by_platform.size() && same == nullptr; ++i)
      if (same_with(*out.by_platform[i], platforms_[i], platform)) same = out.by_platform[i];
    if (same == nullptr) {
      Result<Program> program = program::lower(network_, *shapes, setting_, platform);
      PLIMSOLL_TRY(program);
      same = &out.kept.emplace_back(*std::move(program));
    }
    out.by_platform.push_back(same);
  }
  return out;
}

Result<std::vector<SweepPoint>> Sweeper::points(std::int64_t batch) const {
  const Result<Programs> programs = this->programs(batch);
  PLIMSOLL_TRY(programs);
  struct Recorded {
    const Program* program;
    std::int64_t library_bytes;
    Allocations allocations;
    Replay natural;
  };
  std::deque<Recorded> kept;
  std::vector<const Recorded*> by_run;
  for (const SharedRun& run : runs_) {
    const Program* program = programs->by_platform[run.program];
    auto found = std::ranges::find_if(kept, [&](const Recorded& r) {
      return r.program == program && r.library_bytes == run.library_bytes;
    });
    if (found == kept.end()) {
      Allocations allocations = allocations_of(*program, setting_, run.library_bytes);
      const Replay natural =
          replay(allocations, {.options = setting_.allocator, .caching = platforms_[run.program].gpu});
      if (natural.failed) return fail("a batch of {} needs more memory than can be counted", batch);
      kept.push_back({program, run.library_bytes, std::move(allocations), natural});
      found = std::prev(kept.end());
    }
    by_run.push_back(&*found);
  }
  std::vector<SweepPoint> points;
  for (const Place& place : places_) {
    const Recorded& recorded = *by_run[place.run];
    const Replay& natural = recorded.natural;
    SweepPoint point{
        .batch = batch,
        .peak_allocated = Bytes(natural.peak_allocated),
        .device_used = Bytes(natural.peak_reserved) + place.room.context.value_or(Bytes()),
        .fits = fits(recorded.allocations, natural, place.room, setting_.allocator),
        .time = std::nullopt,
    };
    if (Result<TimeEstimate> estimated = time(place, *programs); estimated) {
      // Thousands of points, each with hundreds of layers, would fill the memory.
      estimated->layers = {};
      point.time = *std::move(estimated);
    } else {
      point.no_time = estimated.error().text();
    }
    points.push_back(std::move(point));
  }
  return points;
}

}  // namespace

std::optional<double> SweepPoint::samples_per_second() const {
  if (!time || time->seconds <= Seconds()) return std::nullopt;
  return time->samples(batch) / time->seconds.value();
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
                                       std::span<const std::int64_t> batches, const network::Setting& setting,
                                       std::span<const Target> targets, unsigned threads) {
  if (batches.empty() || targets.empty()) return std::vector<SweptDevice>(targets.size());
  const Sweeper sweeper(network, shapes, setting, targets);
  // A batch for each, the next to who is free; large batches take no longer than small ones.
  std::vector<std::optional<Result<std::vector<SweepPoint>>>> found(batches.size());
  at_once(batches.size(), threads, [&](std::size_t i) { found[i] = sweeper.points(batches[i]); });
  std::vector<SweptDevice> out(targets.size());
  for (auto& points : found) {
    PLIMSOLL_TRY(*points);
    for (std::size_t i = 0; i < out.size(); ++i) out[i].points.push_back(std::move((**points)[i]));
  }
  for (SweptDevice& swept : out) swept.no_time = swept.points.front().no_time;
  return out;
}

}  // namespace plimsoll::estimate
