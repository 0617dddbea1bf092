#include <gtest/gtest.h>

#include "network/rules/rule_test_support.hpp"

namespace plimsoll::network::rule_test {
namespace {

TEST(Reduction, AxesAsAttributeAndAsInput) {
  EXPECT_EQ(Rule("ReduceMean", 13).input("2x3x4").attribute("axes", {1, -1}).infer(), "2x1x1");
  EXPECT_EQ(Rule("ReduceMean", 18).input("2x3x4").ints({1}).attribute("keepdims", 0).infer(), "2x4");
  EXPECT_EQ(Rule("ReduceSum", 13).input("2x3").infer(), "1x1");
  EXPECT_EQ(Rule("ReduceSum", 13).input("2x3").attribute("keepdims", 0).infer(), "scalar");
  EXPECT_EQ(Rule("ReduceSum", 13).input("2x3").ints({}).attribute("noop_with_empty_axes", 1).infer(), "2x3");
  EXPECT_EQ(Rule("ReduceMax", 18).input("2x3").ints({2}).infer(),
            "error: axis 2 is outside a shape of rank 2");
  EXPECT_EQ(Rule("ReduceMax", 18).input("2xn").ints({std::numeric_limits<std::int64_t>::min()}).infer(),
            "error: axis -9223372036854775808 is outside a shape of rank 2");
}

TEST(Reduction, AxesKnownAtRunTimeOnly) {
  EXPECT_EQ(Rule("ReduceSum", 13).input("2x3").input("1", DataType::int64).infer(),
            "ReduceSum_1.extent(<=2)xReduceSum_2.extent(<=3)");
  EXPECT_EQ(Rule("ReduceSum", 13).input("2x3").input("1", DataType::int64).attribute("keepdims", 0).infer(),
            "ReduceSum_1.extent(<=3)");
  EXPECT_EQ(Rule("ReduceSum", 13).input("2x3").input("n", DataType::int64).attribute("keepdims", 0).infer(),
            "?");
}

TEST(Reduction, FoldsContents) {
  EXPECT_EQ(Rule("ReduceProd", 13).ints({2, 3, 4}).attribute("keepdims", 0).infer(), "int64 scalar = [24]");
  EXPECT_EQ(Rule("ReduceProd", 13).values({"2", "n"}).infer(), "int64 1 = [2*n]");
  EXPECT_EQ(Rule("ReduceMax", 13).ints({1, 5, 3, 4}, "2x2").attribute("axes", {0}).infer(),
            "int64 1x2 = [3, 5]");
}

TEST(Reduction, ArgMaxAndCumSum) {
  EXPECT_EQ(Rule("ArgMax").input("2x3").attribute("axis", 1).infer(), "int64 2x1");
  EXPECT_EQ(Rule("ArgMin").input("2x3").attribute("keepdims", 0).infer(), "int64 3");
  EXPECT_EQ(Rule("CumSum").input("2xn").ints({1}, "scalar").infer(), "2xn");
}

TEST(Reduction, TopK) {
  EXPECT_EQ(Rule("TopK", 9).input("2x10").attribute("k", 3).outputs(2).infer(), "2x3 | int64 2x3");
  EXPECT_EQ(Rule("TopK").input("2x10").ints({3}).attribute("axis", 0).infer(),
            "error: cannot take the top 3 of an extent of at most 2");
  EXPECT_EQ(Rule("TopK").input("2x10").input("1", DataType::int64).infer(), "2xTopK_1.k(<=10)");
  EXPECT_EQ(Rule("TopK").input("2xn:10").values({"k"}).infer(), "2xmin(k, n)(<=10)");
  EXPECT_EQ(Rule("TopK").input("2xn:10").ints({-1}).infer(), "error: cannot take the top -1");
}

}  // namespace
}  // namespace plimsoll::network::rule_test
