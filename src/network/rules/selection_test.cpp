#include <gtest/gtest.h>

#include "network/rules/rule_test_support.hpp"

namespace plimsoll::network::rule_test {
namespace {

TEST(Selection, CountsThatDependOnTheData) {
  EXPECT_EQ(Rule("NonZero").input("2x400").infer(), "int64 2xNonZero_1.found(<=800)");
  EXPECT_EQ(Rule("NonZero").ints({0, 3, 4}).infer(), "int64 1x2");
  EXPECT_EQ(Rule("NonZero").input("nx4").infer(), "int64 2xNonZero_1.found");
  EXPECT_EQ(Rule("NonMaxSuppression").input("2x100x4").input("2x3x100").ints({10}, "scalar").infer(),
            "int64 NonMaxSuppression_1.boxes(<=60)x3");
  EXPECT_EQ(Rule("NonMaxSuppression").input("2x5x4").input("2x3x5").ints({10}, "scalar").infer(),
            "int64 NonMaxSuppression_1.boxes(<=30)x3");
  EXPECT_EQ(Rule("NonMaxSuppression").input("2x5x4").input("2x3x5").infer(), "int64 0x3");
  EXPECT_EQ(Rule("Unique").input("3x4").outputs(4).infer(),
            "Unique_1.unique(<=12) | int64 Unique_1.unique(<=12) | int64 12 | int64 Unique_1.unique(<=12)");
  EXPECT_EQ(Rule("Unique").input("3x4").attribute("axis", 1).infer(), "3xUnique_1.unique(<=4)");
}

TEST(Selection, Regions) {
  EXPECT_EQ(Rule("RoiAlign")
                .input("1x8x20x20")
                .input("nx4")
                .input("n", DataType::int64)
                .attribute("output_height", 7)
                .attribute("output_width", 5)
                .infer(),
            "nx8x7x5");
  EXPECT_EQ(Rule("MaxRoiPool").input("1x8x20x20").input("6x5").attribute("pooled_shape", {2, 3}).infer(),
            "6x8x2x3");
  EXPECT_EQ(Rule("GridSample").input("2x3x8x8").input("2x5x6x2").infer(), "2x3x5x6");
  EXPECT_EQ(Rule("AffineGrid").input("2x2x3").ints({2, 3, 5, 6}).infer(), "2x5x6x2");
  EXPECT_EQ(Rule("AffineGrid").input("2x3x4").input("5", DataType::int64).infer(),
            "2xAffineGrid_1.extentxAffineGrid_2.extentxAffineGrid_3.extentx3");
}

TEST(Selection, Resize) {
  EXPECT_EQ(Rule("Resize", 10).input("1x3x5x6").reals({1, 1, 2, 0.5}).infer(), "1x3x10x3");
  EXPECT_EQ(Rule("Resize", 13).input("1x3x5x6").none().reals({1, 1, 0.6, 0.6}).infer(), "1x3x3x3");
  EXPECT_EQ(Rule("Resize", 11).input("1x3x5x6").reals({}).reals({}).ints({1, 3, 7, 8}).infer(), "1x3x7x8");
  EXPECT_EQ(Rule("Resize", 18).input("1x3x5x6").none().none().ints({7, 8}).attribute("axes", {2, 3}).infer(),
            "1x3x7x8");
  EXPECT_EQ(Rule("Resize", 18)
                .input("1x3x4x8")
                .none()
                .none()
                .ints({8, 8})
                .attribute("axes", {2, 3})
                .attribute("keep_aspect_ratio_policy", "not_larger")
                .infer(),
            "1x3x4x8");
  EXPECT_EQ(Rule("Resize", 18)
                .input("1x3x4x8")
                .none()
                .none()
                .ints({8, 8})
                .attribute("axes", {2, 3})
                .attribute("keep_aspect_ratio_policy", "not_smaller")
                .infer(),
            "1x3x8x16");
  EXPECT_EQ(Rule("Resize", 13).input("1x3xnxn").none().reals({1, 1, 2, 0.5}).infer(), "1x3xn*2xn/2");
  EXPECT_EQ(Rule("Resize", 13).input("1x3xn:10xn:10").none().reals({1, 1, 1.5, 1.5}).infer(),
            "1x3xResize_1.scaled(<=15)xResize_2.scaled(<=15)");
  EXPECT_EQ(Rule("Resize", 13).input("1x3").none().reals({1, -1}).infer(), "error: a scale of -1 cannot be");
  EXPECT_EQ(Rule("Resize", 13).input("1x3").none().input("2").infer(), "Resize_1.resizedxResize_2.resized");
  EXPECT_EQ(Rule("Resize", 13).input("1x3").none().reals({1, 1e30}).infer(),
            "error: extent 1 of the result would be negative or beyond 2^63");
  EXPECT_EQ(Rule("Upsample", 7).input("1x3x5x6").real_list("scales", {1, 1, 2, 2}).infer(), "1x3x10x12");
  EXPECT_EQ(Rule("Upsample", 9).input("1x3x5x6").reals({1, 1, 2, 3}).infer(), "1x3x10x18");
}

TEST(Selection, Texts) {
  EXPECT_EQ(Rule("StringConcat", 20).input("2x1", DataType::string).input("3", DataType::string).infer(),
            "string 2x3");
  EXPECT_EQ(Rule("StringSplit", 20).input("2", DataType::string).outputs(2).infer(),
            "string 2xStringSplit_1.parts | int64 2");
  EXPECT_EQ(Rule("RegexFullMatch", 20).input("2", DataType::string).infer(), "bool 2");
  EXPECT_EQ(Rule("StringNormalizer").input("5", DataType::string).infer(), "string 5");
  EXPECT_EQ(
      Rule("TfIdfVectorizer").input("2x5", DataType::int64).attribute("ngram_indexes", {0, 6, 3}).infer(),
      "2x7");
}

}  // namespace
}  // namespace plimsoll::network::rule_test
