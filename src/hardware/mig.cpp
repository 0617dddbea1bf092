#include "hardware/mig.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace plimsoll::hardware {
namespace {

// From the placement table of NVIDIA's documentation.
struct MigShape {
  int compute, memory;
  std::array<int, 7> starts;  ///< as many as `places`
  int places;
  int most;
  bool media, double_memory;
};
constexpr std::array kSevenths = {
    MigShape{1, 1, {0, 1, 2, 3, 4, 5, 6}, 7, 7, false, false},
    MigShape{1, 1, {0, 1, 2, 3, 4, 5, 6}, 7, 1, true, false},
    MigShape{1, 2, {0, 2, 4, 6}, 4, 4, false, true},
    MigShape{2, 2, {0, 2, 4}, 3, 3, false, false},
    MigShape{3, 4, {0, 4}, 2, 2, false, false},
    MigShape{4, 4, {0}, 1, 1, false, false},
    MigShape{7, 8, {0}, 1, 1, false, false},
};
constexpr std::array kQuarters = {
    MigShape{1, 1, {0, 1, 2, 3}, 4, 4, false, false}, MigShape{1, 1, {0, 1, 2, 3}, 4, 1, true, false},
    MigShape{2, 2, {0, 2}, 2, 2, false, false},       MigShape{2, 2, {0, 2}, 2, 1, true, false},
    MigShape{4, 4, {0}, 1, 1, false, false},
};

// Gigabytes in the names of profiles; SMs and MiB as drivers tell them, 0 where nobody has looked.
struct MigFigures {
  int gigabytes, sms, mebibytes;
};
struct MigFamily {
  std::string_view prefix;
  std::span<const MigShape> shapes;
  std::array<MigFigures, 7> figures;  ///< in the order of the shapes
};
constexpr std::array kFamilies = {
    MigFamily{"a100-40",
              kSevenths,
              {{{5, 14, 0}, {5, 14, 0}, {10, 14, 0}, {10, 28, 0}, {20, 42, 0}, {20, 56, 0}, {40, 98, 0}}}},
    MigFamily{"a100-80",
              kSevenths,
              {{{10, 14, 0}, {10, 14, 0}, {20, 14, 0}, {20, 28, 0}, {40, 42, 0}, {40, 56, 0}, {80, 98, 0}}}},
    MigFamily{"a30", kQuarters, {{{6, 14, 0}, {6, 14, 0}, {12, 28, 0}, {12, 28, 0}, {24, 56, 0}}}},
    MigFamily{"h100",
              kSevenths,
              {{{10, 16, 0}, {10, 16, 0}, {20, 26, 0}, {20, 32, 0}, {40, 60, 0}, {40, 64, 0}, {80, 132, 0}}}},
    MigFamily{"h200",
              kSevenths,
              {{{18, 16, 16384},
                {18, 16, 16384},
                {35, 26, 33280},
                {35, 32, 33280},
                {71, 60, 71424},
                {71, 64, 71424},
                {141, 132, 143360}}}},
    MigFamily{"b200",
              kSevenths,
              {{{23, 0, 0}, {23, 0, 0}, {45, 0, 0}, {45, 0, 0}, {90, 0, 0}, {90, 0, 0}, {180, 0, 0}}}},
};

MigTable table_of(const MigFamily& family) {
  const MigShape& whole = family.shapes.back();
  MigTable table{.family = std::string(family.prefix),
                 .compute_parts = whole.compute,
                 .memory_parts = whole.memory,
                 .profiles = {}};
  for (std::size_t i = 0; i < family.shapes.size(); ++i) {
    const MigShape& shape = family.shapes[i];
    const MigFigures& figures = family.figures[i];
    table.profiles.push_back(
        {.name = fmt::format("{}g.{}gb{}", shape.compute, figures.gigabytes, shape.media ? "+me" : ""),
         .compute = shape.compute,
         .memory = shape.memory,
         .starts = {shape.starts.begin(), shape.starts.begin() + shape.places},
         .most = shape.most,
         .sms = figures.sms > 0 ? std::optional(figures.sms) : std::nullopt,
         .bytes = figures.mebibytes > 0 ? std::optional(Bytes(std::int64_t{figures.mebibytes} << 20))
                                        : std::nullopt,
         .media = shape.media,
         .double_memory = shape.double_memory});
  }
  return table;
}

/// A bit for each part of the memory.
std::uint32_t parts_of(const MigProfile& profile, int start) {
  return ((std::uint32_t{1} << profile.memory) - 1) << start;
}

/// What a GPU still has.
struct MigRoom {
  std::uint32_t taken = 0;
  int compute = 0;
  int media = 0;
  std::vector<int> often;  ///< per profile
};

bool allows(const MigRoom& room, const MigTable& table, std::size_t at) {
  const MigProfile& profile = table.profiles[at];
  return room.compute + profile.compute <= table.compute_parts && room.often[at] < profile.most &&
         !(profile.media && room.media > 0);
}

void add(MigRoom& room, const MigTable& table, const MigPlacement& placement, int sign = 1) {
  const MigProfile& profile = table.profiles[placement.profile];
  room.taken ^= parts_of(profile, placement.start);
  room.compute += sign * profile.compute;
  room.media += profile.media ? sign : 0;
  room.often[placement.profile] += sign;
}

/// Finds places for profiles[at] and those after it.
bool place_rest(const MigTable& table, std::span<const std::size_t> profiles, MigRoom& room,
                std::vector<MigPlacement>& out) {
  const std::size_t at = out.size();
  if (at == profiles.size()) return true;
  if (!allows(room, table, profiles[at])) return false;
  const MigProfile& profile = table.profiles[profiles[at]];
  // Of two alike, the first stands first.
  const int first = at > 0 && profiles[at - 1] == profiles[at] ? out.back().start + 1 : 0;
  for (const int start : profile.starts) {
    if (start < first || (room.taken & parts_of(profile, start)) != 0) continue;
    out.push_back({profiles[at], start});
    add(room, table, out.back());
    if (place_rest(table, profiles, room, out)) return true;
    add(room, table, out.back(), -1);
    out.pop_back();
  }
  return false;
}

}  // namespace

