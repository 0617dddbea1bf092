#include "hardware/mig.hpp"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "hardware/catalogue.hpp"

namespace plimsoll::hardware {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const MigTable& table_of_family(std::string_view family) {
  for (const MigTable& table : mig_tables())
    if (table.family == family) return table;
  throw std::runtime_error("no such family");
}

std::vector<std::size_t> named(const MigTable& table, const std::vector<std::string>& names) {
  std::vector<std::size_t> out;
  for (const std::string& name : names) out.push_back(table.find(name).value());
  return out;
}

std::vector<std::string> names_of(const MigTable& table) {
  std::vector<std::string> out;
  for (const MigProfile& profile : table.profiles) out.push_back(profile.name);
  return out;
}

TEST(MigTables, AreOfTheCataloguesDevices) {
  const auto& catalogue = built_in_catalogue();
  ASSERT_TRUE(catalogue);
  std::map<std::string, std::string> families;
  for (const Device& device : catalogue->devices())
    if (const MigTable* table = mig_table(device)) families[device.id] = table->family;
  EXPECT_THAT(families, ElementsAre(testing::Pair("a100-40-sxm", "a100-40"),
                                    testing::Pair("a100-80-sxm", "a100-80"), testing::Pair("a30", "a30"),
                                    testing::Pair("b200", "b200"), testing::Pair("h100-pcie", "h100"),
                                    testing::Pair("h100-sxm", "h100"), testing::Pair("h200", "h200")));
}

TEST(MigTables, NameTheirProfiles) {
  EXPECT_THAT(names_of(table_of_family("a100-40")),
              ElementsAre("1g.5gb", "1g.5gb+me", "1g.10gb", "2g.10gb", "3g.20gb", "4g.20gb", "7g.40gb"));
  EXPECT_THAT(names_of(table_of_family("b200")),
              ElementsAre("1g.23gb", "1g.23gb+me", "1g.45gb", "2g.45gb", "3g.90gb", "4g.90gb", "7g.180gb"));
  EXPECT_THAT(names_of(table_of_family("a30")),
              ElementsAre("1g.6gb", "1g.6gb+me", "2g.12gb", "2g.12gb+me", "4g.24gb"));
}

TEST(MigTables, AreWhatAnH200Tells) {
  const char* given = std::getenv("PLIMSOLL_SHARED");
  const std::string shared = given != nullptr ? given : PLIMSOLL_SOURCE_DIR "/../shared";
  std::ifstream rows(shared + "/data/h200/time.jsonl");
  if (!rows) GTEST_SKIP() << "no measurements at " << shared << " (set PLIMSOLL_SHARED)";
  const MigTable& table = table_of_family("h200");
  std::size_t seen = 0;
  for (std::string line; std::getline(rows, line);) {
    if (!line.contains("\"mig\"")) continue;
    const auto row = nlohmann::json::parse(line);
    if (row.at("mode") != "mig") continue;
    const auto fits = [&](const MigProfile& p) {
      return p.compute == row.at("slices") && p.most == row.at("count") && p.sms == row.at("sm").get<int>() &&
             p.bytes == Bytes(row.at("mem").get<std::int64_t>() << 20);
    };
    EXPECT_EQ(std::ranges::count_if(table.profiles, fits), 1) << line;
    ++seen;
  }
  EXPECT_EQ(seen, table.profiles.size());
}

TEST(MigTables, BytesAreThePartOfTheDeviceWhereNoDriverWasAsked) {
  const auto& catalogue = built_in_catalogue();
  const Device& device = **catalogue->find("a100-40");
  const MigTable& table = *mig_table(device);
  const auto half = mig_bytes(table, table.profiles[table.find("3g.20gb").value()], device);
  EXPECT_NEAR(static_cast<double>(half->count()), static_cast<double>(capacity(device)->count()) / 2, 1);
}

TEST(MigConflict, IsSaid) {
  const MigTable& table = table_of_family("a100-40");
  const auto at = [&](const char* name, int start) { return MigPlacement{table.find(name).value(), start}; };
  const auto said = [&](const std::vector<MigPlacement>& placed) {
    return mig_conflict(table, placed).value_or("nothing");
  };
  EXPECT_EQ(said({at("4g.20gb", 0), at("3g.20gb", 4)}), "nothing");
  EXPECT_EQ(said({at("3g.20gb", 0), at("3g.20gb", 4)}), "nothing");
  EXPECT_EQ(said({at("3g.20gb", 4), at("1g.5gb", 6)}), "3g.20gb@4 and 1g.5gb@6 overlap");
  EXPECT_EQ(said({at("2g.10gb", 1)}), "2g.10gb starts at 0, 2, 4 only");
  EXPECT_THAT(said({at("4g.20gb", 0), at("2g.10gb", 4), at("1g.10gb", 6)}), "nothing");
  EXPECT_THAT(said({at("1g.5gb+me", 0), at("1g.5gb+me", 1)}), HasSubstr("more often than once"));
}

TEST(Place, FindsRoomAmongThoseThatAreThere) {
  const MigTable& table = table_of_family("h200");
  const MigPlacement there{table.find("1g.18gb").value(), 4};
  const auto placed = place(table, named(table, {"4g.71gb", "1g.18gb", "1g.18gb"}), std::span(&there, 1));
  ASSERT_TRUE(placed);
  EXPECT_EQ((*placed)[1].start, 5);
  EXPECT_FALSE(place(table, named(table, {"3g.71gb", "3g.71gb"}), std::span(&there, 1)));
  EXPECT_FALSE(place(table, named(table, {"1g.18gb+me", "1g.18gb+me"})));
  EXPECT_TRUE(place(table, named(table, {"1g.18gb+me", "1g.18gb", "2g.35gb", "3g.71gb"})));
}

TEST(Place, MediaEnginesAreOneInstances) {
  const MigTable& table = table_of_family("a30");
  EXPECT_FALSE(place(table, named(table, {"1g.6gb+me", "2g.12gb+me"})));
  EXPECT_TRUE(place(table, named(table, {"1g.6gb", "2g.12gb+me"})));
}

}  // namespace
}  // namespace plimsoll::hardware
