#include <gtest/gtest.h>

#include "network/rules/rule_test_support.hpp"

namespace plimsoll::network::rule_test {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max(),
                       kLeast = std::numeric_limits<std::int64_t>::min();

TEST(Movement, Reshape) {
  EXPECT_EQ(Rule("Reshape").input("2x3x4").ints({0, -1}).infer(), "2x12");
  EXPECT_EQ(Rule("Reshape").input("2x3x4").ints({4, 6}).infer(), "4x6");
  EXPECT_EQ(Rule("Reshape").input("2x3x4").ints({5, -1}).infer(),
            "error: cannot reshape 2x3x4: its 24 elements do not divide by 5");
  EXPECT_EQ(Rule("Reshape").input("2x3x4").ints({5, 5}).infer(),
            "error: cannot reshape 2x3x4 to 5x5: 24 elements against 25");
  EXPECT_EQ(Rule("Reshape").input("2x3").ints({-1, -1}).infer(), "error: the target has more than one -1");
  EXPECT_EQ(Rule("Reshape").input("2x3").ints({6, 1, 0}).infer(),
            "error: 0 at position 2 of the target copies an extent that 2x3 does not have");
  EXPECT_EQ(Rule("Reshape").input("0x3").ints({3, 0}).attribute("allowzero", 1).infer(), "3x0");
  EXPECT_EQ(Rule("Reshape").input("2").ints({kLeast}).infer(),
            "error: cannot reshape to an extent of -9223372036854775808");
  EXPECT_EQ(Rule("Reshape").input("nx3x4").ints({0, -1}).infer(), "nx12");
  EXPECT_EQ(Rule("Reshape").input("nx3x4").values({"n", "-1", "2"}).infer(), "nx6x2");
  EXPECT_EQ(Rule("Reshape").input("n:10x12").ints({-1, 4}).infer(), "n*3(<=30)x4");
  EXPECT_EQ(Rule("Reshape").input("n:10x3").ints({-1, 4}).infer(), "n*3/4(<=7)x4");
  EXPECT_EQ(Rule("Reshape").input("n:10x4").ints({7, 7}).infer(),
            "error: cannot reshape nx4 to 7x7: n*4 elements against 49");
  EXPECT_EQ(Rule("Reshape").input("2x3").input("2", DataType::int64).infer(),
            "Reshape_1.extent(<=6)xReshape_2.extent(<=6)");
  EXPECT_EQ(Rule("Reshape").input("2x3").input("1", DataType::int64).infer(), "6");
  EXPECT_EQ(Rule("Reshape").input("2x3").input("n", DataType::int64).infer(), "?");
  EXPECT_EQ(Rule("Reshape").input("?").ints({2, -1}).infer(), "2xReshape_1.extent");
  EXPECT_EQ(Rule("Reshape").ints({1, 2, 3, 4}).ints({2, 2}).infer(), "int64 2x2 = [1, 2, 3, 4]");
  EXPECT_EQ(Rule("Reshape").input("2").input("1000000000", DataType::int64).infer(),
            "error: a rank over 16 is not supported");
}

TEST(Movement, FlattenSqueezeUnsqueeze) {
  EXPECT_EQ(Rule("Flatten").input("2x3x4").infer(), "2x12");
  EXPECT_EQ(Rule("Flatten").input("2x3x4").attribute("axis", 0).infer(), "1x24");
  EXPECT_EQ(Rule("Flatten").input("2x3").attribute("axis", 3).infer(),
            "error: axis 3 is outside a shape of rank 2");
  EXPECT_EQ(Rule("Squeeze", 11).input("1x3x1").attribute("axes", {0}).infer(), "3x1");
  EXPECT_EQ(Rule("Squeeze", 13).input("1x3x1").ints({-1}).infer(), "1x3");
  EXPECT_EQ(Rule("Squeeze").input("1x3x1").infer(), "3");
  EXPECT_EQ(Rule("Squeeze").input("1xn").infer(), "?");
  EXPECT_EQ(Rule("Squeeze").input("2x3").ints({0}).infer(),
            "error: axis 0 of 2x3 has an extent of 2: only 1 can be squeezed");
  EXPECT_EQ(Rule("Squeeze").ints({5}).infer(), "int64 scalar = [5]");
  EXPECT_EQ(Rule("Unsqueeze", 11).input("3x4").attribute("axes", {0, 3}).infer(), "1x3x4x1");
  EXPECT_EQ(Rule("Unsqueeze", 13).input("3x4").ints({-1}).infer(), "3x4x1");
  EXPECT_EQ(Rule("Unsqueeze").input("3").ints({0, 0}).infer(), "error: axis 0 is named twice");
  EXPECT_EQ(Rule("Unsqueeze").values({"n"}, "scalar").ints({0}).infer(), "int64 1 = [n]");
}

TEST(Movement, Transpose) {
  EXPECT_EQ(Rule("Transpose").input("2x3x4").infer(), "4x3x2");
  EXPECT_EQ(Rule("Transpose").input("2x3xn").attribute("perm", {0, 2, 1}).infer(), "2xnx3");
  EXPECT_EQ(Rule("Transpose").input("2x3").attribute("perm", {0, 0}).infer(), "error: axis 0 is named twice");
  EXPECT_EQ(Rule("Transpose").input("2x3").attribute("perm", {0}).infer(),
            "error: perm names 1 axes of a shape of rank 2");
  EXPECT_EQ(Rule("Transpose").ints({1, 2, 3, 4, 5, 6}, "2x3").infer(), "int64 3x2 = [1, 4, 2, 5, 3, 6]");
}

TEST(Movement, Concat) {
  EXPECT_EQ(Rule("Concat").input("2x3").input("2x4").attribute("axis", -1).infer(), "2x7");
  EXPECT_EQ(Rule("Concat").input("nx3").input("2x4").attribute("axis", 1).infer(), "2x7");
  EXPECT_EQ(Rule("Concat").input("2xn").input("2x4").input("2x1").attribute("axis", 1).infer(), "2xn + 5");
  EXPECT_EQ(Rule("Concat").input("2x3").input("3x3").attribute("axis", 1).infer(),
            "error: input 1 is 3x3: it cannot be joined along axis 1 to others whose extent 0 is 2");
  EXPECT_EQ(Rule("Concat").input("2x3").input("?").attribute("axis", 0).infer(), "Concat_1.extentx3");
  EXPECT_EQ(Rule("Concat").ints({1}).values({"n"}).ints({-1}).attribute("axis", 0).infer(),
            "int64 3 = [1, n, -1]");
  EXPECT_EQ(Rule("Concat").ints({1, 2}, "2x1").ints({3, 4}, "2x1").attribute("axis", 1).infer(),
            "int64 2x2 = [1, 3, 2, 4]");
  EXPECT_EQ(Rule("Concat").input("2").input("2").attribute("axis", kMost).infer(),
            "error: axis 9223372036854775807 is outside a shape of rank 1");
}

TEST(Movement, Split) {
  EXPECT_EQ(Rule("Split", 11).input("2x6").attribute("axis", 1).outputs(3).infer(), "2x2 | 2x2 | 2x2");
  EXPECT_EQ(Rule("Split", 11).input("2x7").attribute("axis", 1).attribute("split", {3, 4}).outputs(2).infer(),
            "2x3 | 2x4");
  EXPECT_EQ(Rule("Split", 13).input("7").ints({3, 3}).outputs(2).infer(),
            "error: the parts come to 6, the extent to be split is 7");
  EXPECT_EQ(Rule("Split", 18).input("7").attribute("num_outputs", 3).outputs(3).infer(), "3 | 3 | 1");
  EXPECT_EQ(Rule("Split", 13).input("7").outputs(3).infer(),
            "error: an extent of 7 cannot be split into 3 parts");
  EXPECT_EQ(Rule("Split", 13).input("n").outputs(2).infer(), "ceil(n/2) | ceil(n/2)");
  EXPECT_EQ(Rule("Split", 13).input("8").input("2", DataType::int64).outputs(2).infer(),
            "Split_1.part(<=8) | Split_2.part(<=8)");
  EXPECT_EQ(Rule("Split", 13).ints({1, 2, 3}).ints({1, 2}).outputs(2).infer(),
            "int64 1 = [1] | int64 2 = [2, 3]");
}

std::string sliced(std::string_view shape, std::int64_t start, std::int64_t end, std::int64_t step = 1) {
  return Rule("Slice").input(shape).ints({start}).ints({end}).ints({0}).ints({step}).infer();
}

TEST(Movement, SliceOfExactExtents) {
  EXPECT_EQ(sliced("10", 2, 5), "3");
  EXPECT_EQ(sliced("10", -3, kMost), "3");
  EXPECT_EQ(sliced("10", kLeast, kMost, 3), "4");
  EXPECT_EQ(sliced("10", -1, kLeast, -1), "10");
  EXPECT_EQ(sliced("10", 8, 2, -2), "3");
  EXPECT_EQ(sliced("10", kMost, kLeast, kLeast), "1");
  EXPECT_EQ(sliced("10", 5, 2), "0");
  EXPECT_EQ(sliced("0", 0, kMost), "0");
  EXPECT_EQ(sliced("10", 0, 5, 0), "error: a step of 0 never ends");
  EXPECT_EQ(Rule("Slice", 9).input("10x20").attribute("starts", {1, 2}).attribute("ends", {5, -2}).infer(),
            "4x16");
  EXPECT_EQ(Rule("Slice").input("10x20").ints({1}).ints({5}).ints({-1}).infer(), "10x4");
  EXPECT_EQ(Rule("Slice").input("10").ints({1, 1}).ints({5, 5}).infer(),
            "error: cuts 2 axes of a shape of rank 1");
  EXPECT_EQ(Rule("Slice").input("10").ints({1}).ints({5, 5}).infer(),
            "error: starts, ends, axes and steps differ in length");
}

TEST(Movement, SliceOfSymbols) {
  EXPECT_EQ(sliced("n", 0, kMost), "n");
  EXPECT_EQ(sliced("n", 0, 2147483647), "n");
  EXPECT_EQ(sliced("n", 1, kMost), "n - 1");
  EXPECT_EQ(sliced("n", 0, -1), "n - 1");
  EXPECT_EQ(sliced("n", 1, -1), "n - 2");
  EXPECT_EQ(sliced("n", 0, 5), "min(n, 5)(<=5)");
  EXPECT_EQ(sliced("n", -5, kMost), "min(n, 5)(<=5)");
  EXPECT_EQ(sliced("n:10", 20, 30), "0");
  EXPECT_EQ(sliced("n", 0, kMost, 2), "ceil(n/2)");
  EXPECT_EQ(sliced("n:10", -1, kLeast, -1), "n(<=10)");
  EXPECT_EQ(Rule("Slice").input("100").ints({0}).values({"n:10"}).ints({0}).infer(), "n(<=10)");
  EXPECT_EQ(Rule("Slice").input("100x3").input("1", DataType::int64).ints({5}).ints({0}).infer(),
            "Slice_1.slice(<=100)x3");
  EXPECT_EQ(Rule("Slice").input("100x3").ints({0}).ints({5}).input("1", DataType::int64).infer(),
            "Slice_1.slice(<=100)xSlice_2.slice(<=3)");
}

TEST(Movement, SliceFoldsContents) {
  EXPECT_EQ(Rule("Slice").ints({1, 2, 3, 4}).ints({-1}).ints({kLeast}).ints({0}).ints({-2}).infer(),
            "int64 2 = [4, 2]");
  EXPECT_EQ(Rule("Slice").ints({1, 2, 3, 4, 5, 6}, "2x3").ints({1}).ints({3}).ints({1}).infer(),
            "int64 2x2 = [2, 3, 5, 6]");
  EXPECT_EQ(Rule("Slice").values({"n", "3"}).ints({0}).ints({1}).infer(), "int64 1 = [n]");
  EXPECT_EQ(Rule("Slice").ints({1, 2}).ints({5}).ints({9}).infer(), "int64 0 = []");
}

TEST(Movement, Gather) {
  EXPECT_EQ(Rule("Gather").input("5x6x7").input("2x3", DataType::int64).attribute("axis", 1).infer(),
            "5x2x3x7");
  EXPECT_EQ(Rule("Gather").values({"n", "3"}).ints({0}, "scalar").infer(), "int64 scalar = [n]");
  EXPECT_EQ(Rule("Gather").values({"n", "3"}).ints({-1}).infer(), "int64 1 = [3]");
  EXPECT_EQ(Rule("Gather").ints({1, 2, 3, 4}, "2x2").ints({1}).attribute("axis", 1).infer(),
            "int64 2x1 = [2, 4]");
  EXPECT_EQ(Rule("Gather").input("5").ints({5}).infer(), "error: index 5 is outside an extent of 5");
  EXPECT_EQ(Rule("GatherElements").input("5x6").input("2x3", DataType::int64).infer(), "2x3");
  EXPECT_EQ(Rule("GatherND").input("2x3x4").input("5x2", DataType::int64).infer(), "5x4");
  EXPECT_EQ(Rule("GatherND").input("2x3x4").input("2x1", DataType::int64).attribute("batch_dims", 1).infer(),
            "2x4");
  EXPECT_EQ(Rule("GatherND").input("2x3").input("5x3", DataType::int64).infer(),
            "error: indices 5x3 name 3 axes of data 2x3");
  EXPECT_EQ(Rule("ScatterND").input("8x4").input("2x1", DataType::int64).input("2x4").infer(), "8x4");
}

TEST(Movement, Others) {
  EXPECT_EQ(Rule("Tile").input("2xn").ints({3, 2}).infer(), "6xn*2");
  EXPECT_EQ(Rule("Tile").input("2").ints({kMost}).infer(),
            "error: extent 0 of the result would be negative or beyond 2^63");
  EXPECT_EQ(Rule("Tile").ints({1, 2}).ints({2}).infer(), "int64 4 = [1, 2, 1, 2]");
  EXPECT_EQ(Rule("Pad", 10).input("2x3").attribute("pads", {0, 1, 0, 2}).infer(), "2x6");
  EXPECT_EQ(Rule("Pad", 13).input("2xn").ints({0, 1, 0, -2}).infer(), "2xn + 1 - 2");
  EXPECT_EQ(Rule("Pad", 18).input("2x3").ints({1, 1}).none().ints({-1}).infer(), "2x5");
  EXPECT_EQ(Rule("Pad", 13).input("2").ints({-1, -2}).infer(),
            "error: padding axis 0 of 2 leaves less than nothing");
  EXPECT_EQ(Rule("Pad", 13).input("2").ints({-3, 2}).infer(), "1");
  EXPECT_EQ(Rule("Pad", 13).input("2x3").input("4", DataType::int64).infer(), "Pad_1.paddedxPad_2.padded");
  EXPECT_EQ(Rule("DepthToSpace").input("1x8x2x3").attribute("blocksize", 2).infer(), "1x2x4x6");
  EXPECT_EQ(Rule("DepthToSpace").input("1x7x2x3").attribute("blocksize", 2).infer(),
            "error: an extent of 7 of 1x7x2x3 does not divide by 4");
  EXPECT_EQ(Rule("SpaceToDepth").input("1x2x4x6").attribute("blocksize", 2).infer(), "1x8x2x3");
  EXPECT_EQ(Rule("SpaceToDepth").input("1x2x4x6").attribute("blocksize", kMost).infer(),
            "error: a blocksize of 9223372036854775807 cannot be");
  EXPECT_EQ(Rule("Compress").input("3x4").input("4", DataType::boolean).attribute("axis", 1).infer(),
            "3xCompress_1.kept(<=4)");
  EXPECT_EQ(Rule("Compress").input("3x4").ints({1, 0, 1}).infer(), "2");
  EXPECT_EQ(Rule("OneHot").input("2x3", DataType::int64).ints({10}, "scalar").input("2").infer(), "2x3x10");
  EXPECT_EQ(Rule("OneHot").input("2x3", DataType::int64).ints({10}).input("2").attribute("axis", 0).infer(),
            "10x2x3");
  EXPECT_EQ(Rule("EyeLike").input("2x3").attribute("dtype", 11).infer(), "float64 2x3");
  EXPECT_EQ(Rule("Col2Im").input("1x5x5").ints({5, 5}).ints({1, 5}).infer(), "1x1x5x5");
  EXPECT_EQ(Rule("CenterCropPad").input("20x10x3").ints({10, 9}).attribute("axes", {0, 1}).infer(), "10x9x3");
  EXPECT_EQ(Rule("Trilu").input("3x3").infer(), "3x3");
}

}  // namespace
}  // namespace plimsoll::network::rule_test
