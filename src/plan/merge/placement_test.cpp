#include "plan/merge/placement.hpp"

#include <gtest/gtest.h>

namespace plimsoll::plan::merge {
namespace {

StoredTensor tensor(std::int64_t bytes, bool movable = true) {
  return {.id = network::kNoTensor, .name = "t", .bytes = Bytes(bytes), .movable = movable};
}

TEST(MergePlacement, PutsEachSetOnceAndAligned) {
  const std::vector<Model> models = {{.tensors = {tensor(10), tensor(8192), tensor(8, false), tensor(0)}},
                                     {.tensors = {tensor(100), tensor(8192)}}};
  const Placement placed = place(models, {{{0, 1}, {1, 1}}});
  ASSERT_EQ(placed.offsets.size(), 2U);
  using Offsets = std::vector<std::optional<std::int64_t>>;
  EXPECT_EQ(placed.offsets[0], (Offsets{0, 4096, std::nullopt, std::nullopt}));
  EXPECT_EQ(placed.offsets[1], (Offsets{4096 + 8192, 4096}));
  EXPECT_EQ(placed.written, (std::vector<TensorPlace>{{0, 0}, {0, 1}, {1, 0}}));
  EXPECT_EQ(placed.file.count(), 4096 + 8192 + 100);
}

TEST(MergePlacement, KnowsOffsetsBeyond32Bits) {
  const std::int64_t large = std::int64_t{5} << 30;
  const Placement placed = place({{.tensors = {tensor(large), tensor(4)}}}, {});
  EXPECT_EQ(placed.offsets[0][1], large);
  EXPECT_EQ(placed.file.count(), large + 4);
}

}  // namespace
}  // namespace plimsoll::plan::merge
