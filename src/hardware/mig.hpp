#pragma once
#include <compare>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.hpp"
#include "hardware/device.hpp"

/// What NVIDIA's Multi-Instance GPU cuts a device into, and what of it goes together.
namespace plimsoll::hardware {

struct MigProfile {
  std::string name = {};            ///< "3g.71gb", "1g.18gb+me"
  int compute = 1, memory = 1;      ///< parts of the GPU's
  std::vector<int> starts = {};     ///< where on the axis of the memory's parts an instance may begin
  int most = 1;                     ///< at once on one GPU
  std::optional<int> sms = {};      ///< absent where nobody has told
  std::optional<Bytes> bytes = {};  ///< as a driver told them, where somebody has looked
  bool media = false;               ///< has the media engines, which a GPU has once
  bool double_memory = false;       ///< twice the memory that goes with its compute
  friend bool operator==(const MigProfile&, const MigProfile&) = default;
};

struct MigTable {
  std::string family = {};  ///< beginning of the ids of devices: "a100-40"
  int compute_parts = 7, memory_parts = 8;
  std::vector<MigProfile> profiles = {};  ///< the smallest first

  [[nodiscard]] std::optional<std::size_t> find(std::string_view name) const;
  /// The profile with so many parts of the compute, without media engines or double memory.
  [[nodiscard]] std::optional<std::size_t> of_compute(int parts) const;
};

/// An instance at its place.
struct MigPlacement {
  std::size_t profile = 0;  ///< of the table
  int start = 0;
  friend auto operator<=>(const MigPlacement&, const MigPlacement&) = default;
};

/// Every family that is known.
[[nodiscard]] std::span<const MigTable> mig_tables();
/// What this device can be cut into; null where it knows no MIG.
[[nodiscard]] const MigTable* mig_table(const Device& device);

/// Memory of an instance: the driver's word where there is one, else its part of what the device has.
[[nodiscard]] std::optional<Bytes> mig_bytes(const MigTable& table, const MigProfile& profile,
                                             const Device& device);

/// "3g.20gb@4"
[[nodiscard]] std::string text(const MigTable& table, const MigPlacement& placement);

/// Why instances cannot be on one GPU together, in words; nothing where they can: each stands where its
/// profile may start, none overlap in memory, the compute suffices, and no profile is there too often.
[[nodiscard]] std::optional<std::string> mig_conflict(const MigTable& table,
                                                      std::span<const MigPlacement> placed);

/// Places for instances of these profiles, in their order, beside those that are there; nothing where they
/// do not go together.
[[nodiscard]] std::optional<std::vector<MigPlacement>> place(const MigTable& table,
                                                             std::span<const std::size_t> profiles,
                                                             std::span<const MigPlacement> there = {});

}  // namespace plimsoll::hardware
