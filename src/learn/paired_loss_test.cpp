#include "learn/paired_loss.hpp"

#include <limits>

#include <gmock/gmock.h>

namespace plimsoll::learn {
namespace {

using ::testing::ElementsAre;

struct Answers {
  std::vector<std::int64_t> labels, first, second, places;
};
/// So many examples; of them both right, only the first right, only the second right.
Answers answers(int examples, int both, int lost, int won) {
  Answers a;
  for (int i = 0; i < examples; ++i) {
    a.labels.push_back(1);
    a.first.push_back(i < both + lost ? 1 : 0);
    a.second.push_back(i < both || (i >= both + lost && i < both + lost + won) ? 1 : 0);
    a.places.push_back(i);
  }
  return a;
}
PairedLoss loss_of(const Answers& a) {
  return paired_loss(a.first, a.second, a.labels, a.places);
}

TEST(PairedLoss, CountsWhatOneAloneHadRight) {
  const PairedLoss loss = loss_of(answers(1000, 800, 30, 10));
  EXPECT_EQ(loss.examples, 1000);
  EXPECT_EQ(loss.lost, 30);
  EXPECT_EQ(loss.won, 10);
  EXPECT_NEAR(loss.value, 0.02, 1e-12);
  // By hand: (30.5 - 10.5) / 1002 and sqrt(41 - 400 / 1002) / 1002.
  EXPECT_NEAR(loss.low, 0.019960 - 1.959964 * 0.0063591, 1e-5);
  EXPECT_NEAR(loss.most, 0.019960 + 1.644854 * 0.0063591, 1e-5);
}

TEST(PairedLoss, TwoThatNeverDisagreeAreNoProof) {
  const PairedLoss loss = loss_of(answers(100, 90, 0, 0));
  EXPECT_EQ(loss.value, 0);
  EXPECT_GT(loss.most, 0.01);
  EXPECT_LT(loss_of(answers(10'000, 9'000, 0, 0)).most, 0.0005);
}

TEST(PairedLoss, OfTheExamplesThatAreNamedAlone) {
  Answers a = answers(10, 5, 5, 0);
  a.places = {0, 1, 9, 77};
  const PairedLoss loss = loss_of(a);
  EXPECT_EQ(loss.examples, 3);
  EXPECT_EQ(loss.lost, 1);
  EXPECT_EQ(paired_loss(a.first, a.second, a.labels, {}).examples, 0);
}

TEST(Shares, WilsonsInterval) {
  const Share share = share_of(90, 100);
  EXPECT_NEAR(share.low, 0.8256, 1e-4);
  EXPECT_NEAR(share.high, 0.9448, 1e-4);
  EXPECT_EQ(share_of(0, 0).value(), 0);
  EXPECT_EQ(share_of(0, 0).high, 1);
}

TEST(FewestKept, IsFoundByHalving) {
  for (std::size_t least = 0; least <= 20; ++least) {
    int asked = 0;
    EXPECT_EQ(fewest_kept(20,
                          [&](std::size_t kept) {
                            ++asked;
                            return kept >= least;
                          }),
              least);
    EXPECT_LE(asked, 6);
  }
  EXPECT_EQ(fewest_kept(7, [](std::size_t) { return false; }), 7U);
  EXPECT_EQ(fewest_kept(0, [](std::size_t) { return false; }), 0U);
}

TEST(Fronts, HaveWhatNothingBeats) {
  const double unknown = std::numeric_limits<double>::quiet_NaN();
  const Point points[] = {{1, 0.8}, {2, 0.9}, {3, 0.9}, {4, 0.95}, {unknown, 0.99}, {2, 0.9}};
  EXPECT_THAT(front_of(points), ElementsAre(true, true, false, true, false, true));
}

}  // namespace
}  // namespace plimsoll::learn
