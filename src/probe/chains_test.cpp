#include "probe/chains.hpp"

#include <set>

#include <gtest/gtest.h>

#include "hardware/catalogue.hpp"
#include "probe/grid.hpp"

namespace plimsoll::probe {
namespace {

std::vector<job::OperatorChain> of_a_gpu() {
  const hardware::Device device = **(*hardware::built_in_catalogue()).find("h200");
  return designed_chains(designed_grid(GridKind::gpu, limits_for(GridKind::gpu, device)));
}

TEST(Chains, EverySecondOperatorOfAMixedOneIsAProduct) {
  const std::vector<job::OperatorChain> chains = of_a_gpu();
  ASSERT_EQ(chains.size(), 4U);
  EXPECT_EQ(chains[0].name, "fp32-others");
  EXPECT_EQ(chains[3].name, "bf16-mixed");
  const std::set<std::string> products = {"convolution", "depthwise", "matrix", "attention"};
  for (const auto& chain : {chains[1], chains[3]}) {
    ASSERT_EQ(chain.cases.size(), 48U) << chain.name;
    for (std::size_t i = 0; i < chain.cases.size(); ++i)
      EXPECT_EQ(products.contains(chain.cases[i].operator_class), i % 2 == 0)
          << chain.cases[i].operator_class;
  }
  for (const job::OperatorCase& c : chains[0].cases) EXPECT_FALSE(products.contains(c.operator_class));
}

TEST(Chains, NoOperatorComesTwice) {
  for (const job::OperatorChain& chain : of_a_gpu())
    for (std::size_t i = 0; i < chain.cases.size(); ++i)
      for (std::size_t j = 0; j < i; ++j) EXPECT_NE(chain.cases[i], chain.cases[j]) << chain.name;
}

TEST(Chains, AGridWithoutSmallOperatorsHasNone) {
  EXPECT_TRUE(designed_chains({}).empty());
}

TEST(Chains, TheChangeIsWhatARowTakesLonger) {
  // 24 others take 6 us longer in a row: 0.25 us each. 48 in turns take 30 us longer: 24 x (0.25 + 1).
  const std::vector<hardware::KernelChange> changes =
      kernel_changes({{"bf16-others", {"bf16-others", 24, 100e-6, 106e-6}},
                      {"bf16-mixed", {"bf16-mixed", 48, 200e-6, 230e-6}},
                      {"fp32-others", {"fp32-others", 24, 100e-6, 106e-6}}});
  ASSERT_EQ(changes.size(), 1U);
  EXPECT_EQ(changes[0].arithmetic, hardware::Arithmetic::bf16);
  EXPECT_NEAR(changes[0].other, 0.25e-6, 1e-12);
  EXPECT_NEAR(changes[0].product, 1e-6, 1e-12);
}

TEST(Chains, ARowThatIsQuickerCostsNothing) {
  const std::vector<hardware::KernelChange> changes =
      kernel_changes({{"fp32-others", {"fp32-others", 24, 100e-6, 90e-6}},
                      {"fp32-mixed", {"fp32-mixed", 48, 2e-4, 1.9e-4}}});
  ASSERT_EQ(changes.size(), 1U);
  EXPECT_EQ(changes[0].other, 0);
  EXPECT_EQ(changes[0].product, 0);
}

}  // namespace
}  // namespace plimsoll::probe
