#include "plan/swap/weighed.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plimsoll::swapping {
namespace {

using testing::HasSubstr;

WeighedModel of_two(const std::string& name, std::int64_t head) {
  return {.model = {name, {{{0}, Seconds(1)}, {{1}, Seconds(1)}}, {}},
          .tensors = {{"body.weight", Bytes(40), {10}}, {"head.weight", Bytes(4 * head), {head}}}};
}

TEST(SwapSharing, OneNameInSeveralModelsOrNamesOfEach) {
  const std::vector models{of_two("a", 5), of_two("b", 7)};
  const std::vector<SharedGroup> by_pattern{{{"a", "b"}, {"*.weight"}}};
  const std::vector<SharedGroup> by_names{{{}, {"a:body.weight", "b:body.weight"}}};
  for (const auto& groups : {by_pattern, by_names}) {
    const auto all = joined(models, groups);
    ASSERT_TRUE(all);
    EXPECT_EQ(all->tensors.size(), 3);
    EXPECT_EQ(all->models[0].layers[0].tensors, all->models[1].layers[0].tensors);
    EXPECT_NE(all->models[0].layers[1].tensors, all->models[1].layers[1].tensors);
  }
  EXPECT_EQ(joined(models, {})->tensors.size(), 4);
}

TEST(SwapSharing, WhatIsNotThereOrNotAlikeIsToldAtOnce) {
  const std::vector models{of_two("a", 5), of_two("b", 7)};
  const std::vector<SharedGroup> groups{{{"a", "c"}, {"*"}},
                                        {{"a", "b"}, {"head.weight"}},
                                        {{}, {"a:head.weight", "b:head.weight"}},
                                        {{}, {"a:none", "nowhere"}}};
  const auto all = joined(models, groups);
  ASSERT_FALSE(all);
  ASSERT_EQ(all.error().size(), 5);
  EXPECT_THAT(all.error()[0].text(), HasSubstr("shared 1: there is no model 'c'"));
  EXPECT_THAT(all.error()[1].text(), HasSubstr("shared 2: no tensor 'head.weight' has the same shape"));
  EXPECT_THAT(all.error()[2].text(), HasSubstr("shared 3: 'b:head.weight' has another shape"));
  EXPECT_THAT(all.error()[3].text(), HasSubstr("shared 4: there is no tensor 'a:none'"));
}

}  // namespace
}  // namespace plimsoll::swapping