std::optional<std::size_t> MigTable::find(std::string_view name) const {
  const auto found = std::ranges::find(profiles, name, &MigProfile::name);
  if (found == profiles.end()) return std::nullopt;
  return static_cast<std::size_t>(found - profiles.begin());
}

std::optional<std::size_t> MigTable::of_compute(int parts) const {
  const auto found = std::ranges::find_if(
      profiles, [&](const MigProfile& p) { return p.compute == parts && !p.media && !p.double_memory; });
  if (found == profiles.end()) return std::nullopt;
  return static_cast<std::size_t>(found - profiles.begin());
}

std::span<const MigTable> mig_tables() {
  // A static because the tables are part of the program: there is one answer, and it never changes.
  static const std::vector<MigTable> tables = [] {
    std::vector<MigTable> all;
    for (const MigFamily& family : kFamilies) all.push_back(table_of(family));
    return all;
  }();
  return tables;
}

const MigTable* mig_table(const Device& device) {
  for (const MigTable& table : mig_tables()) {
    if (!device.id.starts_with(table.family)) continue;
    if (device.id.size() == table.family.size() || device.id[table.family.size()] == '-') return &table;
  }
  return nullptr;
}

std::optional<Bytes> mig_bytes(const MigTable& table, const MigProfile& profile, const Device& device) {
  if (profile.bytes) return profile.bytes;
  const std::optional<Bytes> all = capacity(device);
  if (!all) return std::nullopt;
  return Bytes::rounded(static_cast<double>(all->count()) * profile.memory / table.memory_parts);
}

std::string text(const MigTable& table, const MigPlacement& placement) {
  return fmt::format("{}@{}", table.profiles[placement.profile].name, placement.start);
}

std::optional<std::string> mig_conflict(const MigTable& table, std::span<const MigPlacement> placed) {
  MigRoom room{.often = std::vector<int>(table.profiles.size())};
  for (std::size_t i = 0; i < placed.size(); ++i) {
    const MigProfile& profile = table.profiles[placed[i].profile];
    if (std::ranges::find(profile.starts, placed[i].start) == profile.starts.end())
      return fmt::format("{} starts at {} only", profile.name, fmt::join(profile.starts, ", "));
    for (std::size_t j = 0; j < i; ++j)
      if ((parts_of(table.profiles[placed[j].profile], placed[j].start) &
           parts_of(profile, placed[i].start)) != 0)
        return fmt::format("{} and {} overlap", text(table, placed[j]), text(table, placed[i]));
    if (room.compute + profile.compute > table.compute_parts)
      return fmt::format("together they have more than the {} parts of the compute", table.compute_parts);
    if (!allows(room, table, placed[i].profile))
      return fmt::format("{} is there more often than {}", profile.name,
                         profile.media ? std::string("once, and the media engines are one instance's")
                                       : fmt::format("{} times", profile.most));
    add(room, table, placed[i]);
  }
  return std::nullopt;
}

std::optional<std::vector<MigPlacement>> place(const MigTable& table, std::span<const std::size_t> profiles,
                                               std::span<const MigPlacement> there) {
  if (profiles.size() + there.size() > static_cast<std::size_t>(table.compute_parts)) return std::nullopt;
  MigRoom room{.often = std::vector<int>(table.profiles.size())};
  for (const MigPlacement& placement : there) add(room, table, placement);
  std::vector<MigPlacement> out;
  if (!place_rest(table, profiles, room, out)) return std::nullopt;
  return out;
}

}  // namespace plimsoll::hardware
