#include "hardware/carbon.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hardware/network_facts.hpp"

namespace plimsoll::hardware {
namespace {

using testing::HasSubstr;

TEST(Carbon, TheTablesLoadAndAreFound) {
  const auto& carbon = built_in_carbon();
  ASSERT_TRUE(carbon) << carbon.error().text();
  EXPECT_EQ(carbon->grids.size(), 213U);
  EXPECT_THAT(carbon->grid_source, HasSubstr("2026-08")) << "the date belongs to every answer";
  EXPECT_THAT(carbon->overhead_source, HasSubstr("undated"));
  const auto germany = find_grid(*carbon, "deu");
  ASSERT_TRUE(germany);
  EXPECT_EQ(**germany, (Grid{"DEU", "Germany", 380.95, 2023}));
  EXPECT_EQ(*find_grid(*carbon, "germany"), *germany);
  EXPECT_THAT(find_grid(*carbon, "Germny").error().hint, HasSubstr("Germany"));
  EXPECT_FALSE(find_grid(*carbon, ""));
  const std::pair<const char*, double> table[] = {
      {"aws", 1.15}, {"Google", 1.1}, {"microsoft", 1.18}, {"average", 1.58}, {"1.25", 1.25}};
  for (const auto& [name, pue] : table) {
    const auto found = find_overhead(*carbon, name);
    ASSERT_TRUE(found) << name;
    EXPECT_DOUBLE_EQ(found->pue, pue);
  }
  for (const char* wrong : {"0.9", "11", "nan", "inf", "amazon", ""})
    EXPECT_FALSE(find_overhead(*carbon, wrong)) << wrong;
}

TEST(Carbon, RefusesWhatIsWrongWithItsLine) {
  const std::string titles = "# source\niso,country,g_per_kwh,year\n";
  ASSERT_TRUE(parse_grids(titles + "COD,\"Congo, Democratic Republic\",24.5,2022\r\n", "c"));
  const std::pair<std::string, const char*> table[] = {
      {"", "is empty"},
      {"iso,country\n", "titles"},
      {titles + "DNK,Denmark,151\n", "four cells"},
      {titles + "dnk,Denmark,151,2023\n", "capital"},
      {titles + "DNK,\x1b[2J,151,2023\n", "country"},
      {titles + "DNK,Denmark,-1,2023\n", "g_per_kwh"},
      {titles + "DNK,Denmark,nan,2023\n", "g_per_kwh"},
      {titles + "DNK,Denmark,151 g,2023\n", "g_per_kwh"},
      {titles + "DNK,Denmark,151,23\n", "year"},
      {titles + "DNK,Denmark,151,2023\nDNK,Denmark,151,2023\n", "twice"},
  };
  for (const auto& [text, message] : table) {
    const auto parsed = parse_grids(text, "c.csv");
    ASSERT_FALSE(parsed) << text;
    EXPECT_THAT(parsed.error().message, HasSubstr(message)) << text;
  }
  EXPECT_THAT(parse_grids(table[9].first, "c.csv").error().where, HasSubstr("line 4"));
  EXPECT_FALSE(parse_grids(std::string(2 << 20, 'x'), "c.csv"));
  EXPECT_FALSE(parse_overheads("operator,pue\naws,0.5\n", "p.csv"));
  EXPECT_FALSE(parse_overheads("operator,pue\naws,1.5\naws,1.5\n", "p.csv"));
}

TEST(NetworkFacts, MobileNetsAccuraciesAreThoseOfTheStudy) {
  const auto& facts = built_in_network_facts();
  ASSERT_TRUE(facts) << facts.error().text();
  ASSERT_EQ(facts->size(), 3U);
  // 32, 16 and 8 bits, typed in again.
  const double percents[3][3] = {{86.92, 86.78, 84.33}, {90.33, 90.33, 89.78}, {90.74, 90.74, 91.55}};
  const Arithmetic order[] = {Arithmetic::fp32, Arithmetic::fp16, Arithmetic::int8};
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t j = 0; j < 3; ++j) {
      const Accuracy& accuracy = (*facts)[i].accuracies.at(j);
      EXPECT_EQ(accuracy.arithmetic, order[j]);
      EXPECT_NEAR(accuracy.share.value, percents[i][j] / 100, 1e-12);
      EXPECT_EQ(accuracy.data, "Flowers");
    }
  ASSERT_EQ(facts->front().memories.size(), 1U);
  EXPECT_NEAR(facts->front().memories[0].ram.value, 345.7 * 1024, 1e-6);
}

TEST(NetworkFacts, RefusesWhatIsWrong) {
  const auto file = [](std::string_view variant) {
    return fmt::format(
        R"({{"version": 1, "id": "n", "sources": {{"s": {{"provenance": "measured", "source": "x"}}}},
                            "variants": [{}]}})",
        variant);
  };
  const std::pair<const char*, const char*> table[] = {
      {R"({"network": "n"})", "depth"},
      {R"({"network": "n", "depth": 0})", "depth"},
      {R"({"network": "n", "depth": 1, "width": 1})", "width"},
      {R"({"network": "n", "depth": 1, "accuracies": [{"data": "d", "precision": "int8", "percent": 101, "source": "s"}]})",
       "percent"},
      {R"({"network": "n", "depth": 1, "accuracies": [{"data": "d", "precision": "int9", "percent": 1, "source": "s"}]})",
       "precision"},
      {R"({"network": "n", "depth": 1, "accuracies": [{"data": "d", "precision": "int8", "percent": 1, "source": "t"}]})",
       "source"},
  };
  EXPECT_TRUE(parse_network_facts(file(R"({"network": "n", "depth": 1})"), "n.json"));
  for (const auto& [variant, where] : table) {
    const auto parsed = parse_network_facts(file(variant), "n.json");
    ASSERT_FALSE(parsed) << variant;
    EXPECT_THAT(parsed.error().where, HasSubstr(where)) << variant;
  }
}

}  // namespace
}  // namespace plimsoll::hardware
