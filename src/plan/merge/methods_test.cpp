#include <algorithm>

#include <gtest/gtest.h>

#include "plan/merge/plan.hpp"

namespace plimsoll::plan::merge {
namespace {

/// Layers of one tensor each, in order; those of one definition are of one size.
Model model(const std::vector<std::pair<std::string, std::int64_t>>& layers) {
  Model out;
  for (const auto& [definition, bytes] : layers) {
    out.layers.push_back({.definition = definition, .tensors = {out.tensors.size()}, .bytes = Bytes(bytes)});
    out.tensors.push_back({.bytes = Bytes(bytes)});
    out.bytes += Bytes(bytes);
  }
  return out;
}

/// They agree on the first layer, and have two more in common: one at the same depth, and a slightly heavier
/// one at the two ends.
std::vector<Model> two() {
  return {model({{"stem", 10}, {"far", 105}, {"near", 100}, {"own", 7}, {"own", 7}, {"alone", 1}}),
          model({{"stem", 10}, {"other", 3}, {"near", 100}, {"other", 3}, {"other", 3}, {"far", 105}})};
}

std::vector<std::string> order(const Plan& plan) {
  std::vector<std::string> out;
  for (const Group& group : plan.chosen) out.push_back(group.definition);
  return out;
}

TEST(MergeMethods, SayWhatIsSharedAndInWhichOrder) {
  const std::vector<Model> models = two();
  using Words = std::vector<std::string>;
  EXPECT_EQ(order(make_plan(models, {}, Method::none, 0)), Words{});
  EXPECT_EQ(order(make_plan(models, {}, Method::stem, 0)), Words{"stem"});
  EXPECT_EQ(order(make_plan(models, {}, Method::greedy, 0)), (Words{"far", "near", "stem"}));
  EXPECT_EQ(order(make_plan(models, {}, Method::plimsoll, 0)), (Words{"near", "far", "stem"}));
}

TEST(MergeMethods, DifferInTheirOrderAlone) {
  const std::vector<Model> models = two();
  for (const Method method : {Method::greedy, Method::all_at_once, Method::random, Method::plimsoll}) {
    const Plan plan = make_plan(models, {}, method, 5);
    EXPECT_EQ(plan.saved.saved().count(), 215);
    EXPECT_EQ(plan.ceiling.saved().count(), 215);
    EXPECT_EQ(plan.stem.saved().count(), 10);
    EXPECT_EQ(plan.saved.apart.count(), 230 + 224);
  }
  EXPECT_EQ(make_plan(models, {}, Method::none, 0).saved.saved().count(), 0);
}

TEST(MergeMethods, ASeedGivesOneOrder) {
  const std::vector<Model> models = two();
  std::vector<std::vector<std::string>> orders;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    orders.push_back(order(make_plan(models, {}, Method::random, seed)));
    EXPECT_EQ(orders.back(), order(make_plan(models, {}, Method::random, seed)));
  }
  std::ranges::sort(orders);
  orders.erase(std::ranges::unique(orders).begin(), orders.end());
  EXPECT_EQ(orders.size(), 6U);  // all there are of three groups
}

}  // namespace
}  // namespace plimsoll::plan::merge
