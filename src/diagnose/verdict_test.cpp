#include "diagnose/verdict.hpp"

#include <cmath>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnose/test_runs.hpp"

namespace plimsoll::diagnose {
namespace {

using ::testing::Contains;
using ::testing::DoubleNear;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Optional;

Verdict judge(const Recording& recording) {
  return verdict_of(recording, figures_of(recording, recording.whole()));
}

Verdict judge(const MadeUp& m) {
  return judge(made_up_run(m).take());
}

auto has_finding(const char* id) {
  return Contains(Field(&Finding::id, id));
}

TEST(Verdict, InputBoundByTheProcessor) {
  const Verdict v = judge(MadeUp{.sm = 0.3, .kernels = 0.4, .cpu = 15.6});
  EXPECT_EQ(v.limiter, Limiter::input_processor);
  EXPECT_THAT(v.main.text, HasSubstr("No kernel ran for 60 % of the working time"));
  EXPECT_THAT(v.main.text, HasSubstr("cores of 16"));
  EXPECT_THAT(v.main.advice, Not(IsEmpty()));
  EXPECT_THAT(v.main.evidence, Contains(Field(&Evidence::threshold, &kCoresFull)));
}

TEST(Verdict, ACgroupsLimitIsALimitToo) {
  TestRecording made = made_up_run({.sm = 0.3, .kernels = 0.4, .cpu = 4});
  made.sampled("system/host/cgroup_throttled", 0.8, 1);
  const Verdict v = judge(made.take());
  EXPECT_EQ(v.limiter, Limiter::input_processor);
  EXPECT_THAT(v.main.text, HasSubstr("held back by its cgroup's limit"));
}

TEST(Verdict, OthersMayHaveTheCores) {
  TestRecording made = made_up_run({.sm = 0.3, .kernels = 0.4, .cpu = 0.3});
  made.sampled("system/host/cpu", 15.8, 1);
  const Verdict v = judge(made.take());
  EXPECT_EQ(v.limiter, Limiter::input_processor);
  EXPECT_THAT(v.main.text, HasSubstr("others the rest of the machine's 16"));
}

TEST(Verdict, LaunchingIsWhatTheProcessorDoesWhileKernelsRun) {
  TestRecording made = made_up_run({.sm = 0.2, .kernels = 0.95});
  const auto pauses = [](double t) { return std::fmod(t, 10) > 8.5; };
  made.sampled("system/gpu/0/graphics_activity", [=](double t) {
    return t < 11 || t > 114 ? 0.0 : pauses(t) ? 0.1 : 0.95;
  });
  made.sampled("system/run/cpu", [=](double t) { return pauses(t) ? 8.0 : 1.0; });
  const Verdict v = judge(made.take());
  EXPECT_EQ(v.limiter, Limiter::launches);
  EXPECT_THAT(v.main.text, HasSubstr("one core was busy (1.00 cores)"));
}

TEST(Verdict, InputBoundByStorage) {
  const Verdict v = judge(MadeUp{.sm = 0.3, .kernels = 0.4, .cpu = 3, .io_pressure = 0.4});
  EXPECT_EQ(v.limiter, Limiter::input_storage);
  EXPECT_THAT(v.main.text, HasSubstr("waited for storage for 40 %"));
}

TEST(Verdict, OneThreadHoldsTheGpuUp) {
  EXPECT_EQ(judge(MadeUp{.sm = 0.3, .kernels = 0.4, .cpu = 1}).limiter, Limiter::one_thread);
}

TEST(Verdict, WaitsForWhatWasNotSampled) {
  const Verdict v = judge(MadeUp{.sm = 0.3, .kernels = 0.4, .cpu = 0.2});
  EXPECT_EQ(v.limiter, Limiter::waits);
  EXPECT_THAT(v.main.text, HasSubstr("was not sampled"));
}

TEST(Verdict, LaunchBoundAndSmallKernels) {
  const Verdict v = judge(MadeUp{.sm = 0.2, .kernels = 0.95, .cpu = 1.1});
  EXPECT_EQ(v.limiter, Limiter::launches);
  EXPECT_THAT(v.main.text, HasSubstr("SMs were busy for only 20 %"));
  EXPECT_EQ(judge(MadeUp{.sm = 0.2, .kernels = 0.95, .cpu = 6}).limiter, Limiter::small_kernels);
}

TEST(Verdict, BoundByTheGpu) {
  EXPECT_EQ(judge(MadeUp{.sm = 0.9, .kernels = 0.99, .dram = 0.75}).limiter, Limiter::gpu_bandwidth);
  const Verdict v = judge(MadeUp{.sm = 0.9, .kernels = 0.99, .tensor = 0.55});
  EXPECT_EQ(v.limiter, Limiter::gpu_compute);
  EXPECT_THAT(v.main.text, HasSubstr("tensor cores for 55 %"));
  EXPECT_EQ(judge(MadeUp{.sm = 0.55, .kernels = 0.95}).limiter, Limiter::mixed);
}

TEST(Verdict, TheStartAndTheEndDoNotCountAsWaits) {
  const Verdict v = judge(MadeUp{.load = 60, .save = 20, .sm = 0.9, .kernels = 0.99});
  EXPECT_EQ(v.limiter, Limiter::gpu_compute);
  EXPECT_THAT(v.findings, has_finding("idle-start"));
  EXPECT_THAT(v.findings, has_finding("idle-end"));
  EXPECT_THAT(judge(MadeUp{.load = 5, .save = 5}).findings, Not(has_finding("idle-start")));
}

TEST(Verdict, WhatWasWasted) {
  const Verdict v = judge(MadeUp{.load = 20, .save = 10, .watts = 400});
  EXPECT_THAT(v.waste.gpu_seconds, Optional(DoubleNear(120, 0.2)));
  EXPECT_THAT(v.waste.idle_before, Optional(DoubleNear(20, 0.2)));
  EXPECT_THAT(v.waste.idle_between, Optional(DoubleNear(0, 0.2)));
  EXPECT_THAT(v.waste.idle_after, Optional(DoubleNear(10, 0.2)));
  EXPECT_THAT(v.waste.idle_joules, Optional(DoubleNear(3000, 50)));  // 30 s at 100 W
  EXPECT_THAT(v.waste.joules, Optional(DoubleNear(39000, 50)));
  EXPECT_THAT(v.waste.text, HasSubstr("near-idle (25 %)"));
  EXPECT_EQ(judge(MadeUp{.load = 0, .save = 0}).waste.text,
            "None of the 2.00 min of GPU time was near-idle.");
}

TEST(Verdict, UtilizationAgainstActivity) {
  const Verdict v = judge(MadeUp{.load = 0, .save = 0, .sm = 0.3, .kernels = 0.98});
  ASSERT_TRUE(v.utilization);
  EXPECT_THAT(v.utilization->text, HasSubstr("Utilization 100 %, SM activity 30 %"));
  EXPECT_THAT(v.utilization->text, HasSubstr("3.3 times as busy as it was"));
}

TEST(Verdict, MemoryClocksSharingAndTensorCores) {
  EXPECT_THAT(judge(MadeUp{.memory = 84e9}).findings, has_finding("memory-near-limit"));
  EXPECT_THAT(judge(MadeUp{.throttle = 4}).findings, has_finding("throttled-power"));
  EXPECT_THAT(judge(MadeUp{.throttle = 0x40}).findings, has_finding("throttled-heat"));
  EXPECT_THAT(judge(MadeUp{.sm_share = 0.5}).findings, has_finding("shared"));
  EXPECT_THAT(judge(MadeUp{.tensor = 0, .fp32 = 0.4}).findings, has_finding("tensor-cores-unused"));
  const Verdict none = judge(MadeUp{.load = 1, .save = 1, .sm = 0.8, .kernels = 0.95, .memory = 60e9});
  EXPECT_THAT(none.findings, IsEmpty());
}

TEST(Verdict, RoomForOthersNamesWhatLimits) {
  const auto text = [](const MadeUp& m) {
    const Verdict v = judge(m);
    for (const Finding& finding : v.findings)
      if (finding.id == "room-to-share") return finding.text;
    return std::string("none");
  };
  EXPECT_THAT(text(MadeUp{.sm = 0.22, .memory = 4e9, .cpu = 1}),
              HasSubstr("about 4 such runs at once; SM activity"));
  EXPECT_THAT(text(MadeUp{.sm = 0.1, .memory = 27e9, .cpu = 1}),
              HasSubstr("about 3 such runs at once; GPU memory"));
  EXPECT_THAT(text(MadeUp{.sm = 0.1, .memory = 4e9, .cpu = 8}),
              HasSubstr("about 2 such runs at once; processor cores"));
  EXPECT_EQ(text(MadeUp{.sm = 0.8}), "none");
  EXPECT_EQ(text(MadeUp{.sm = 0.1, .memory = 4e9, .cpu = 1, .sm_share = 0.5}), "none");  // shared already
}

TEST(Verdict, UnknownIsUnknown) {
  EXPECT_EQ(judge(TestRecording(10).take()).limiter, Limiter::unknown);
  const Verdict v = judge(TestRecording(10).sampled("system/gpu/0/utilization", 0.95, 2).take());
  EXPECT_EQ(v.limiter, Limiter::unknown);
  EXPECT_THAT(v.main.text, HasSubstr("how full the SMs were was not sampled"));
  EXPECT_EQ(v.utilization, std::nullopt);
  EXPECT_EQ(v.waste.joules, std::nullopt);
  EXPECT_EQ(v.waste.text, "None of the 10 s of GPU time was near-idle.");
  const Verdict idle = judge(TestRecording(10).sampled("system/gpu/0/utilization", 0, 2).take());
  EXPECT_THAT(idle.waste.text, HasSubstr("What energy they took is not known."));
}

TEST(Verdict, AGpuThatWasNotUsed) {
  const Verdict v = judge(TestRecording(10).sampled("system/gpu/0/sm_activity", 0.001).take());
  EXPECT_EQ(v.limiter, Limiter::gpu_unused);
  EXPECT_THAT(v.waste.idle_seconds, Optional(DoubleNear(10, 0.1)));
  TestRecording two = made_up_run({});
  two.tag("plimsoll.devices", "0,1").sampled("system/gpu/1/sm_activity", 0);
  const Verdict other = judge(two.take());
  EXPECT_EQ(other.limiter, Limiter::mixed);
  EXPECT_THAT(other.findings, has_finding("gpu-unused"));
}

TEST(Verdict, WithoutAGpu) {
  const auto on_host = [](double cpu, double io, double memory) {
    return judge(TestRecording(10)
                     .tag("plimsoll.host.cores", "8")
                     .sampled("system/run/cpu", cpu)
                     .sampled("system/host/io_pressure", io, 1)
                     .sampled("system/host/memory_pressure", memory, 1)
                     .take());
  };
  EXPECT_EQ(on_host(7.8, 0, 0).limiter, Limiter::processor);
  EXPECT_EQ(on_host(1, 0, 0).limiter, Limiter::one_thread);
  EXPECT_EQ(on_host(2, 0.5, 0).limiter, Limiter::storage);
  EXPECT_EQ(on_host(2, 0.5, 0.2).limiter, Limiter::host_memory);
  EXPECT_EQ(on_host(3, 0, 0).limiter, Limiter::mixed);
  EXPECT_THAT(on_host(7.8, 0, 0).waste.text, HasSubstr("No GPU"));
}

TEST(Verdict, WhatOthersTakeOfTheMachineIsNotTheRunsUse) {
  const auto beside_others = [](double cpu) {
    return judge(TestRecording(10)
                     .tag("plimsoll.host.cores", "8")
                     .sampled("system/run/cpu", cpu)
                     .sampled("system/host/cpu", 7.9, 1)
                     .take());
  };
  const Verdict asleep = beside_others(0.01);
  EXPECT_EQ(asleep.limiter, Limiter::mixed);
  EXPECT_THAT(asleep.main.text, HasSubstr("others the rest of the machine's 8; it neither filled them"));
  EXPECT_EQ(beside_others(1).limiter, Limiter::processor)
      << "it works, and there are no more cores to be had";
}

TEST(Verdict, OutcomesAndALossThatIsNoNumber) {
  TestRecording made = made_up_run({});
  made.tag("plimsoll.outcome", "cuda-out-of-memory");
  made.own("loss", {{20, 1},
                    {30, std::numeric_limits<double>::quiet_NaN()},
                    {40, std::numeric_limits<double>::quiet_NaN()}});
  const Verdict v = judge(made.take());
  ASSERT_TRUE(v.outcome);
  EXPECT_EQ(v.outcome->id, "out-of-memory");
  EXPECT_THAT(v.outcome->text, HasSubstr("18.2 GiB of 80.0 GiB"));
  EXPECT_THAT(v.findings, has_finding("diverged"));
  EXPECT_THAT(v.findings, Contains(Field(&Finding::text, HasSubstr("not finite from step 1, 30 s"))));
}

TEST(Verdict, GapsAreTold) {
  const double begin = static_cast<double>(TestRecording::kStart) + 20e6;
  TestRecording made = made_up_run({});
  made.tag("plimsoll.gaps", "[[" + std::to_string(static_cast<store::Time>(begin)) + "," +
                                std::to_string(static_cast<store::Time>(begin + 30e6)) + "]]");
  EXPECT_THAT(judge(made.take()).findings, has_finding("gaps"));
}

TEST(Verdict, OfAPartOfTheRun) {
  const Recording run = made_up_run({.load = 60, .sm = 0.9, .kernels = 0.99}).take();
  EXPECT_EQ(verdict_of(run, figures_of(run, {0, 50})).limiter, Limiter::gpu_unused);
  EXPECT_EQ(verdict_of(run, figures_of(run, {70, 100})).limiter, Limiter::gpu_compute);
}

TEST(Verdict, EveryLineHasItsReason) {
  for (const Threshold& threshold : thresholds()) {
    EXPECT_GT(threshold.value, 0) << threshold.name;
    EXPECT_GT(threshold.reason.size(), 20u) << threshold.name;
  }
}

}  // namespace
}  // namespace plimsoll::diagnose
