#include "plan/checks.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "plan/evidence.hpp"

namespace plimsoll::plan {
namespace {

using hardware::Arithmetic;
using hardware::Bound;
using hardware::Device;
using hardware::DeviceFigure;
using hardware::DeviceKind;

Check below(Aspect aspect, const std::optional<Known>& figure, double limit, std::string note = {}) {
  Check out{aspect, at_most(figure, limit), figure, limit, {}, std::move(note)};
  if (out.standing == Standing::failed) out.excess = figure->low - limit;
  if (!figure && out.note.empty()) out.note = "no source gives this figure";
  return out;
}

std::optional<Known> known_figure(const std::optional<DeviceFigure>& figure) {
  return figure ? std::optional(known(*figure)) : std::nullopt;
}

Check precision_check(const Candidate& candidate) {
  Check out{.aspect = Aspect::precision, .standing = runs(*candidate.device, candidate.arithmetic)};
  if (out.standing != Standing::failed) return out;
  std::vector<std::string_view> names;
  for (const Arithmetic a : candidate.device->board->precisions) names.push_back(name(a));
  out.note = fmt::format("runs {} only", fmt::join(names, ", "));
  return out;
}

/// A microcontroller executes from flash: its memory holds activations and the runtime alone.
Check small_memory(const Candidate& candidate, const Variant& variant, const Memory& need, double capacity) {
  for (const hardware::MemoryNeed& measured : variant.memories)
    if (measured.arithmetic == candidate.arithmetic)
      return below(Aspect::memory, known(measured.ram), capacity);
  DeviceFigure floor{static_cast<double>(need.largest_tensor.count()),
                     Provenance::assumed,
                     "floor: the largest tensor alone, which must be held whole",
                     {},
                     Bound::more_than};
  return below(Aspect::memory, known(std::move(floor)), capacity, "its runtime's need is not known");
}

Check memory_check(const Candidate& candidate, const Question& question, const Estimators& estimators) {
  const Device& device = *candidate.device;
  const auto capacity = hardware::capacity(device);
  if (!capacity) return {.aspect = Aspect::memory, .note = "the device's memory has no figure"};
  const auto limit = static_cast<double>(capacity->count());
  if (!estimators.memory) return {.aspect = Aspect::memory, .limit = limit, .note = "not estimated"};
  const Result<Memory> need =
      estimators.memory(candidate.variant, device, candidate.arithmetic, candidate.batch);
  if (!need) return {.aspect = Aspect::memory, .limit = limit, .note = need.error().text()};
  if (device.kind == DeviceKind::microcontroller)
    return small_memory(candidate, question.variants[candidate.variant], *need, limit);
  if (need->whole)
    return below(Aspect::memory,
                 known({static_cast<double>(need->whole->count()), Provenance::assumed, need->source}), limit,
                 device.kind == DeviceKind::gpu ? "" : "the operating system comes on top");
  DeviceFigure floor{static_cast<double>((need->weights + need->largest_tensor).count()),
                     Provenance::assumed,
                     "floor: weights and the largest tensor",
                     {},
                     Bound::more_than};
  return below(Aspect::memory, known(std::move(floor)), limit);
}

Check power_check(const Device& device, Watts limit) {
  const bool card_alone = !(device.board && device.board->peak_power) && device.kind == DeviceKind::gpu;
  return below(Aspect::power, peak_power(device), limit.value(),
               card_alone && device.power ? "the card's limit; its host comes on top" : "");
}

/// Any of its sides along any of the room's: longest along longest is the best that can be done.
Check size_check(const Device& device, std::array<double, 3> room) {
  std::ranges::sort(room, std::greater<>());
  Check out{.aspect = Aspect::size, .limit = room[0]};
  if (!device.board || !device.board->size) {
    out.note = "no source gives this figure";
    return out;
  }
  out.standing = Standing::met;
  for (std::size_t side = 0; side < 3; ++side) {
    const Known length = known((*device.board->size)[side]);
    const Standing standing = at_most(length, room[side]);
    if (standing == Standing::failed && length.low - room[side] > out.excess.value_or(0)) {
      out.excess = length.low - room[side];
      out.limit = room[side];
      out.figure = length;
    }
    if (standing == Standing::failed || (standing == Standing::unknown && out.standing == Standing::met))
      out.standing = standing;
    if (!out.figure) out.figure = length;
  }
  return out;
}

Check price_check(const Device& device, MoneyPerHour limit, std::span<const hardware::Offer> offers) {
  const hardware::Offer* best = nullptr;
  for (const hardware::Offer& offer : offers)
    if (offer.device == device.id && offer.per_hour && (best == nullptr || *offer.per_hour < *best->per_hour))
      best = &offer;
  if (best == nullptr)
    return {.aspect = Aspect::price, .limit = limit.value(), .note = "it is in none of the price lists"};
  DeviceFigure figure{best->per_hour->value(), Provenance::datasheet,
                      fmt::format("{}, whole machine of {}: {}", best->name, best->devices, best->source),
                      best->date};
  return below(Aspect::price, known(std::move(figure)), limit.value());
}

Check accuracy_check(const Candidate& candidate, double limit) {
  Check out{Aspect::accuracy, at_least(candidate.accuracy, limit), candidate.accuracy, limit, {}, {}};
  if (out.standing == Standing::failed) out.excess = limit - candidate.accuracy->high;
  if (!candidate.accuracy) out.note = "it was not measured in this precision; give it with --accuracy";
  return out;
}

Check updates_check(const Device& device) {
  Check out{.aspect = Aspect::updates, .note = "it is not known"};
  if (!device.board || !device.board->updates_in_place) return out;
  const hardware::Claim& claim = *device.board->updates_in_place;
  out.standing = claim.holds ? Standing::met : Standing::failed;
  out.note = claim.source;
  return out;
}

}  // namespace

Standing runs(const Device& device, Arithmetic arithmetic) {
  if (!device.board || device.board->precisions.empty())
    return device.peak_of(arithmetic) ? Standing::met : Standing::unknown;
  const auto& precisions = device.board->precisions;
  return std::ranges::find(precisions, arithmetic) != precisions.end() ? Standing::met : Standing::failed;
}

std::vector<Check> checks_of(const Candidate& candidate, const Question& question,
                             std::span<const hardware::Offer> offers, const Estimators& estimators) {
  const Device& device = *candidate.device;
  const Limits& limits = question.limits;
  const auto board = [&](std::optional<DeviceFigure> hardware::Board::* field) {
    return device.board ? known_figure((*device.board).*field) : std::nullopt;
  };
  std::vector<Check> out{precision_check(candidate), memory_check(candidate, question, estimators)};
  if (limits.latency) out.push_back(below(Aspect::latency, candidate.image, limits.latency->value()));
  if (limits.power) out.push_back(power_check(device, *limits.power));
  if (limits.mass) out.push_back(below(Aspect::mass, board(&hardware::Board::mass), *limits.mass));
  if (limits.size) out.push_back(size_check(device, *limits.size));
  if (limits.price_per_hour) out.push_back(price_check(device, *limits.price_per_hour, offers));
  if (limits.accuracy) out.push_back(accuracy_check(candidate, *limits.accuracy));
  if (limits.boot)
    out.push_back(below(Aspect::boot, board(&hardware::Board::boot_time), limits.boot->value()));
  if (limits.updates_in_place) out.push_back(updates_check(device));
  return out;
}

std::string_view name(Aspect aspect) {
  constexpr std::array<std::string_view, 10> kNames = {"precision", "memory", "latency",  "power", "mass",
                                                       "size",      "price",  "accuracy", "boot",  "updates"};
  return kNames[static_cast<std::size_t>(aspect)];
}

}  // namespace plimsoll::plan
