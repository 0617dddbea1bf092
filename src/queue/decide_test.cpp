#include "queue/decide.hpp"

#include <algorithm>
#include <random>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plimsoll::queue {
namespace {

namespace schedule = plan::schedule;
using testing::HasSubstr;

const std::vector<schedule::Setup> kSetups{
    {.way = share::Way::exclusive}, {.way = share::Way::naive}, {.way = share::Way::mps}};
constexpr std::size_t kExclusive = 0, kNaive = 1, kMps = 2;

/// Each has its share of the GPU, as far as there is enough.
schedule::Rates rates_of(const std::vector<schedule::Kind>& kinds) {
  return schedule::Rates([kinds](std::span<const std::uint32_t> group, std::size_t) {
    double share = 0;
    for (const std::uint32_t kind : group) share += kinds[kind].share;
    schedule::GroupRates out;
    out.speeds.assign(group.size(), 1 / std::max(1.0, share));
    return out;
  });
}

schedule::Kind kind(double share, std::optional<Bytes> memory) {
  return {.name = "kind", .share = share, .memory = memory, .activity = share};
}

Question with(std::vector<schedule::Kind> kinds, std::vector<PlaceNow> places) {
  return {.kinds = std::move(kinds), .setups = kSetups, .places = std::move(places)};
}

PlaceNow gpu(std::size_t setup, Bytes memory = 100 * kGiB) {
  return {.name = "GPU", .device = "GPU-0", .setup = setup, .memory = memory};
}

TEST(Decide, SmallOnesShareAndLargeOnesWait) {
  Question question = with({kind(0.2, 30 * kGiB), kind(0.2, 60 * kGiB)}, {gpu(kMps)});
  question.waiting = {{.number = 1, .kind = 0, .seconds = 60},
                      {.number = 2, .kind = 1, .seconds = 60},
                      {.number = 3, .kind = 1, .seconds = 60}};
  auto rates = rates_of(question.kinds);
  const Answer answer = decide(question, rates);
  ASSERT_EQ(answer.starts.size(), 2);
  EXPECT_THAT(answer.starts[1].reason, HasSubstr("beside one other"));
  ASSERT_EQ(answer.waits.size(), 1);
  EXPECT_THAT(answer.waits.begin()->second, HasSubstr("left, and it needs 60.0 GiB"));
}

TEST(Decide, WhoseNeedNobodyKnowsHasAGpuForItself) {
  Question question = with({kind(0.1, std::nullopt), kind(0.1, kGiB)}, {gpu(kMps)});
  question.waiting = {{.number = 1, .kind = 0, .seconds = 60, .rank = 1},
                      {.number = 2, .kind = 1, .seconds = 60}};
  auto rates = rates_of(question.kinds);
  const Answer answer = decide(question, rates);
  ASSERT_EQ(answer.starts.size(), 1);
  EXPECT_EQ(answer.starts[0].number, 1);
  EXPECT_THAT(answer.waits.at(2), HasSubstr("of unknown need"));
}

TEST(Decide, WhoCannotFitAnywhereIsToldSo) {
  Question question = with({kind(1, 200 * kGiB)}, {gpu(kMps)});
  question.waiting = {{.number = 1, .seconds = 60}};
  auto rates = rates_of(question.kinds);
  EXPECT_THAT(decide(question, rates).waits.at(1), HasSubstr("no GPU here can hold it"));
}

TEST(Decide, WhoTakesLongToStartUpIsReadyWhenTheOthersEnd) {
  Question question = with({kind(1, 10 * kGiB)}, {gpu(kMps)});
  question.now = 1000;
  question.running = {{.number = 1, .places = {0}, .left = 20}};
  question.waiting = {{.number = 2, .seconds = 60, .startup = 9}, {.number = 3, .seconds = 60, .startup = 9}};
  auto rates = rates_of(question.kinds);
  EXPECT_TRUE(decide(question, rates).starts.empty()) << "both would compute beside it";
  question.running[0].left = 8;
  const Answer answer = decide(question, rates);
  ASSERT_EQ(answer.starts.size(), 1) << "the third would be beside the second";
  EXPECT_EQ(answer.starts[0].speed, 1);
  EXPECT_TRUE(answer.starts[0].others.empty());
  question.places[0].memory = 15 * kGiB;  // both hold theirs until then
  EXPECT_TRUE(decide(question, rates).starts.empty());
}

TEST(Decide, WhatRanOnAGpuFitsThereAgain) {
  Question question = with({kind(1, 105 * kGiB)}, {gpu(kMps)});
  question.waiting = {{.number = 1, .seconds = 60}};
  auto rates = rates_of(question.kinds);
  question.seen = {101 * kGiB};
  EXPECT_TRUE(decide(question, rates).starts.empty());
  question.seen = {95 * kGiB};
  EXPECT_EQ(decide(question, rates).starts.size(), 1);
}

TEST(Decide, WhoStarvesComesFirstAndKeepsAPlaceWhereItCannot) {
  Question question = with({kind(0.1, 30 * kGiB), kind(0.1, 90 * kGiB)}, {gpu(kMps)});
  question.running = {{.number = 1, .kind = 0, .places = {0}, .left = 60}};
  question.waiting = {{.number = 2, .kind = 0, .seconds = 60, .rank = 9},
                      {.number = 3, .kind = 0, .seconds = 60, .rank = 9},
                      {.number = 4, .kind = 0, .seconds = 60}};
  auto rates = rates_of(question.kinds);
  // It fits beside those that run: the place is not kept empty for it.
  question.starving = 2;
  const Answer fits = decide(question, rates);
  ASSERT_EQ(fits.starts.size(), 1);
  EXPECT_EQ(fits.starts[0].number, 4);
  // It does not fit: nobody else comes, whatever his rank.
  question.waiting[2].kind = 1;
  const Answer kept = decide(question, rates);
  EXPECT_TRUE(kept.starts.empty());
  EXPECT_THAT(kept.waits.at(2), HasSubstr("kept for job 4"));
  EXPECT_THAT(kept.waits.at(4), HasSubstr("left, and it needs"));
  // What else there is, is not kept.
  question.places.push_back(gpu(kMps, 80 * kGiB));
  EXPECT_EQ(decide(question, rates).starts.size(), 2);
}

TEST(Decide, WhoStarvesForSeveralGpusKeepsIdleOnesToo) {
  Question question = with({kind(0.1, 30 * kGiB)}, {gpu(kMps), gpu(kMps)});
  question.running = {{.number = 1, .kind = 0, .places = {0}, .left = 60}};
  question.waiting = {{.number = 2, .kind = 0, .seconds = 60, .rank = 9},
                      {.number = 3, .kind = 0, .seconds = 60, .gpus = 2}};
  question.starving = 1;
  for (const char* const policy : {"plimsoll", "naive"}) {
    question.policy = policy;
    auto rates = rates_of(question.kinds);
    EXPECT_TRUE(decide(question, rates).starts.empty()) << policy;
  }
}

TEST(Decide, FirstInLineIsTheHighestRankThenWhoCameFirst) {
  Question question = with({kind(0.1, 30 * kGiB), kind(0.1, 200 * kGiB)}, {gpu(kMps)});
  EXPECT_EQ(first_in_line(question), std::nullopt);
  question.waiting = {{.number = 1, .arrival = 5}, {.number = 2, .arrival = 3}, {.number = 3, .arrival = 3}};
  EXPECT_EQ(first_in_line(question), std::optional<std::size_t>(1));
  question.waiting[0].rank = 1;
  question.waiting[2].rank = kHurrying;  // its hurry says nothing of how long it has waited
  EXPECT_EQ(first_in_line(question), std::optional<std::size_t>(0));
  question.waiting[0].gpus = 2;  // whom no place can hold holds up nobody
  question.waiting[1].kind = 1;
  EXPECT_EQ(first_in_line(question), std::optional<std::size_t>(2));
}

TEST(Decide, MpsServesOneUser) {
  for (const std::size_t setup : {kMps, kNaive}) {
    Question question = with({kind(0.1, kGiB)}, {gpu(setup)});
    question.running = {{.number = 1, .places = {0}, .left = 60, .user = "7"}};
    question.waiting = {{.number = 2, .seconds = 60, .user = "8"}, {.number = 3, .seconds = 60, .user = "7"}};
    auto rates = rates_of(question.kinds);
    const Answer answer = decide(question, rates);
    EXPECT_EQ(answer.starts.size(), setup == kMps ? 1 : 2);
    if (setup == kMps) {
      EXPECT_THAT(answer.waits.at(2), HasSubstr("another user's"));
    }
  }
}

TEST(Decide, AClosedPlaceTakesNobody) {
  Question question = with({kind(0.1, kGiB)}, {gpu(kMps)});
  question.places[0].closed = "job 9 is being learned";
  question.waiting = {{.number = 1, .seconds = 60}};
  auto rates = rates_of(question.kinds);
  const Answer answer = decide(question, rates);
  EXPECT_TRUE(answer.starts.empty());
  EXPECT_THAT(answer.waits.at(1), HasSubstr("job 9 is being learned"));
}

TEST(Decide, TheHigherRankStartsFirst) {
  Question question = with({kind(1, 90 * kGiB)}, {gpu(kMps)});
  question.waiting = {{.number = 1, .seconds = 60}, {.number = 2, .seconds = 60, .rank = 5}};
  auto rates = rates_of(question.kinds);
  const Answer answer = decide(question, rates);
  ASSERT_EQ(answer.starts.size(), 1);
  EXPECT_EQ(answer.starts[0].number, 2);
}

/// What holds of every answer, whatever is asked, under every policy.
void expect_sound(const Question& question, const Answer& answer) {
  struct On {
    Bytes memory;
    bool unknown = false, alone = false;
    std::size_t count = 0;
    std::set<std::string> users;
  };
  std::vector<On> places(question.places.size());
  const auto put = [&](std::size_t place, std::size_t kind, bool alone, const std::string& user) {
    On& on = places[place];
    on.memory += question.kinds[kind].memory.value_or(Bytes());
    on.unknown = on.unknown || !question.kinds[kind].memory;
    on.alone = on.alone || alone;
    ++on.count;
    on.users.insert(user);
  };
  for (const RunningNow& running : question.running)
    for (const std::size_t place : running.places) put(place, running.kind, running.alone, running.user);
  std::set<std::int64_t> started;
  std::set<std::size_t> used;
  for (const Chosen& chosen : answer.starts) {
    EXPECT_TRUE(started.insert(chosen.number).second) << "twice";
    const auto waiting = std::ranges::find(question.waiting, chosen.number, &WaitingNow::number);
    ASSERT_NE(waiting, question.waiting.end());
    EXPECT_EQ(chosen.places.size(), static_cast<std::size_t>(waiting->gpus));
    EXPECT_EQ(std::set(chosen.places.begin(), chosen.places.end()).size(), chosen.places.size());
    EXPECT_FALSE(chosen.reason.empty());
    EXPECT_GT(chosen.speed, 0);
    for (const std::size_t place : chosen.places) {
      EXPECT_TRUE(question.places[place].closed.empty()) << "closed";
      put(place, waiting->kind, waiting->alone || waiting->gpus > 1, waiting->user);
      used.insert(place);
    }
  }
  for (const std::size_t i : used) {
    const On& on = places[i];
    EXPECT_LE(on.memory.count(), question.places[i].memory.count());
    EXPECT_TRUE(on.count == 1 || !(on.unknown || on.alone || question.places[i].setup == kExclusive));
    EXPECT_TRUE(on.users.size() == 1 || question.places[i].setup != kMps);
  }
  for (const WaitingNow& waiting : question.waiting)
    EXPECT_NE(started.contains(waiting.number), answer.waits.contains(waiting.number)) << waiting.number;
}

/// Any question, with those that run where they fit.
Question any_question(std::mt19937& random) {
  const auto up_to = [&](int most) { return std::uniform_int_distribution<int>(0, most)(random); };
  Question out{.setups = kSetups};
  for (int i = 0; i <= up_to(5); ++i) {
    out.kinds.push_back(
        kind(0.05 + 0.1 * up_to(10), up_to(4) == 0 ? std::nullopt : std::optional(up_to(120) * kGiB)));
    out.kinds.back().serves = up_to(9) == 0;
  }
  for (int i = 0; i <= up_to(4); ++i) {
    out.places.push_back(gpu(static_cast<std::size_t>(up_to(2)), (10 + up_to(130)) * kGiB));
    if (up_to(5) == 0) out.places.back().closed = "for a reason";
  }
  const auto any_kind = [&] {
    return static_cast<std::size_t>(up_to(static_cast<int>(out.kinds.size()) - 1));
  };
  std::int64_t number = 0;
  for (std::size_t place = 0; place < out.places.size(); ++place)
    if (up_to(2) == 0) {
      const std::size_t kind = any_kind();
      if (out.kinds[kind].memory.value_or(Bytes()) > out.places[place].memory) continue;
      out.running.push_back({.number = ++number,
                             .kind = kind,
                             .places = {place},
                             .left = 1.0 + up_to(1000),
                             .alone = up_to(4) == 0,
                             .user = std::string(1, static_cast<char>('a' + up_to(1)))});
    }
  for (int i = 0; i < up_to(30); ++i)
    out.waiting.push_back({.number = ++number,
                           .kind = any_kind(),
                           .seconds = 1.0 + up_to(1000),
                           .rank = static_cast<double>(up_to(3)),
                           .arrival = static_cast<double>(i),
                           .gpus = up_to(9) == 0 ? 2 : 1,
                           .alone = up_to(6) == 0,
                           .user = std::string(1, static_cast<char>('a' + up_to(1)))});
  return out;
}

TEST(Decide, NoAnswerBreaksABound) {
  for (const char* policy : {"plimsoll", "exclusive", "naive", "carma", "best-fit", "packing"})
    for (unsigned seed = 1; seed <= 150; ++seed) {
      SCOPED_TRACE(testing::Message() << policy << ", seed " << seed);
      std::mt19937 random(seed);
      Question question = any_question(random);
      question.policy = policy;
      auto rates = rates_of(question.kinds);
      expect_sound(question, decide(question, rates));
      if (testing::Test::HasFailure()) return;
    }
}

TEST(Forecast, TellsWhoComesAfterWhom) {
  Question question = with({kind(1, 90 * kGiB)}, {gpu(kMps)});
  question.running = {{.number = 1, .places = {0}, .left = 30}};
  question.waiting = {{.number = 2, .seconds = 60}};
  auto rates = rates_of(question.kinds);
  const auto expected = forecast(question, rates);
  EXPECT_NEAR(expected.at(1).end, 30, 1e-6);
  EXPECT_NEAR(expected.at(2).start, 30, 1e-6);
  EXPECT_NEAR(expected.at(2).end, 90, 1e-6);
  EXPECT_TRUE(expected.at(2).starts && expected.at(2).ends);
}

TEST(Forecast, SimulatesNoGroupThatNobodyHasDecidedOn) {
  Question question = with({kind(0.1, kGiB), kind(0.2, kGiB), kind(0.3, kGiB)}, {gpu(kMps)});
  question.running = {{.number = 1, .kind = 0, .places = {0}, .left = 30}};
  for (std::int64_t number = 2; number < 8; ++number)
    question.waiting.push_back(
        {.number = number, .kind = static_cast<std::size_t>(number % 3), .seconds = 60, .startup = 5});
  std::size_t largest = 0;
  schedule::Rates rates([&](std::span<const std::uint32_t> group, std::size_t) {
    largest = std::max(largest, group.size());
    return schedule::GroupRates{.speeds = std::vector<double>(group.size(), 0.9)};
  });
  EXPECT_EQ(forecast(question, rates).size(), 7);
  EXPECT_EQ(largest, 2);
  EXPECT_FALSE(decide(question, rates).starts.empty());
  EXPECT_GT(largest, 2) << "who decides knows";
}

TEST(Forecast, TellsNothingThatHangsOnAGuess) {
  Question question = with({kind(1, 90 * kGiB)}, {gpu(kMps), gpu(kMps)});
  question.running = {{.number = 1, .places = {0}, .left = 3600, .is_known = false}};
  question.waiting = {
      {.number = 2, .seconds = 60}, {.number = 3, .seconds = 60}, {.number = 4, .seconds = 9000}};
  auto rates = rates_of(question.kinds);
  const auto expected = forecast(question, rates);
  EXPECT_TRUE(expected.at(1).starts);
  EXPECT_FALSE(expected.at(1).ends);
  int told = 0;
  for (const std::int64_t number : {2, 3, 4}) told += expected.at(number).ends ? 1 : 0;
  EXPECT_EQ(told, 1) << "the one that starts at once on the other GPU";
}

}  // namespace
}  // namespace plimsoll::queue
