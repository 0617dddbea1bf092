#pragma once
#include <cstddef>
#include <span>
#include <vector>

#include "base/error.hpp"
#include "hardware/mig.hpp"

/// How a GPU can be cut into MIG instances, and how one layout becomes another.
namespace plimsoll::plan {

using Layout = std::vector<hardware::MigPlacement>;  ///< of one GPU, by start
/// How often each profile of a table is there.
using ProfileCounts = std::vector<int>;

/// Those that layouts are made of: without media engines, and with double memory where asked for.
[[nodiscard]] std::vector<std::size_t> ordinary_profiles(const hardware::MigTable& table, bool double_memory);

/// Every layout of these profiles to which none of them can be added, in the order of their placements.
[[nodiscard]] std::vector<Layout> maximal_layouts(const hardware::MigTable& table,
                                                  std::span<const std::size_t> profiles);

[[nodiscard]] ProfileCounts counts_of(const hardware::MigTable& table,
                                      std::span<const hardware::MigPlacement> layout);

/// What layouts come to without their places, each once; the largest profiles first.
[[nodiscard]] std::vector<ProfileCounts> multisets_of(const hardware::MigTable& table,
                                                      std::span<const Layout> layouts);

/// An instance that is there now.
struct RunningInstance {
  hardware::MigPlacement placement;
  bool in_use = false;
  friend bool operator==(const RunningInstance&, const RunningInstance&) = default;
};

struct ChangeRules {
  bool may_remove_in_use = false;
  bool exact = false;  ///< what is not wanted goes, even where it is in nobody's way
};

/// From one layout to another.
struct LayoutChange {
  std::vector<hardware::MigPlacement> kept, removed, created;  ///< each by start
  [[nodiscard]] Layout after() const;                          ///< kept and created, by start
  friend bool operator==(const LayoutChange&, const LayoutChange&) = default;
};

/// The fewest instances torn down so that all that is wanted is there; of those the change that makes the
/// fewest. What runs counts towards what is wanted. Fails where what runs is no layout, where it cannot be
/// had at all, and where only instances in use stand in the way.
[[nodiscard]] Result<LayoutChange> fewest_torn_down(const hardware::MigTable& table,
                                                    std::span<const RunningInstance> running,
                                                    std::span<const std::size_t> wanted,
                                                    const ChangeRules& rules = {});

}  // namespace plimsoll::plan
