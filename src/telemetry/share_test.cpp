#include "telemetry/share.hpp"

#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plimsoll::telemetry {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;

Tenant with_time(int run, double share) {
  return {.run = run, .time_share = share};
}
Tenant with_weight(int run, double weight) {
  return {.run = run, .given = weight};
}

TEST(Share, OneAloneHasAll) {
  const auto shares = share_out({.tenants = {{.run = 1}}});
  ASSERT_TRUE(shares);
  EXPECT_EQ(shares->method, ShareMethod::alone);
  EXPECT_THAT(shares->shares, ElementsAre(1.0));
}

TEST(Share, SeveralShareInProportionToTheirTime) {
  const auto shares = share_out({.tenants = {with_time(1, 0.6), with_time(2, 0.2)}});
  ASSERT_TRUE(shares);
  EXPECT_EQ(shares->method, ShareMethod::time_share);
  EXPECT_THAT(shares->shares, ElementsAre(DoubleNear(0.75, 1e-12), DoubleNear(0.25, 1e-12)));
}

TEST(Share, WhatOthersUseIsGivenToNobody) {
  const auto shares = share_out({.tenants = {with_time(1, 0.3)}, .others = 2, .others_time_share = 0.9});
  ASSERT_TRUE(shares);
  EXPECT_THAT(shares->shares, ElementsAre(DoubleNear(0.25, 1e-12)));
}

TEST(Share, WeightsGivenGoBeforeTheDriversTime) {
  Tenant first = with_weight(1, 3);
  Tenant second = with_weight(2, 1);
  first.time_share = second.time_share = 0.5;
  const auto shares = share_out({.tenants = {first, second}});
  ASSERT_TRUE(shares);
  EXPECT_EQ(shares->method, ShareMethod::given);
  EXPECT_THAT(shares->shares, ElementsAre(0.75, 0.25));
  const auto beside_idle = share_out({.tenants = {first, second}, .others = 1, .others_time_share = 0});
  ASSERT_TRUE(beside_idle);
  EXPECT_EQ(beside_idle->method, ShareMethod::given);
  const auto beside_busy = share_out({.tenants = {first, second}, .others = 1, .others_time_share = 0.1});
  ASSERT_TRUE(beside_busy);
  EXPECT_EQ(beside_busy->method, ShareMethod::time_share) << "nobody weighs a process that is not watched";
}

TEST(Share, OneWithoutAWeightLeavesThemToTheDriver) {
  EXPECT_FALSE(share_out({.tenants = {with_weight(1, 3), {.run = 2}}}));
  Tenant first = with_weight(1, 3);
  first.time_share = 0.5;
  const auto shares = share_out({.tenants = {first, with_time(2, 0.5)}});
  ASSERT_TRUE(shares);
  EXPECT_EQ(shares->method, ShareMethod::time_share);
}

TEST(Share, AnIdleGpuIsKeptByAllWhoHoldIt) {
  const auto shares = share_out({.tenants = {{.run = 1}, {.run = 2}}, .others = 2, .idle = true});
  ASSERT_TRUE(shares);
  EXPECT_EQ(shares->method, ShareMethod::idle);
  EXPECT_THAT(shares->shares, ElementsAre(0.25, 0.25));
}

TEST(Share, SlicesShareByWhatTheyDid) {
  const Tenancy tenancy{.tenants = {{.run = 1, .slice_work = 2}, {.run = 2, .slice_work = 1}},
                        .sliced = true,
                        .others_slice_work = 1};
  const auto shares = share_out(tenancy);
  ASSERT_TRUE(shares);
  EXPECT_EQ(shares->method, ShareMethod::slices);
  EXPECT_THAT(shares->shares, ElementsAre(0.5, 0.25));
  EXPECT_FALSE(share_out({.tenants = {with_time(1, 1), with_time(2, 1)}, .sliced = true}));
}

TEST(Share, WhatCannotBeToldIsNotGuessed) {
  EXPECT_FALSE(share_out({}));
  EXPECT_FALSE(share_out({.tenants = {{.run = 1}, {.run = 2}}}));
  EXPECT_FALSE(share_out({.tenants = {with_time(1, 0.5)}, .others = 1}));
  EXPECT_FALSE(share_out({.tenants = {with_time(1, 0), with_time(2, 0)}}));
  const double broken = std::numeric_limits<double>::quiet_NaN();
  EXPECT_FALSE(share_out({.tenants = {with_time(1, broken), with_time(2, 1)}}));
  EXPECT_FALSE(share_out({.tenants = {with_weight(1, -1), with_weight(2, 1)}}));
}

}  // namespace
}  // namespace plimsoll::telemetry
