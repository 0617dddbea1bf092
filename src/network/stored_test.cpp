#include "network/stored.hpp"

#include <gtest/gtest.h>

#include "network/builder.hpp"
#include "network/saturating.hpp"

namespace plimsoll::network {
namespace {

Network two_weights() {
  Builder b("test");
  (void)b.parameter("a", {256});
  (void)b.parameter("b", {512});
  return std::move(b).finish();
}

TEST(Stored, AWeightIsFoundByItsTensor) {
  Network n = two_weights();
  const TensorId a = n.main().weights[0], b = n.main().weights[1];
  EXPECT_EQ(n.stored_of(a), nullptr);
  set_stored(n, {{b, "Q4_K", 288, true}, {a, "Q4_K", 144, false}});
  ASSERT_NE(n.stored_of(a), nullptr);
  EXPECT_EQ(n.stored_of(a)->bytes, 144);
  EXPECT_FALSE(n.stored_of(a)->kept);
  EXPECT_EQ(n.view(n.stored_of(b)->format), "Q4_K");
  EXPECT_TRUE(n.stored_of(b)->kept);
}

TEST(Stored, NetworksThatAreStoredOtherwiseAreNotEqual) {
  Network n = two_weights(), m = two_weights();
  n.graphs[0].outputs = m.graphs[0].outputs = n.main().weights;
  EXPECT_TRUE(n == m);
  set_stored(n, {{n.main().weights[0], "Q8_0", 272, true}});
  EXPECT_FALSE(n == m);
  set_stored(m, {{m.main().weights[0], "Q8_0", 272, true}});
  EXPECT_TRUE(n == m);
  set_stored(m, {{m.main().weights[0], "Q8_1", 272, true}});
  EXPECT_FALSE(n == m);
}

TEST(Stored, WholePrecisionsConvertAndOthersDoNot) {
  for (const DataType type : {DataType::float32, DataType::float16, DataType::bfloat16}) {
    EXPECT_EQ(kept_type(type, Precision::fp16), DataType::float16);
    EXPECT_EQ(kept_type(type, Precision::bf16), DataType::bfloat16);
    EXPECT_EQ(kept_type(type, Precision::int8), DataType::int8);
    for (const Precision p :
         {Precision::fp32, Precision::fp32_strict, Precision::tf32, Precision::amp_bf16, Precision::amp_fp16})
      EXPECT_EQ(kept_type(type, p), type);
  }
  for (const DataType type : {DataType::int64, DataType::float64, DataType::boolean})
    EXPECT_EQ(kept_type(type, Precision::bf16), type);
}

TEST(Stored, HalfPrecisionStoredAndAskedIsNotHalvedTwice) {
  WeightSizes sizes;
  sizes.add(DataType::float16, 100);
  sizes.add(DataType::float32, 10);
  sizes.add(DataType::int64, 1);
  sizes.kept = 18;
  EXPECT_EQ(sizes.bytes(Precision::fp32), 200 + 40 + 8 + 18);
  EXPECT_EQ(sizes.bytes(Precision::fp16), 200 + 20 + 8 + 18);
  EXPECT_EQ(sizes.bytes(Precision::bf16), 200 + 20 + 8 + 18);
  EXPECT_EQ(sizes.bytes(Precision::int8), 100 + 10 + 8 + 18);
  EXPECT_EQ(sizes.bytes(Precision::amp_fp16), 200 + 40 + 8 + 18);
  sizes.add(DataType::float32, kUnbounded);
  EXPECT_EQ(sizes.bytes(Precision::fp32), kUnbounded);
}

}  // namespace
}  // namespace plimsoll::network
