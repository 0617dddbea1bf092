#include "run/admission.hpp"

#include <algorithm>

#include "base/text.hpp"

namespace plimsoll::running {
namespace {

/// Where memory is counted: a GPU, or the slices that share one GPU instance.
struct Place {
  const Gpu* gpu = nullptr;
  const MigSlice* slice = nullptr;  // null: the whole GPU

  [[nodiscard]] const std::optional<nvml::Memory>& memory() const {
    return slice != nullptr ? slice->memory : gpu->memory;
  }
  [[nodiscard]] bool shares_with(const Place& other) const {
    if (gpu != other.gpu) return false;
    if (slice == nullptr || other.slice == nullptr) return slice == other.slice;
    return slice->gpu_instance == other.slice->gpu_instance;
  }
  [[nodiscard]] std::string text() const {
    if (slice == nullptr) return fmt::format("GPU {}", gpu->number);
    return fmt::format("MIG slice {}:{}{}", slice->parent, slice->number,
                       slice->profile.empty() ? "" : fmt::format(" ({})", slice->profile));
  }
};

std::optional<Place> find_place(const Host& host, std::string_view uuid) {
  for (const Gpu& gpu : host.gpus) {
    if (gpu.uuid == uuid) {
      if (!gpu.mig) return Place{&gpu};
      return gpu.slices.empty() ? std::nullopt : std::optional(Place{&gpu, &gpu.slices.front()});
    }
    for (const MigSlice& slice : gpu.slices)
      if (slice.uuid == uuid) return Place{&gpu, &slice};
  }
  return std::nullopt;
}

/// What a run's processes hold in the place's memory; nothing where nobody can tell.
std::optional<Bytes> used_by(std::string_view run, const Place& place, const Host& host) {
  if (!host.pids_are_known) return std::nullopt;
  Bytes used;
  bool known = true;
  const auto add = [&](const std::vector<Occupant>& occupants) {
    for (const Occupant& occupant : occupants) {
      if (occupant.run != run) continue;
      known = known && occupant.used.has_value();
      used += occupant.used.value_or(Bytes());
    }
  };
  if (place.slice == nullptr) {
    add(place.gpu->occupants);
  } else {
    for (const MigSlice& slice : place.gpu->slices)
      if (slice.gpu_instance == place.slice->gpu_instance) add(slice.occupants);
  }
  return known ? std::optional(used) : std::nullopt;
}

}  // namespace

std::optional<Room> room_on(const ChosenDevice& device, const Host& host, std::span<const Promise> promises) {
  const std::optional<Place> place = find_place(host, device.uuid);
  if (!place || !place->memory()) return std::nullopt;
  const nvml::Memory& memory = *place->memory();
  Room room{.free = memory.free,
            .total = memory.total - memory.reserved.value_or(Bytes()),
            .device = place->text()};
  for (const Promise& promise : promises) {
    const bool here = std::ranges::any_of(promise.devices, [&](const std::string& uuid) {
      const auto other = find_place(host, uuid);
      return other && place->shares_with(*other);
    });
    if (!here) continue;
    const std::optional<Bytes> used = used_by(promise.run, *place, host);
    room.use_is_known = room.use_is_known && used;
    room.promised += std::max(Bytes(), promise.need - used.value_or(Bytes()));
  }
  return room;
}

Admission admit(const std::optional<Need>& need, const std::optional<Room>& room) {
  using enum Admission::Answer;
  if (!need || !room) return {};
  const std::string needs = fmt::format("needs {} ({})", text(need->bytes), need->source);
  const std::string on = room->device.empty() ? "" : " on " + room->device;
  if (need->bytes > room->total)
    return {never, fmt::format("{}, and {}{} is all there is", needs, text(room->total), on)};
  const Bytes left = std::max(Bytes(), room->free - room->promised);
  if (need->bytes <= left) return {};
  std::string why = fmt::format("{}, and {} of {}{} are free", needs, text(left), text(room->total), on);
  if (room->promised > Bytes())
    why += fmt::format(", with {} promised to others{}", text(room->promised),
                       room->use_is_known ? "" : ", of whom nobody here can tell what they have taken");
  return {wait, std::move(why)};
}

Admission admit(const std::optional<Need>& need, std::span<const ChosenDevice> devices, const Host& host,
                std::span<const Promise> promises) {
  Admission strictest;
  for (const ChosenDevice& device : devices) {
    Admission one = admit(need, room_on(device, host, promises));
    if (one.answer > strictest.answer) strictest = std::move(one);
  }
  return strictest;
}

}  // namespace plimsoll::running
