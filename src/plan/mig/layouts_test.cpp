#include "plan/mig/layouts.hpp"

#include <algorithm>
#include <functional>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plan/mig/test_placement_rules.hpp"

namespace plimsoll::plan {
namespace {

using hardware::MigPlacement;
using hardware::MigTable;
using testing::ElementsAre;
using testing::HasSubstr;

struct Enumerated {
  std::size_t placed, multisets;
  friend bool operator==(const Enumerated&, const Enumerated&) = default;
};

Enumerated enumerated(std::string_view family, bool double_memory) {
  const MigTable& table = mig_family(family);
  const auto layouts = maximal_layouts(table, ordinary_profiles(table, double_memory));
  return {layouts.size(), multisets_of(table, layouts).size()};
}

TEST(MaximalLayouts, AreAsManyAsNvidiasTableAllows) {
  for (const char* family : {"a100-40", "a100-80", "h100", "h200", "b200"}) {
    EXPECT_EQ(enumerated(family, false), (Enumerated{19, 14})) << family;
    EXPECT_EQ(enumerated(family, true), (Enumerated{78, 38})) << family;
  }
  EXPECT_EQ(enumerated("a30", false), (Enumerated{5, 4}));
}

TEST(MaximalLayouts, AreValidMaximalAndEachThereOnce) {
  for (const MigTable& table : hardware::mig_tables()) {
    std::vector<std::size_t> all(table.profiles.size());
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
    for (const auto& profiles : {ordinary_profiles(table, false), ordinary_profiles(table, true), all}) {
      const auto layouts = maximal_layouts(table, profiles);
      EXPECT_EQ(std::set(layouts.begin(), layouts.end()).size(), layouts.size());
      for (const Layout& layout : layouts) {
        EXPECT_TRUE(stands_by_nvidias_table(table, layout));
        EXPECT_TRUE(std::ranges::is_sorted(layout, {}, &MigPlacement::start));
        for (const std::size_t profile : profiles)
          for (int start = 0; start < 8; ++start) {
            Layout more = layout;
            more.push_back({profile, start});
            EXPECT_FALSE(stands_by_nvidias_table(table, more));
          }
      }
    }
  }
}

/// "3g.20gb@4*": in use.
std::vector<RunningInstance> running(const MigTable& table, const std::vector<std::string>& words) {
  std::vector<RunningInstance> out;
  for (const std::string& word : words) {
    const auto at = word.find('@');
    out.push_back({{table.find(word.substr(0, at)).value(), word.at(at + 1) - '0'}, word.ends_with('*')});
  }
  return out;
}

std::vector<std::size_t> profiles(const MigTable& table, const std::vector<std::string>& names) {
  std::vector<std::size_t> out;
  for (const std::string& name : names) out.push_back(table.find(name).value());
  return out;
}

std::vector<std::string> words(const MigTable& table, const std::vector<MigPlacement>& placed) {
  std::vector<std::string> out;
  for (const MigPlacement& placement : placed) out.push_back(hardware::text(table, placement));
  return out;
}

TEST(FewestTornDown, KeepsWhatIsNotInTheWay) {
  const MigTable& table = mig_family("a100-40");
  const auto change = fewest_torn_down(table, running(table, {"3g.20gb@4", "1g.5gb@0"}),
                                       profiles(table, {"2g.10gb", "2g.10gb"}));
  ASSERT_TRUE(change);
  EXPECT_THAT(words(table, change->removed), ElementsAre("1g.5gb@0"));
  EXPECT_THAT(words(table, change->created), ElementsAre("2g.10gb@0", "2g.10gb@2"));
  EXPECT_THAT(words(table, change->after()), ElementsAre("2g.10gb@0", "2g.10gb@2", "3g.20gb@4"));
}

TEST(FewestTornDown, ExactlyMeansNothingElse) {
  const MigTable& table = mig_family("a100-40");
  const auto change = fewest_torn_down(table, running(table, {"3g.20gb@4", "2g.10gb@0"}),
                                       profiles(table, {"2g.10gb", "2g.10gb"}), {.exact = true});
  ASSERT_TRUE(change);
  EXPECT_THAT(words(table, change->kept), ElementsAre("2g.10gb@0"));
  EXPECT_THAT(words(table, change->removed), ElementsAre("3g.20gb@4"));
}

TEST(FewestTornDown, WhatIsInUseStays) {
  const MigTable& table = mig_family("a100-40");
  const auto blocked = running(table, {"1g.5gb@0*", "1g.5gb@4"});
  const auto four = profiles(table, {"4g.20gb"});
  const auto refused = fewest_torn_down(table, blocked, four);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("in use"));
  EXPECT_THAT(refused.error().hint, HasSubstr("1g.5gb@0"));
  const auto allowed = fewest_torn_down(table, blocked, four, {.may_remove_in_use = true});
  ASSERT_TRUE(allowed);
  EXPECT_THAT(words(table, allowed->removed), ElementsAre("1g.5gb@0"));
}

TEST(FewestTornDown, SaysWhatCannotBe) {
  const MigTable& table = mig_family("a100-40");
  EXPECT_THAT(fewest_torn_down(table, {}, profiles(table, {"4g.20gb", "4g.20gb"})).error().message,
              HasSubstr("cannot be placed together"));
  EXPECT_THAT(fewest_torn_down(table, running(table, {"4g.20gb@0", "1g.5gb@0"}), {}).error().message,
              HasSubstr("4g.20gb@0 and 1g.5gb@0 overlap"));
}

/// All that is wanted is there afterwards, and what was kept did not move.
void check_change(const MigTable& table, const Layout& now, std::span<const std::size_t> wanted,
                  const LayoutChange& change) {
  EXPECT_TRUE(stands_by_nvidias_table(table, change.after()));
  EXPECT_EQ(change.kept.size() + change.removed.size(), now.size());
  const ProfileCounts after = counts_of(table, change.after());
  for (const std::size_t profile : wanted) EXPECT_GE(after[profile], std::ranges::count(wanted, profile));
}

/// What comes out is a part of some maximal layout that holds what is wanted, so that the instances which
/// that layout lacks must go; the least of them over all such layouts.
std::size_t fewest_apart(const MigTable& table, const std::vector<Layout>& layouts, const Layout& from,
                         const ProfileCounts& wanted) {
  std::size_t least = from.size() + 1;
  for (const Layout& layout : layouts) {
    const ProfileCounts counts = counts_of(table, layout);
    if (!std::ranges::equal(counts, wanted, std::greater_equal())) continue;
    const auto gone = std::ranges::count_if(from, [&](const MigPlacement& placement) {
      return std::ranges::find(layout, placement) == layout.end();
    });
    least = std::min(least, static_cast<std::size_t>(gone));
  }
  return least;
}

TEST(FewestTornDown, IsValidAndFewestFromEveryLayoutToEveryOther) {
  for (const MigTable& table : hardware::mig_tables()) {
    const auto layouts = maximal_layouts(table, ordinary_profiles(table, false));
    for (const Layout& from : layouts)
      for (const Layout& to : layouts) {
        std::vector<RunningInstance> now;
        std::vector<std::size_t> wanted;
        for (const MigPlacement& placement : from) now.push_back({placement});
        for (const MigPlacement& placement : to) wanted.push_back(placement.profile);
        const auto change = fewest_torn_down(table, now, wanted);
        ASSERT_TRUE(change);
        check_change(table, from, wanted, *change);
        EXPECT_EQ(change->removed.size(), fewest_apart(table, layouts, from, counts_of(table, to)));
      }
  }
}

}  // namespace
}  // namespace plimsoll::plan
