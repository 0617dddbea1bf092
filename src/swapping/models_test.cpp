#include "swapping/models.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "swapping/test_models.hpp"

namespace plimsoll::swapping {
namespace {

using testing::ElementsAre;

/// One layer per tensor.
Model model_of(const std::string& name, const std::vector<std::size_t>& tensors) {
  Model out{.name = name, .layers = {}, .activations = {}};
  for (const std::size_t tensor : tensors) out.layers.push_back({{tensor}, Seconds(1)});
  return out;
}

TEST(SwapModels, TensorsAreCutIntoBlocksThatNeighboursShare) {
  const Packed packed = pack({{Bytes(25), Bytes(10), Bytes(3)}, {model_of("a", {0, 1, 2})}}, Bytes(10));
  ASSERT_EQ(packed.chunks.size(), 3);  // 2 of the first, 1 of first and second, 1 of second and third
  EXPECT_EQ(packed.chunks[0].blocks, 2);
  EXPECT_THAT(packed.chunks[1].uses, ElementsAre(Use{0, 0}, Use{0, 1}));
  EXPECT_THAT(packed.chunks[2].uses, ElementsAre(Use{0, 1}, Use{0, 2}));
  EXPECT_EQ(packed.blocks, 4);
  EXPECT_EQ(packed.largest_layer(), 3);
  EXPECT_EQ(packed.largest_model(), 4);
}

TEST(SwapModels, WhatIsSharedIsHeldOnce) {
  const Models models{{Bytes(100), Bytes(40)}, {model_of("a", {0, 1}), model_of("b", {0})}};
  const Packed together = pack(models, Bytes(10)), each = pack(apart(models), Bytes(10));
  EXPECT_EQ(together.blocks, 14);
  EXPECT_EQ(each.blocks, 24);
  EXPECT_EQ(together.models[1].blocks, 10);
  EXPECT_EQ(weights_of(models), Bytes(140));
  EXPECT_EQ(weights_of(apart(models)), Bytes(240));
}

TEST(SwapModels, ATensorUsedTwiceInAModelStaysOne) {
  const Models models{{Bytes(30)}, {model_of("a", {0, 0})}};
  EXPECT_EQ(pack(models, Bytes(10)).blocks, 3);
  EXPECT_EQ(pack(apart(models), Bytes(10)).blocks, 3);
}

TEST(SwapModels, EveryByteHasARoomAndEveryLayerItsBlocks) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    Random random(seed);
    const Models models = random_models(random, 5, 8, 100);
    const Bytes block(static_cast<std::int64_t>(1 + random.below(40)));
    const Packed packed = pack(models, block);
    EXPECT_GE(packed.bytes(packed.blocks), weights_of(models)) << seed;
    for (std::size_t model = 0; model < models.models.size(); ++model)
      for (std::size_t layer = 0; layer < models.models[model].layers.size(); ++layer) {
        std::int64_t blocks = 0;
        for (const std::size_t chunk : packed.models[model].layers[layer].chunks)
          blocks += packed.chunks[chunk].blocks;
        EXPECT_GE(packed.bytes(blocks), models.tensors[models.models[model].layers[layer].tensors[0]]);
      }
  }
}

}  // namespace
}  // namespace plimsoll::swapping
