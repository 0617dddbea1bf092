#include "plan/choose.hpp"

#include <algorithm>
#include <numeric>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "plan/checks.hpp"
#include "plan/evidence.hpp"
#include "plan/front.hpp"

namespace plimsoll::plan {
namespace {

using hardware::Arithmetic;
using hardware::Device;

/// Those to try on a device: what was asked for, else what its runtime runs, else what it has peak rates for.
std::vector<Arithmetic> arithmetics_for(const Device& device, const std::vector<Arithmetic>& asked) {
  if (!asked.empty()) return asked;
  if (device.board && !device.board->precisions.empty()) return device.board->precisions;
  std::vector<Arithmetic> out;
  for (const Arithmetic a : {Arithmetic::fp32, Arithmetic::fp16})
    if (device.peak_of(a)) out.push_back(a);
  if (out.empty()) out.push_back(Arithmetic::fp32);
  return out;
}

std::optional<Known> accuracy_of(const Variant& variant, Arithmetic arithmetic) {
  for (const hardware::Accuracy& accuracy : variant.accuracies)
    if (accuracy.arithmetic == arithmetic) {
      hardware::DeviceFigure figure = accuracy.share;
      if (!accuracy.data.empty()) figure.source += ", on " + accuracy.data;
      if (accuracy.low && accuracy.high) return known(std::move(figure), *accuracy.low, *accuracy.high);
      return known(std::move(figure));
    }
  return std::nullopt;
}

/// The first time that decides the limit; where none does, the first of all.
const ImageTime* telling(const std::vector<ImageTime>& times, const std::optional<Seconds>& limit) {
  if (times.empty()) return nullptr;
  if (limit)
    for (const ImageTime& time : times)
      if (at_most(time.image, limit->value()) != Standing::unknown) return &time;
  return &times.front();
}

void add_time(Candidate& candidate, const std::vector<ImageTime>& times, const Limits& limits) {
  const ImageTime* time = telling(times, limits.latency);
  if (time == nullptr) return;
  candidate.pass = time->pass;
  candidate.image = time->image;
  candidate.batch = time->batch;
  candidate.energy = time->energy;
  if (!candidate.energy) candidate.energy = energy_ceiling(*candidate.device, time->image);
}

auto rank(const Candidate& c) {
  constexpr double worst = 1e300;
  const double time = c.image ? c.image->high : worst;
  // Where something fails anyway, the form that comes nearest is shown, not the most accurate one.
  const bool fails = c.count(Standing::failed) > 0;
  return std::tuple(c.count(Standing::failed), c.count(Standing::unknown), fails ? time : 0,
                    c.accuracy ? -c.accuracy->figure.value : 0, c.energy ? c.energy->high : worst, time);
}

}  // namespace

std::size_t Candidate::count(Standing standing) const {
  return static_cast<std::size_t>(std::ranges::count(checks, standing, &Check::standing));
}

Choice choose(const Question& question, std::span<const Device* const> devices,
              std::span<const Device> catalogue, std::span<const hardware::Offer> offers,
              const Estimators& estimators) {
  Choice choice;
  for (const Device* device : devices)
    for (std::size_t variant = 0; variant < question.variants.size(); ++variant)
      for (const Arithmetic arithmetic : arithmetics_for(*device, question.arithmetics)) {
        Candidate candidate{.device = device, .variant = variant, .arithmetic = arithmetic};
        candidate.batch = batch_for(*device, question.patches);
        candidate.accuracy = accuracy_of(question.variants[variant], arithmetic);
        if (runs(*device, arithmetic) != Standing::failed)
          add_time(candidate, image_times(question, variant, *device, arithmetic, catalogue, estimators),
                   question.limits);
        candidate.checks = checks_of(candidate, question, offers, estimators);
        choice.candidates.push_back(std::move(candidate));
      }
  mark_front(choice.candidates);
  choice.ranked.resize(choice.candidates.size());
  std::iota(choice.ranked.begin(), choice.ranked.end(), std::size_t{0});
  std::ranges::stable_sort(choice.ranked, {}, [&](std::size_t i) { return rank(choice.candidates[i]); });
  if (!choice.ranked.empty() && choice.candidates[choice.ranked.front()].count(Standing::failed) == 0)
    choice.recommended = choice.ranked.front();
  choice.reason = reason_of(choice, question);
  return choice;
}

std::optional<Aspect> ruled_out_by(const Candidate& candidate) {
  constexpr Aspect kOfTheDevice[] = {Aspect::power, Aspect::mass, Aspect::size,
                                     Aspect::price, Aspect::boot, Aspect::updates};
  for (const Aspect aspect : kOfTheDevice)
    for (const Check& check : candidate.checks)
      if (check.aspect == aspect && check.standing == Standing::failed) return aspect;
  return std::nullopt;
}

std::vector<std::size_t> best_of_each_device(const Choice& choice) {
  std::vector<std::size_t> out;
  std::set<const Device*> seen;
  for (const std::size_t i : choice.ranked)
    if (seen.insert(choice.candidates[i].device).second) out.push_back(i);
  return out;
}

}  // namespace plimsoll::plan
