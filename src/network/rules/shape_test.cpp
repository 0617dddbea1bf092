#include <gtest/gtest.h>

#include "network/rules/rule_test_support.hpp"

namespace plimsoll::network::rule_test {
namespace {

TEST(ShapeOperators, Shape) {
  EXPECT_EQ(Rule("Shape").input("2xnx4").infer(), "int64 3 = [2, n, 4]");
  EXPECT_EQ(Rule("Shape").input("2xnx4").attribute("start", -2).infer(), "int64 2 = [n, 4]");
  EXPECT_EQ(Rule("Shape").input("2xnx4").attribute("start", 2).attribute("end", 1).infer(), "int64 0 = []");
  EXPECT_EQ(Rule("Shape").input("2x3").attribute("start", std::numeric_limits<std::int64_t>::min()).infer(),
            "int64 2 = [2, 3]");
  EXPECT_EQ(Rule("Shape").input("?").infer(), "int64 Shape_1.rank(<=16)");
  EXPECT_EQ(Rule("Size").input("2xnx4").infer(), "int64 scalar = [2*n*4]");
}

TEST(ShapeOperators, Constant) {
  EXPECT_EQ(Rule("Constant").attribute("value_int", 7).infer(), "int64 scalar = [7]");
  EXPECT_EQ(Rule("Constant").attribute("value_ints", {7, 8}).infer(), "int64 2 = [7, 8]");
  EXPECT_EQ(Rule("Constant").attribute("value_float", 0.5).infer(), "scalar = [0.5]");
  EXPECT_EQ(Rule("Constant").attribute("value_string", "text").infer(), "string scalar");
  Rule tensor("Constant");
  const TensorId id = tensor.builder().tensor("value");
  const Dim dims[] = {Dim::of(1), Dim::of(2)};
  const Scalar values[] = {Scalar::integer(3), Scalar::integer(4)};
  tensor.builder().declare(id, DataType::int32, dims);
  tensor.builder().set_value(id, values);
  EXPECT_EQ(tensor.with({"value", id}).infer(), "int32 1x2 = [3, 4]");
}

TEST(ShapeOperators, ConstantOfShape) {
  EXPECT_EQ(Rule("ConstantOfShape").ints({2, 3}).infer(), "2x3 = [0, 0, 0, 0, 0, 0]");
  EXPECT_EQ(Rule("ConstantOfShape").values({"n", "1000"}).infer(), "nx1000");
  EXPECT_EQ(Rule("ConstantOfShape").ints({}).infer(), "scalar = [0]");
  EXPECT_EQ(Rule("ConstantOfShape").ints({-1}).infer(), "error: an extent of -1 cannot be");
  EXPECT_EQ(Rule("ConstantOfShape").input("2", DataType::int64).infer(),
            "ConstantOfShape_1.extentxConstantOfShape_2.extent");
}

TEST(ShapeOperators, Expand) {
  EXPECT_EQ(Rule("Expand").input("3x1").ints({2, 1, 6}).infer(), "2x3x6");
  EXPECT_EQ(Rule("Expand").ints({7}, "scalar").ints({2}).infer(), "int64 2 = [7, 7]");
  EXPECT_EQ(Rule("Expand").input("3x1").input("3", DataType::int64).infer(),
            "Expand_1.extentx3xExpand_2.extent");
  EXPECT_EQ(Rule("Expand").input("3").ints({4}).infer(),
            "error: shapes 3 and 4 do not broadcast: 3 against 4");
  EXPECT_EQ(Rule("Expand").input("1").ints({1LL << 40, 1LL << 40}).infer(),
            "error: the result has more than 2^63 elements");
}

TEST(ShapeOperators, Range) {
  const auto range = [](const char* start, const char* limit, const char* delta) {
    return Rule("Range")
        .values({start}, "scalar")
        .values({limit}, "scalar")
        .values({delta}, "scalar")
        .infer();
  };
  EXPECT_EQ(range("0", "5", "2"), "int64 3 = [0, 2, 4]");
  EXPECT_EQ(range("5", "0", "-2"), "int64 3 = [5, 3, 1]");
  EXPECT_EQ(range("5", "0", "1"), "int64 0 = []");
  EXPECT_EQ(range("0", "1000000", "1"), "int64 1000000");
  EXPECT_EQ(range("0", "5", "0"), "error: a step of 0 never ends");
  EXPECT_EQ(range("0", "n", "1"), "int64 n");
  EXPECT_EQ(range("2", "n", "2"), "int64 ceil(n - 2/2)");
  EXPECT_EQ(range("-9223372036854775808", "9223372036854775807", "9223372036854775807"),
            "int64 3 = [-9223372036854775808, -1, 9223372036854775806]");
  EXPECT_EQ(Rule("Range").reals({0}, "scalar").reals({1}, "scalar").reals({0.25}, "scalar").infer(),
            "4 = [0, 0.25, 0.5, 0.75]");
  EXPECT_EQ(Rule("Range").reals({0}, "scalar").reals({1}, "scalar").reals({1e-30}, "scalar").infer(),
            "error: from 0 to 1 by 1e-30 is not a number of steps");
  EXPECT_EQ(Rule("Range").input("scalar").reals({1}, "scalar").reals({1}, "scalar").infer(), "Range_1.steps");
}

}  // namespace
}  // namespace plimsoll::network::rule_test
