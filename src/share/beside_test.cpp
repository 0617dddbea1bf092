#include "share/beside.hpp"

#include <array>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "share/test_workloads.hpp"

namespace plimsoll::share {
namespace {

using testing::HasSubstr;

Result<Beside> ask(std::vector<const Workload*> workloads, const std::string& sharing) {
  const hardware::Device device = device_named("h200");
  const auto read = read_sharing(sharing, workloads.size());
  if (!read) return std::unexpected(read.error());
  return beside(workloads, device, *read, sharing_figures(device));
}

// What small programs of spinning kernels did on an H200 (docs/figures/sharing_physics_h200.txt), told by the
// model.

TEST(Turns, TwoThatAreBusyShareWhatChangesLeave) {
  const Workload big = captured("big", kernels_alike(20, 400, 8));
  const auto both = ask({&big, &big}, "naive");
  ASSERT_TRUE(both);
  // 17.8 ms for a step of 8.06 ms were measured: 0.453.
  EXPECT_NEAR(both->members[0].speed, 0.453, 0.01);
  EXPECT_NEAR(both->members[1].speed, 0.453, 0.01);
  EXPECT_GT(both->members[0].causes.slices, 1.0);
}

TEST(Turns, WhoWaitsAfterEveryStepLosesTheRestOfItsTurn) {
  const Workload big = captured("big", kernels_alike(20, 400, 8));
  const Workload small = captured("small", kernels_alike(174, 4.6, 0.05), 1);
  const auto both = ask({&small, &big}, "naive");
  ASSERT_TRUE(both);
  EXPECT_NEAR(both->members[0].speed, 810.7 / 3216.5, 0.02);  // as measured
  EXPECT_NEAR(both->members[1].speed, 8063.0 / 12587.0, 0.04);
}

TEST(Together, AKernelWaitsForAllBlocksOfTheOneBeforeIt) {
  const Workload big = captured("big", kernels_alike(20, 400, 8));
  const Workload small = captured("small", kernels_alike(174, 4.6, 0.05));
  const auto both = ask({&small, &big}, "mps");
  ASSERT_TRUE(both);
  // 63.2 ms for a step of 0.80 ms, while the other is as fast as alone. In the model durations vary, and a
  // few short kernels slip in as a long one ends.
  EXPECT_GT(both->members[0].speed, 0.0127);
  EXPECT_LT(both->members[0].speed, 0.04);
  EXPECT_NEAR(both->members[1].speed, 0.99, 0.03);
  EXPECT_GT(both->members[0].causes.waits, 20);
}

TEST(Together, WhatLeavesRoomDisturbsNobody) {
  const Workload one = captured("one", kernels_alike(20, 400, 0.02));
  const Workload tiny = captured("tiny", kernels_alike(174, 4.6, 0.02));
  const auto both = ask({&tiny, &one}, "mps");
  const auto alone = ask({&tiny}, "mps");
  ASSERT_TRUE(both && alone);
  // Launches while others launch are a little slower; nothing else is.
  EXPECT_NEAR(both->members[0].speed / alone->members[0].speed, 0.85, 0.06);
  EXPECT_GT(both->members[1].speed, 0.97);
}

TEST(Together, TwoThatFillTheGpuGainNothing) {
  const Workload mid = captured("mid", kernels_alike(100, 60, 1));
  const auto both = ask({&mid, &mid}, "mps");
  ASSERT_TRUE(both);
  EXPECT_NEAR(both->combined, 1.0, 0.05);
}

TEST(Together, CapsFreeTheShortKernels) {
  const Workload big = captured("big", kernels_alike(20, 400, 8));
  const Workload small = captured("small", kernels_alike(174, 4.6, 0.05));
  const auto capped = ask({&small, &big}, "mps:25,75");
  ASSERT_TRUE(capped);
  EXPECT_GT(capped->members[0].speed, 0.5);  // 826 µs of 801 measured, kernels of one function
  EXPECT_NEAR(capped->members[1].speed, 0.73, 0.06);
  EXPECT_GT(capped->members[1].causes.fewer_sms, 0.2);
}

TEST(Beside, ACapThatLeavesNoSmIsRefused) {
  const Workload mid = captured("mid", kernels_alike(10, 60, 1));
  const auto none = ask({&mid}, "mps:1");
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().message, HasSubstr("less than the two"));
}

TEST(Beside, OneAfterTheOtherHalvesEach) {
  const Workload mid = captured("mid", kernels_alike(10, 60, 1));
  const auto both = ask({&mid, &mid}, "exclusive");
  ASSERT_TRUE(both);
  EXPECT_NEAR(both->combined, 1.0, 1e-9);
}

TEST(Beside, ClocksFallWhereThePowerIsNotThere) {
  Workload hot = captured("hot", kernels_alike(10, 60, 0.3));
  hot.watts = Watts(600);
  const auto both = ask({&hot, &hot}, "mps");
  ASSERT_TRUE(both && both->watts);
  EXPECT_EQ(both->watts->value(), 700);
  EXPECT_GT(both->members[0].causes.power, 0);
}

TEST(Beside, FewCoresSlowHosts) {
  Workload eager = captured("eager", kernels_alike(100, 10, 0.1), 1);
  eager.host = Seconds(2e-3);
  eager.step = step_of(eager, eager.kernels, 0, 1);
  const hardware::Device device = device_named("h200");
  const std::array workloads = {static_cast<const Workload*>(&eager), static_cast<const Workload*>(&eager)};
  const Sharing sharing{.way = Way::mps};
  const auto many = beside(workloads, device, sharing, sharing_figures(device), {.cores = 8});
  const auto one = beside(workloads, device, sharing, sharing_figures(device), {.cores = 1});
  ASSERT_TRUE(many && one);
  EXPECT_LT(one->members[0].speed, 0.6 * many->members[0].speed);
  EXPECT_GT(one->members[0].causes.host, 0.5);
}

TEST(Beside, AServiceIsToldByItsLatency) {
  Workload service = captured("service", kernels_alike(100, 10, 0.1), 1);
  service.arrivals = 100;
  const Workload training = captured("training", kernels_alike(50, 400, 8), 1);
  const auto both = ask({&service, &training}, "naive");
  ASSERT_TRUE(both);
  const auto& latency = both->members[0].latency;
  ASSERT_TRUE(latency);
  EXPECT_NEAR(latency->alone_median.value(), 1.015e-3, 5e-5);
  EXPECT_GT(latency->median, latency->alone_median * 1.5);
  EXPECT_GT(latency->p99, latency->median);
  EXPECT_GT(both->members[1].speed, 0.8);  // it is asked a tenth of the time
}

TEST(Beside, AServiceThatComesFirstWaitsForTheBlocksThatRunAlone) {
  Workload service = captured("service", kernels_alike(100, 10, 0.1), 1);
  service.arrivals = 100;
  const Workload training = captured("training", kernels_alike(50, 400, 8), 1);
  const hardware::Device device = device_named("h200");
  const std::array workloads = {static_cast<const Workload*>(&service),
                                static_cast<const Workload*>(&training),
                                static_cast<const Workload*>(&training)};
  const auto told = [&](bool first) {
    return beside(workloads, device, {.way = Way::mps}, sharing_figures(device), {.services_first = first});
  };
  const auto equal = told(false), first = told(true);
  ASSERT_TRUE(equal && first);
  // A kernel of its own waits for one group of blocks, not for the kernels of both that came before.
  EXPECT_LT(first->members[0].latency->median, equal->members[0].latency->median * 0.5);
  EXPECT_NEAR(first->members[1].speed, equal->members[1].speed, 0.05);
}

TEST(Beside, AServiceFallsBehindWhereItAnswersFewerThanCome) {
  Workload service = captured("service", kernels_alike(100, 10, 0.1), 1);
  const Workload training = captured("training", kernels_alike(50, 400, 8), 1);
  const hardware::Device device = device_named("h200");
  const std::array workloads = {static_cast<const Workload*>(&service),
                                static_cast<const Workload*>(&training)};
  for (const std::size_t requests : {50, 250, 2000})  // of few, fewer may come by chance than are asked
    for (const bool too_many : {false, true}) {
      service.arrivals = too_many ? 800 : 100;  // of the thousand that it can answer alone
      const auto both =
          beside(workloads, device, {.way = Way::naive}, sharing_figures(device), {.requests = requests});
      ASSERT_TRUE(both);
      EXPECT_EQ(both->members[0].latency->saturated, too_many) << requests << " at " << service.arrivals;
    }
}

TEST(Beside, ALimitThatIsMissedEndsTheSimulationAndNothingElse) {
  Workload service = captured("service", kernels_alike(100, 10, 0.1), 1);
  service.arrivals = 300;
  const Workload training = captured("training", kernels_alike(50, 400, 8), 1);
  const hardware::Device device = device_named("h200");
  const std::array workloads = {static_cast<const Workload*>(&service),
                                static_cast<const Workload*>(&training)};
  const auto told = [&](const char* sharing, const std::vector<Limit>& limits) {
    return beside(workloads, device, *read_sharing(sharing, 2), sharing_figures(device),
                  {.requests = 300, .limits = limits});
  };
  for (const char* sharing : {"naive", "mps", "mig:4g.71gb,3g.71gb", "mig+mps:4g.71gb"}) {
    const auto whole = told(sharing, {});
    ASSERT_TRUE(whole);
    for (const double share : {0.5, 0.9, 0.99, 1.0}) {
      const double asked = told(sharing, {{0, share}, {}})->members[0].latency->asked.value();
      for (const double factor : {0.2, 0.9, 1.1, 5.0}) {
        const Limit limit{asked * factor, share};
        const auto limited = told(sharing, {limit, {}});
        ASSERT_TRUE(limited);
        EXPECT_EQ(limited->members[0].latency->asked.value() > limit.seconds, factor < 1)
            << sharing << " " << share << " " << factor;
        if (factor > 1) {
          EXPECT_EQ(limited->members[1].speed, whole->members[1].speed) << sharing << " " << factor;
        }
      }
    }
  }
}

TEST(Beside, IsTheSameEachTime) {
  const Workload big = captured("big", kernels_alike(20, 400, 8));
  const Workload small = captured("small", kernels_alike(174, 4.6, 0.05));
  EXPECT_EQ(ask({&small, &big}, "mps")->members[0].speed, ask({&small, &big}, "mps")->members[0].speed);
}

}  // namespace
}  // namespace plimsoll::share
