#include "plan/choose.hpp"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hardware/catalogue.hpp"

namespace plimsoll::plan {
namespace {

using hardware::Arithmetic;
using hardware::Bound;
using hardware::Device;
using hardware::DeviceFigure;
using testing::HasSubstr;

/// MobileNet v1 at three depths on a satellite's images of 400 patches, within 5 W.
Question satellite(Seconds budget) {
  Question question;
  for (const hardware::NetworkFacts& facts : *hardware::built_in_network_facts())
    question.variants.push_back({facts.network, facts.depth, facts.accuracies, facts.memories});
  question.patches = 400;
  question.limits.latency = budget;
  question.limits.power = Watts(5);
  question.limits.mass = 0.150;
  question.limits.size = {0.010, 0.070, 0.080};
  return question;
}

/// The largest tensors of the three depths in int8: 112 x 112 x 64 times the depth.
Estimators tensors() {
  Estimators out;
  out.memory = [](std::size_t variant, const Device&, Arithmetic, std::int64_t) -> Result<Memory> {
    const double depths[] = {0.25, 0.5, 1};
    return Memory{.weights = Bytes(200'000),
                  .largest_tensor = Bytes::rounded(112 * 112 * 64 * depths[variant])};
  };
  return out;
}

Choice chosen(const Question& question, const Estimators& estimators = tensors()) {
  static const std::vector<const Device*> devices = [] {
    std::vector<const Device*> all;
    for (const Device& device : hardware::built_in_catalogue()->devices()) all.push_back(&device);
    return all;
  }();
  return choose(question, devices, hardware::built_in_catalogue()->devices(), *hardware::built_in_prices(),
                estimators);
}

const Candidate& find(const Choice& choice, std::string_view device, std::size_t variant) {
  for (const Candidate& candidate : choice.candidates)
    if (candidate.device->id == device && candidate.variant == variant) return candidate;
  ADD_FAILURE() << device;
  return choice.candidates.front();
}

const Check& check(const Candidate& candidate, Aspect aspect) {
  for (const Check& f : candidate.checks)
    if (f.aspect == aspect) return f;
  ADD_FAILURE() << name(aspect);
  static const Check none{};
  return none;
}

Standing standing(const Choice& choice, std::string_view device, std::size_t variant, Aspect aspect) {
  return check(find(choice, device, variant), aspect).standing;
}

TEST(Choose, CoralsMeetLatencyAndPowerOthersBreakThePower) {
  const Choice choice = chosen(satellite(Seconds(4.42)));
  for (const char* device : {"coral-dev-mini", "coral-usb-rpi3"})
    for (std::size_t depth = 0; depth < 3; ++depth) {
      EXPECT_EQ(standing(choice, device, depth, Aspect::latency), Standing::met) << device;
      EXPECT_EQ(standing(choice, device, depth, Aspect::power), Standing::met) << device;
      EXPECT_EQ(standing(choice, device, depth, Aspect::mass), Standing::unknown) << device;
      EXPECT_EQ(standing(choice, device, depth, Aspect::size), Standing::unknown) << device;
    }
  for (const char* device : {"jetson-nano", "ncs2-rpi3"}) {
    const Check& power = check(find(choice, device, 0), Aspect::power);
    EXPECT_EQ(power.standing, Standing::failed) << device;
    EXPECT_THAT(power.figure->figure.source, HasSubstr("5 W limit"));
  }
  EXPECT_EQ(standing(choice, "coral-dev-micro", 0, Aspect::power), Standing::unknown) << "nobody's verdict";
  EXPECT_EQ(standing(choice, "h200", 0, Aspect::power), Standing::failed);
}

TEST(Choose, TheMicrocontrollerIsScaledByItsClock) {
  const Choice now = chosen(satellite(Seconds(4.42)));
  const double image[] = {87.36, 259.09, 875.63};  // 400 x 163.8, 485.8, 1641.8 ms x 400 / 300
  for (std::size_t depth = 0; depth < 3; ++depth) {
    const Candidate& candidate = find(now, "cortex-m7-300", depth);
    EXPECT_EQ(check(candidate, Aspect::latency).standing, Standing::failed) << depth;
    EXPECT_NEAR(candidate.image->figure.value, image[depth], 0.01);
    EXPECT_NEAR(*check(candidate, Aspect::latency).excess, image[depth] - 4.42, 0.01);
    EXPECT_EQ(candidate.image->figure.provenance, Provenance::assumed);
    EXPECT_THAT(candidate.image->figure.source, HasSubstr("derived"));
    EXPECT_THAT(candidate.image->figure.source, HasSubstr("400 / 300 MHz"));
  }
  const Choice arctic = chosen(satellite(Seconds(95.65 * 60 / 80)));
  EXPECT_EQ(standing(arctic, "cortex-m7-300", 0, Aspect::latency), Standing::failed) << "87 s against 71.74";
  const Choice greenland = chosen(satellite(Seconds(86400.0 / 320)));
  EXPECT_EQ(standing(greenland, "cortex-m7-300", 0, Aspect::latency), Standing::met) << "87 s against 270";
  EXPECT_EQ(standing(greenland, "cortex-m7-300", 1, Aspect::latency), Standing::met)
      << "259 s, were there memory";
}

TEST(Choose, AMicrocontrollersMemoryHoldsActivations) {
  const Choice choice = chosen(satellite(Seconds(270)));
  EXPECT_EQ(standing(choice, "cortex-m7-300", 0, Aspect::memory), Standing::met) << "345.7 KiB of 384 kB";
  EXPECT_EQ(standing(choice, "cortex-m7-300", 1, Aspect::memory), Standing::failed)
      << "one tensor of 392 KiB";
  EXPECT_EQ(standing(choice, "cortex-m7-300", 2, Aspect::memory), Standing::failed);
  EXPECT_EQ(standing(choice, "stm32h747", 0, Aspect::memory), Standing::unknown)
      << "its memory has no figure";
}

TEST(Choose, RecommendsWhatFailsNothingAndIsMostAccurate) {
  const Choice choice = chosen(satellite(Seconds(4.42)));
  ASSERT_TRUE(choice.recommended);
  const Candidate& best = choice.candidates[*choice.recommended];
  EXPECT_EQ(best.device->id, "coral-dev-mini");
  EXPECT_EQ(best.variant, 2U) << "91.55 % in int8";
  EXPECT_FALSE(choice.certain()) << "mass and size are unknown";
  EXPECT_THAT(choice.reason, HasSubstr("mass and size are unknown"));
  EXPECT_TRUE(best.on_front);
  ASSERT_TRUE(best.energy);
  EXPECT_NEAR(best.energy->high, 22.1, 1e-9) << "at most 5 W for at most 4.42 s";
  EXPECT_EQ(best.energy->figure.bound, Bound::at_most);
}

TEST(Choose, NothingFitsAndTheHardestLimitIsNamed) {
  Question question = satellite(Seconds(4.42));
  question.limits.accuracy = 0.99;
  const Choice choice = chosen(question);
  EXPECT_FALSE(choice.recommended);
  EXPECT_THAT(choice.reason, HasSubstr("accuracy"));
  for (const Candidate& candidate : choice.candidates) EXPECT_FALSE(candidate.on_front);
}

TEST(Choose, PrecisionsThatARuntimeLacksFail) {
  Question question = satellite(Seconds(4.42));
  question.arithmetics = {Arithmetic::fp16};
  const Choice choice = chosen(question);
  const Check& coral = check(find(choice, "coral-dev-mini", 0), Aspect::precision);
  EXPECT_EQ(coral.standing, Standing::failed);
  EXPECT_THAT(coral.note, HasSubstr("int8 only"));
  EXPECT_EQ(standing(choice, "jetson-nano", 0, Aspect::precision), Standing::met);
}

TEST(Choose, EstimatesStandInWhereNobodyMeasured) {
  Estimators estimators = tensors();
  std::int64_t largest = 0;
  estimators.pass = [&](std::size_t, const Device& device, Arithmetic, std::int64_t batch) -> Result<Pass> {
    if (!device.memory_bandwidth) return fail("too few figures");
    largest = std::max(largest, batch);
    return Pass{.time = Seconds(0.010),
                .low = Seconds(0.008),
                .high = Seconds(0.013),
                .energy = Joules(2),
                .low_energy = Joules(1),
                .high_energy = Joules(3),
                .source = "estimated"};
  };
  Question question = satellite(Seconds(1));
  question.limits.power.reset();
  const Choice choice = chosen(question, estimators);
  EXPECT_EQ(largest, 64) << "patches run together on a GPU";
  const Candidate& h200 = find(choice, "h200", 2);
  EXPECT_NEAR(h200.image->figure.value, 7 * 0.010, 1e-12) << "seven passes of 64 hold 400 patches";
  EXPECT_NEAR(h200.energy->figure.value, 14, 1e-9);
  EXPECT_NEAR(h200.energy->low, 7, 1e-9) << "the interval goes along";
  EXPECT_NEAR(h200.energy->high, 21, 1e-9);
  EXPECT_EQ(standing(choice, "h200", 2, Aspect::latency), Standing::met);
  EXPECT_NEAR(find(choice, "jetson-nano", 2).image->figure.value, 25 * 0.010, 1e-12) << "batches of 16";
  EXPECT_NEAR(find(choice, "stm32n6", 0).image->figure.value, 400 * 2.83e-3, 1e-9) << "measured comes first";
  // A limit within the interval of an estimate is not decided.
  question.limits.latency = Seconds(0.075);
  EXPECT_EQ(standing(chosen(question, estimators), "h200", 2, Aspect::latency), Standing::unknown);
}

TEST(Choose, AFloorCanOnlyFail) {
  Estimators estimators = tensors();
  estimators.work = [](std::size_t) { return Flops(1.14e9); };
  const auto micro = [&](double seconds) {
    return standing(chosen(satellite(Seconds(seconds)), estimators), "coral-dev-micro", 2, Aspect::latency);
  };
  EXPECT_EQ(micro(4.42), Standing::unknown)
      << "400 x 0.285 ms at its peak: faster it is not, slower it may be";
  EXPECT_EQ(micro(0.05), Standing::failed);
}

TEST(Choose, ClaimsAndPricesCanBeDemanded) {
  Question question = satellite(Seconds(4.42));
  question.limits = {};
  question.limits.updates_in_place = true;
  question.limits.price_per_hour = MoneyPerHour(1);
  question.limits.boot = Seconds(10);
  const Choice choice = chosen(question);
  EXPECT_EQ(standing(choice, "coral-dev-mini", 0, Aspect::updates), Standing::unknown);
  EXPECT_EQ(standing(choice, "coral-dev-mini", 0, Aspect::boot), Standing::unknown);
  EXPECT_EQ(standing(choice, "coral-dev-mini", 0, Aspect::price), Standing::unknown);
  const Check& t4 = check(find(choice, "t4", 0), Aspect::price);
  EXPECT_EQ(t4.standing, Standing::met);
  EXPECT_EQ(t4.figure->figure.date, "2025-11");
  EXPECT_NEAR(*check(find(choice, "h200", 0), Aspect::price).excess, 62.30, 1e-9);
  Device own{.id = "own", .name = "own"};
  own.board = hardware::Board{};
  own.board->updates_in_place = hardware::Claim{false, Provenance::datasheet, "manual"};
  const Device* devices[] = {&own};
  const Choice mine = choose(question, devices, {}, {}, tensors());
  EXPECT_EQ(standing(mine, "own", 0, Aspect::updates), Standing::failed);
}

TEST(Choose, ABoardTurnsToFit) {
  Device own{.id = "own", .name = "own"};
  own.board = hardware::Board{};
  const auto side = [](double metres, Bound bound = Bound::exact) {
    return DeviceFigure{metres, Provenance::datasheet, "sheet", {}, bound};
  };
  const Device* devices[] = {&own};
  Question question = satellite(Seconds(1));
  const auto size = [&] { return choose(question, devices, {}, {}, tensors()).candidates[0].checks.back(); };
  own.board->size = {side(0.080), side(0.070), side(0.010)};
  EXPECT_EQ(size().standing, Standing::met);
  own.board->size = {side(0.085), side(0.040), side(0.018)};
  EXPECT_EQ(size().standing, Standing::failed);
  EXPECT_NEAR(*size().excess, 0.008, 1e-12) << "5 mm too long, 8 mm too thick";
  own.board->size = {side(0.085, Bound::at_most), side(0.040), side(0.005)};
  EXPECT_EQ(size().standing, Standing::unknown);
}

TEST(Choose, EmptyQuestionsHaveNoAnswer) {
  const Choice none = choose(satellite(Seconds(1)), {}, {}, {}, {});
  EXPECT_FALSE(none.recommended);
  EXPECT_FALSE(none.certain());
  EXPECT_THAT(none.reason, HasSubstr("no device"));
}

TEST(Known, BoundsDecideOnlyWhatTheyCan) {
  const auto bound = [](double value, Bound b) {
    return std::optional(known({value, Provenance::measured, "s", {}, b}));
  };
  EXPECT_EQ(at_most(bound(5, Bound::at_most), 5), Standing::met);
  EXPECT_EQ(at_most(bound(5, Bound::at_most), 4), Standing::unknown);
  EXPECT_EQ(at_most(bound(5, Bound::more_than), 5), Standing::failed);
  EXPECT_EQ(at_most(bound(5, Bound::more_than), 6), Standing::unknown);
  EXPECT_EQ(at_most(bound(5, Bound::exact), 5), Standing::met);
  EXPECT_EQ(at_most(bound(5.01, Bound::exact), 5), Standing::failed);
  EXPECT_EQ(at_most(std::nullopt, 5), Standing::unknown);
  EXPECT_EQ(at_least(bound(0.9, Bound::exact), 0.9), Standing::met);
  EXPECT_EQ(at_least(bound(0.9, Bound::exact), 0.91), Standing::failed);
  EXPECT_EQ(at_least(std::nullopt, 0.9), Standing::unknown);
}

}  // namespace
}  // namespace plimsoll::plan
