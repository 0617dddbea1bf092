#include <gtest/gtest.h>

#include "network/rules/rule_test_support.hpp"

namespace plimsoll::network::rule_test {
namespace {

TEST(Arithmetic, ShapesAndTypes) {
  EXPECT_EQ(Rule("Relu").input("2xn").infer(), "2xn");
  EXPECT_EQ(Rule("Relu").input("?").infer(), "?");
  EXPECT_EQ(Rule("Add").input("2x1x4").input("3x1").infer(), "2x3x4");
  EXPECT_EQ(Rule("Add").input("2x3").input("2x4").infer(),
            "error: shapes 2x3 and 2x4 do not broadcast: 3 against 4");
  EXPECT_EQ(Rule("Less").input("2x3").input("scalar").infer(), "bool 2x3");
  EXPECT_EQ(Rule("Equal").input("?").input("3").infer(), "bool ?");
  EXPECT_EQ(Rule("Pow").input("2", DataType::float32).input("scalar", DataType::int64).infer(), "2");
  EXPECT_EQ(Rule("Cast").input("2xn").attribute("to", 10).infer(), "float16 2xn");
  EXPECT_EQ(Rule("Cast").input("2").attribute("to", 99).infer(),
            "error: 'to' is 99, which is not an element type");
  EXPECT_EQ(Rule("CastLike").input("2").input("5", DataType::int8).infer(), "int8 2");
  EXPECT_EQ(Rule("Max").input("2x1").input("3").input("1x1x1").infer(), "1x2x3");
  EXPECT_EQ(Rule("Where").input("3x1", DataType::boolean).input("4").input("scalar").infer(), "3x4");
  EXPECT_EQ(Rule("PRelu").input("2x3x4").input("3x1").infer(), "2x3x4");
  EXPECT_EQ(Rule("IsNaN").input("2").infer(), "bool 2");
}

TEST(Arithmetic, FoldsIntegers) {
  const auto both = [](const char* op, std::vector<std::int64_t> x, std::vector<std::int64_t> y) {
    return Rule(op).ints(x).ints(y).infer();
  };
  EXPECT_EQ(both("Add", {1, 2}, {10}), "int64 2 = [11, 12]");
  EXPECT_EQ(both("Div", {7, -7}, {2}), "int64 2 = [3, -3]");
  EXPECT_EQ(both("Div", {7}, {0}), "int64 1");
  EXPECT_EQ(both("Mod", {7, -7}, {3}), "int64 2 = [1, 2]");
  EXPECT_EQ(both("Pow", {2, 3}, {3}), "int64 2 = [8, 27]");
  EXPECT_EQ(both("Min", {2, 3}, {-1}), "int64 2 = [-1, -1]");
  EXPECT_EQ(both("LessOrEqual", {2, 3}, {2}), "bool 2 = [1, 0]");
  EXPECT_EQ(Rule("Mod").ints({-7}).ints({3}).attribute("fmod", 1).infer(), "int64 1 = [-1]");
  EXPECT_EQ(Rule("Where").ints({1, 0}).ints({5, 6}).ints({-1}).infer(), "int64 2 = [5, -1]");
  EXPECT_EQ(Rule("Clip", 13).ints({-5, 5, 50}).ints({0}, "scalar").ints({9}, "scalar").infer(),
            "int64 3 = [0, 5, 9]");
  EXPECT_EQ(Rule("Sub").ints({1, 2, 3, 4}, "2x2").ints({1, 2}, "2x1").infer(), "int64 2x2 = [0, 1, 1, 2]");
}

TEST(Arithmetic, ForgetsWhatOverflows) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max(),
                         kLeast = std::numeric_limits<std::int64_t>::min();
  EXPECT_EQ(Rule("Add").ints({kMost}).ints({1}).infer(), "int64 1");
  EXPECT_EQ(Rule("Mul").ints({kMost}).ints({2}).infer(), "int64 1");
  EXPECT_EQ(Rule("Div").ints({kLeast}).ints({-1}).infer(), "int64 1");
  EXPECT_EQ(Rule("Neg").ints({kLeast}).infer(), "int64 1");
  EXPECT_EQ(Rule("Mod").ints({kLeast}).ints({-1}).infer(), "int64 1 = [0]");
  EXPECT_EQ(Rule("Cast").reals({1e30}).attribute("to", 7).infer(), "int64 1");
  EXPECT_EQ(Rule("Cast").ints({300}).attribute("to", 2).infer(), "uint8 1");
}

TEST(Arithmetic, FoldsReals) {
  EXPECT_EQ(Rule("Floor").reals({2.7, -2.1}).infer(), "2 = [2, -3]");
  EXPECT_EQ(Rule("Cast").reals({2.7, -2.7}).attribute("to", 7).infer(), "int64 2 = [2, -2]");
  EXPECT_EQ(Rule("Sqrt").reals({16}).infer(), "1 = [4]");
  EXPECT_EQ(Rule("Div").reals({1}).reals({4}).infer(), "1 = [0.25]");
  EXPECT_EQ(Rule("Round").reals({2.5, 3.5}).infer(), "2 = [2, 4]");
}

TEST(Arithmetic, FoldsExtents) {
  EXPECT_EQ(Rule("Add").values({"n"}).ints({2}).infer(), "int64 1 = [n + 2]");
  EXPECT_EQ(Rule("Sub").values({"n"}).values({"n"}).infer(), "int64 1 = [0]");
  // n - 1 might be negative, which no extent can be.
  EXPECT_EQ(Rule("Sub").values({"n"}).ints({1}).infer(), "int64 1");
  EXPECT_EQ(Rule("Mul").values({"n"}).ints({4}).infer(), "int64 1 = [n*4]");
  EXPECT_EQ(Rule("Div").values({"n"}).ints({2}).infer(), "int64 1 = [n/2]");
  EXPECT_EQ(Rule("Equal").values({"n"}).ints({-1}).infer(), "bool 1 = [0]");
  EXPECT_EQ(Rule("Equal").values({"n"}).ints({5}).infer(), "bool 1");
  EXPECT_EQ(Rule("Less").values({"n:10"}).ints({11}).infer(), "bool 1 = [1]");
  EXPECT_EQ(Rule("Greater").values({"n:10"}).ints({10}).infer(), "bool 1 = [0]");
  EXPECT_EQ(Rule("Min").values({"n:10"}).ints({1000}).infer(), "int64 1 = [n]");
  EXPECT_EQ(Rule("Cast").values({"n"}).attribute("to", 1).infer(), "1 = [n]");
}

TEST(Arithmetic, ClipTakesAttributesInOldOpsets) {
  EXPECT_EQ(Rule("Clip", 7).reals({-1, 9}).attribute("min", 0.0).attribute("max", 6.0).infer(), "2 = [0, 6]");
}

}  // namespace
}  // namespace plimsoll::network::rule_test
