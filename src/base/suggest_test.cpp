#include "base/suggest.hpp"

#include <array>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plimsoll {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::array<std::string_view, 6> kModels = {"resnet18", "resnet50",     "resnet152",
                                                     "vgg16",    "mobilenet-v2", "vit-b-16"};

TEST(EditDistance, CountsInsertionsDeletionsReplacementsAndSwaps) {
  EXPECT_EQ(edit_distance("", ""), 0U);
  EXPECT_EQ(edit_distance("", "abc"), 3U);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3U);
  EXPECT_EQ(edit_distance("resent50", "resnet50"), 1U);
  EXPECT_EQ(edit_distance("ca", "abc"), 3U) << "optimal string alignment: no letter is edited twice";
}

TEST(EditDistance, DoesNotMindCaseOrKindOfDash) {
  EXPECT_EQ(edit_distance("MobileNet_V2", "mobilenet-v2"), 0U);
  EXPECT_EQ(edit_distance("RTX 4090", "rtx-4090"), 0U);
}

TEST(NearestNames, GivesTheNearestAlone) {
  EXPECT_THAT(nearest_names("resnet51", kModels), ElementsAre("resnet50"));
  EXPECT_THAT(nearest_names("resnet1", kModels), ElementsAre("resnet18"));
  EXPECT_THAT(nearest_names("vgg61", kModels), ElementsAre("vgg16"));
}

TEST(NearestNames, TakesABeginningForTheWhole) {
  EXPECT_THAT(nearest_names("mobile", kModels), ElementsAre("mobilenet-v2"));
}

TEST(NearestNames, GivesNoneWhereAllAreFar) {
  EXPECT_THAT(nearest_names("transformer", kModels), IsEmpty());
  EXPECT_THAT(nearest_names("", kModels), IsEmpty());
  EXPECT_THAT(nearest_names(std::string(1'000'000, 'v'), kModels), IsEmpty()) << "and at no cost";
}

TEST(DidYouMean, IsASentence) {
  EXPECT_EQ(did_you_mean("resnet", kModels), "Did you mean resnet18, resnet50 or resnet152?");
  EXPECT_EQ(did_you_mean("vgg17", kModels), "Did you mean vgg16?");
  EXPECT_EQ(did_you_mean("zzz", kModels), "");
}

}  // namespace
}  // namespace plimsoll
