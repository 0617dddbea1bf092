#include "program/views.hpp"

#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plimsoll::program {
namespace {

using testing::ElementsAre;
using Extents = std::vector<std::int64_t>;

Value tensor(const Extents& dims) {
  Value v{.rank = static_cast<std::uint8_t>(dims.size()), .elements = 1};
  for (std::size_t i = 0; i < dims.size(); ++i) {
    v.dims[i] = dims[i];
    v.elements *= dims[i];
  }
  set_contiguous(v);
  return v;
}

Extents dims(const Value& v) {
  return {v.dims.begin(), v.dims.begin() + v.rank};
}
Extents strides(const Value& v) {
  return {v.strides.begin(), v.strides.begin() + v.rank};
}

Value in_order(const Value& v, const Extents& order) {
  return permuted(v, order);
}
std::optional<Value> as(const Value& v, const Extents& dims) {
  return viewed(v, dims);
}

/// Batch 2, 5 tokens, 3 heads of width 4, as attention has its queries: torch's x.view(2, 5, 3,
/// 4).transpose(1, 2).
Value heads() {
  const auto split = as(tensor({2, 5, 12}), {2, 5, 3, 4});
  EXPECT_TRUE(split);
  return in_order(split.value_or(Value()), {0, 2, 1, 3});
}

/// Batch 2, 3 channels, 4 x 5, channels fastest: torch.channels_last.
Value image() {
  return in_order(tensor({2, 4, 5, 3}), {0, 3, 1, 2});
}

TEST(Views, ContiguousStrides) {
  EXPECT_THAT(strides(tensor({2, 3, 4})), ElementsAre(12, 4, 1));
  EXPECT_TRUE(tensor({2, 3, 4}).contiguous());
  EXPECT_TRUE(tensor({}).contiguous());
}

TEST(Views, BytesOfAValue) {
  EXPECT_EQ(tensor({2, 3}).bytes(), 24);
  Value bits = tensor({3});
  bits.type = network::DataType::int4;
  EXPECT_EQ(bits.bytes(), 2);  // 12 bits
  Value huge = tensor({1});
  huge.elements = std::int64_t{1} << 61;
  EXPECT_EQ(huge.bytes(), std::int64_t{1} << 60);  // the most there is, not an overflow
}

TEST(Views, SplitIntoHeadsIsAView) {
  const Value v = heads();
  EXPECT_THAT(dims(v), ElementsAre(2, 3, 5, 4));
  EXPECT_THAT(strides(v), ElementsAre(60, 4, 12, 1));  // as torch prints them
  EXPECT_FALSE(v.contiguous());
}

TEST(Views, MergeOfHeadsMustCopy) {
  // [2, 3, 5, 4] -> [2, 15, 4]: heads and tokens would have to be one dimension, but tokens lie 12 apart and
  // heads 4. torch: "view size is not compatible".
  EXPECT_FALSE(as(heads(), {2, 15, 4}));
  // Turned back, the dimensions are as they were, and heads and width merge without a copy.
  const Value back = in_order(heads(), {0, 2, 1, 3});
  EXPECT_TRUE(back.contiguous());
  const auto merged = as(back, {2, 5, 12});
  ASSERT_TRUE(merged);
  EXPECT_THAT(strides(*merged), ElementsAre(60, 12, 1));
  // The output of a kernel that wrote [batch, heads, tokens, width] contiguously has to be copied.
  EXPECT_FALSE(as(in_order(tensor({2, 3, 5, 4}), {0, 2, 1, 3}), {2, 5, 12}));
}

TEST(Views, PartsOfARunCanBeCut) {
  const Value v = heads();  // 3 heads of width 4, 12 between tokens
  const auto cut = as(v, {2, 3, 5, 2, 2});
  ASSERT_TRUE(cut);
  EXPECT_THAT(strides(*cut), ElementsAre(60, 4, 12, 2, 1));
  EXPECT_FALSE(as(v, {2, 3, 2, 10}));  // 10 is more than a row of 4
}

TEST(Views, DimensionsOfOneComeAndGo) {
  const auto more = as(heads(), {2, 1, 3, 5, 1, 4});
  ASSERT_TRUE(more);
  EXPECT_THAT(dims(*more), ElementsAre(2, 1, 3, 5, 1, 4));
  const auto fewer = as(*more, {2, 3, 5, 4});
  ASSERT_TRUE(fewer);
  EXPECT_THAT(strides(*fewer), ElementsAre(60, 4, 12, 1));
}

TEST(Views, OneStreamOfTokensIsOneDimension) {
  // A batch of one: [1, 3, 5, 4] with strides (60, 4, 12, 1) still cannot merge heads and tokens,
  const Value one = in_order(as(tensor({1, 5, 12}), {1, 5, 3, 4}).value_or(Value()), {0, 2, 1, 3});
  EXPECT_FALSE(as(one, {15, 4}));
  // but with one head it can.
  const Value single = in_order(as(tensor({2, 5, 4}), {2, 5, 1, 4}).value_or(Value()), {0, 2, 1, 3});
  EXPECT_TRUE(as(single, {10, 4}));
}

TEST(Views, MoreDimensionsThanAreFollowed) {
  const auto v = as(tensor({512}), {2, 2, 2, 2, 2, 2, 2, 2, 2});
  ASSERT_TRUE(v);
  EXPECT_FALSE(v->strided);
  EXPECT_EQ(v->bytes(), 2048);
}

TEST(Views, PermutedLeavesWhatItCannotFollow) {
  const Value v = tensor({2, 3});
  EXPECT_THAT(dims(in_order(v, {1, 0})), ElementsAre(3, 2));
  EXPECT_THAT(strides(in_order(v, {1, 0})), ElementsAre(1, 3));
  EXPECT_THAT(dims(in_order(v, {0})), ElementsAre(2, 3));     // too few
  EXPECT_THAT(dims(in_order(v, {0, 7})), ElementsAre(2, 3));  // no such dimension
}

TEST(Views, ExpandedRepeatsWithoutMemory) {
  const Value v = expanded(tensor({3, 1}), Extents{2, 3, 4});
  EXPECT_THAT(dims(v), ElementsAre(2, 3, 4));
  EXPECT_THAT(strides(v), ElementsAre(0, 1, 0));
  EXPECT_EQ(v.elements, 24);
  EXPECT_FALSE(v.contiguous());
  EXPECT_FALSE(as(v, {24}));  // reshape copies
  EXPECT_TRUE(as(v, {2, 3, 2, 2}));
}

TEST(Views, MatricesThatABlasReads) {
  EXPECT_TRUE(is_batch_of_matrices(tensor({2, 3, 5, 4})));
  EXPECT_TRUE(
      is_batch_of_matrices(in_order(tensor({2, 3, 5, 4}), {0, 1, 3, 2})));  // transposed: columns are dense
  // Heads of several samples are no single batch dimension: 60 between samples, 4 between heads.
  EXPECT_FALSE(is_batch_of_matrices(heads()));
  // Of one sample they are.
  const Value one = in_order(as(tensor({1, 5, 12}), {1, 5, 3, 4}).value_or(Value()), {0, 2, 1, 3});
  EXPECT_TRUE(is_batch_of_matrices(one));
  // Neither rows nor columns dense: channels last, seen as matrices of height x width.
  EXPECT_FALSE(is_batch_of_matrices(in_order(tensor({1, 4, 5, 3}), {0, 3, 1, 2})));
  EXPECT_TRUE(is_batch_of_matrices(tensor({7})));
}

TEST(Views, ChannelsLast) {
  EXPECT_TRUE(is_channels_last(image()));
  EXPECT_THAT(strides(image()), ElementsAre(60, 1, 15, 3));
  EXPECT_FALSE(is_channels_last(tensor({2, 3, 4, 5})));
  EXPECT_FALSE(is_channels_last(tensor({2, 3, 4})));
  // One channel, or one place, is laid out both ways at once, and torch prefers contiguous.
  EXPECT_FALSE(is_channels_last(in_order(tensor({2, 4, 5, 1}), {0, 3, 1, 2})));
  EXPECT_FALSE(is_channels_last(in_order(tensor({2, 1, 1, 3}), {0, 3, 1, 2})));
  Value gaps = image();
  gaps.strides[0] = 120;
  EXPECT_FALSE(is_channels_last(gaps));
  Value unknown = image();
  unknown.strided = false;
  EXPECT_FALSE(is_channels_last(unknown));
}

TEST(Views, ElementWiseResultsKeepTheOrderOfTheInput) {
  Value result = tensor({2, 3, 4, 5});
  set_layout_like(result, image());
  EXPECT_THAT(strides(result), ElementsAre(60, 1, 15, 3));
  EXPECT_TRUE(is_channels_last(result));

  Value of_heads = tensor({2, 3, 5, 4});
  set_layout_like(of_heads, heads());
  EXPECT_THAT(strides(of_heads), ElementsAre(60, 4, 12, 1));

  // A part of something wider is laid out in its order without its gaps: torch.empty_like(x[:, :, :2]).
  Value part = in_order(tensor({2, 3, 8}), {0, 2, 1});  // [2, 8, 3], strides (24, 1, 8)
  part.dims[1] = 2;
  part.elements = 12;
  Value dense = tensor({2, 2, 3});
  set_layout_like(dense, part);
  EXPECT_THAT(strides(dense), ElementsAre(6, 1, 2));

  Value other = tensor({2, 3, 5});
  set_layout_like(other, image());  // other extents: nothing to follow
  EXPECT_TRUE(other.contiguous());
}

TEST(Views, LieAlikeWhereTheirElementsAreInTheSameOrder) {
  Value a{.rank = 3, .elements = 24};
  a.dims = {2, 3, 4};
  set_contiguous(a);
  Value b = a;
  EXPECT_TRUE(lies_like(a, b));
  constexpr std::array<std::int64_t, 3> kOrder = {1, 0, 2};
  Value turned{.rank = 3, .elements = 24};
  turned.dims = {3, 2, 4};
  set_contiguous(turned);
  b = permuted(turned, kOrder);  // of the same extents
  EXPECT_EQ(b.dims, a.dims);
  EXPECT_FALSE(lies_like(a, b));
  b.strided = false;
  EXPECT_TRUE(lies_like(a, b)) << "nothing is known of it";
}

}  // namespace
}  // namespace plimsoll::program
