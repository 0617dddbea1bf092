// Who holds what, where several ask: in every database, and with real processes.
#include <algorithm>
#include <atomic>
#include <set>
#include <thread>
#include <tuple>

#include "store/test_process.hpp"
#include "store/test_store.hpp"

namespace plimsoll::store {
namespace {

using test::Child;
using test::Pipe;
using namespace std::chrono_literals;

/// Longer than any test takes, however slow the machine is.
constexpr std::chrono::milliseconds kLong = std::chrono::hours(24);
/// For a lock that others pass on: they may be slow to.
constexpr std::chrono::milliseconds kPatience = std::chrono::minutes(5);

class ClaimContract : public test::EveryStore {
 protected:
  ClaimAnswer take(const ClaimWish& wish) {
    const Result<ClaimAnswer> answer = store_->claims().take(wish);
    if (!answer) ADD_FAILURE() << answer.error().text();
    return answer.value_or(ClaimAnswer{});
  }
  ClaimAnswer renew(const Claim& held, std::chrono::milliseconds lease = kLong) {
    const Result<ClaimAnswer> answer = store_->claims().renew(held, lease);
    if (!answer) ADD_FAILURE() << answer.error().text();
    return answer.value_or(ClaimAnswer{});
  }

  static std::optional<Claim> held(Store& store, std::string_view name) {
    const Result<std::optional<Claim>> found = store.claims().held(name);
    if (!found) ADD_FAILURE() << found.error().text();
    return found.value_or(std::nullopt);
  }

  /// A claim whose holder has not renewed it in time.
  Claim expired(const std::string& name, const std::string& holder) {
    const ClaimAnswer answer = take({name, holder, 1ms});
    EXPECT_TRUE(answer.held);
    const auto end = std::chrono::steady_clock::now() + kPatience;
    while (std::chrono::steady_clock::now() < end) {
      const Result<std::optional<Claim>> now = store_->claims().held(name);
      if (!now || !*now || (*now)->expired) break;
      std::this_thread::sleep_for(1ms);
    }
    return answer.claim;
  }
};

TEST_P(ClaimContract, IsTakenOnceAndSaysByWhom) {
  const ClaimAnswer first = take({"queue/node7", "daemon-1", kLong, "pid 4711"});
  EXPECT_TRUE(first.held);
  EXPECT_EQ(first.claim.term, 1);
  EXPECT_FALSE(first.claim.expired);
  const ClaimAnswer second = take({"queue/node7", "daemon-2", kLong, "pid 4712"});
  EXPECT_FALSE(second.held);
  EXPECT_EQ(second.claim, first.claim);
  EXPECT_TRUE(take({"queue/node8", "daemon-2", kLong}).held) << "another name is another claim";
  const auto again = reopened();
  EXPECT_EQ(held(*again, "queue/node7"), std::optional(first.claim));
  EXPECT_EQ(held(*again, "queue/node"), std::optional<Claim>());
}

TEST_P(ClaimContract, IsRenewedByItsHolderInTheSameTerm) {
  const Claim mine = take({"a", "me", kLong, "one"}).claim;
  const ClaimAnswer again = take({"a", "me", kLong, "two"});
  EXPECT_TRUE(again.held);
  EXPECT_EQ(again.claim.term, mine.term);
  EXPECT_EQ(again.claim.note, "two");
  EXPECT_GE(again.claim.until, mine.until);
  const ClaimAnswer renewed = renew(again.claim);
  EXPECT_TRUE(renewed.held);
  EXPECT_EQ(renewed.claim.term, mine.term);
  EXPECT_EQ(renewed.claim.note, "two");
}

TEST_P(ClaimContract, OfAHolderWhoDoesNotRenewGoesToTheNext) {
  const Claim lost = expired("a", "gone");
  const ClaimAnswer taken = take({"a", "next", kLong});
  EXPECT_TRUE(taken.held);
  EXPECT_EQ(taken.claim.term, lost.term + 1);
  // What the one before does now is too late, and changes nothing.
  EXPECT_FALSE(renew(lost).held);
  EXPECT_EQ(renew(lost).claim, taken.claim);
  EXPECT_EQ(store_->claims().release(lost), false);
  EXPECT_FALSE(take({"a", "gone", kLong}).held);
  EXPECT_EQ(held(*store_, "a"), std::optional(taken.claim));
}

TEST_P(ClaimContract, ThatIsExpiredIsStillTheHoldersWhereNobodyAsked) {
  const Claim late = expired("a", "late");
  const ClaimAnswer renewed = renew(late);
  EXPECT_TRUE(renewed.held);
  EXPECT_EQ(renewed.claim.term, late.term);
  EXPECT_FALSE(take({"a", "next", kLong}).held);
}

TEST_P(ClaimContract, IsReleasedByHolderAndTermAlone) {
  const Claim mine = take({"a", "me", kLong}).claim;
  Claim other = mine;
  other.holder = "you";
  EXPECT_EQ(store_->claims().release(other), false);
  other = mine;
  --other.term;
  EXPECT_EQ(store_->claims().release(other), false);
  EXPECT_FALSE(renew(other).held) << "an earlier term";
  EXPECT_EQ(store_->claims().release(mine), true);
  EXPECT_EQ(store_->claims().release(mine), true) << "an answer that was lost is asked for again";
  EXPECT_EQ(held(*store_, "a"), std::optional<Claim>());
  EXPECT_FALSE(renew(mine).held);
  EXPECT_EQ(renew(mine).claim.holder, "");
  const ClaimAnswer next = take({"a", "you", kLong});
  EXPECT_TRUE(next.held);
  EXPECT_EQ(next.claim.term, 2) << "terms never fall";
  EXPECT_EQ(store_->claims().release(mine), false);
}

TEST_P(ClaimContract, AreListedByTheBeginningOfTheirNames) {
  for (const char* name : {"job/1", "job/2", "job/10", "jobs", "queue/a", "job/", "zebra~"})
    EXPECT_TRUE(take({name, "me", kLong}).held);
  ASSERT_EQ(store_->claims().release({.name = "job/2", .holder = "me", .term = 1}), true);
  const auto names = [&](std::string_view prefix) {
    const Result<std::vector<Claim>> claims = store_->claims().all_held(prefix);
    std::vector<std::string> out;
    if (claims)
      for (const Claim& claim : *claims) out.push_back(claim.name);
    return out;
  };
  EXPECT_EQ(names("job/"), (std::vector<std::string>{"job/", "job/1", "job/10"}));
  EXPECT_EQ(names("zebra~"), (std::vector<std::string>{"zebra~"}));
  EXPECT_EQ(names("").size(), 6U);
  EXPECT_EQ(names("nothing"), std::vector<std::string>());
}

TEST_P(ClaimContract, AClockThatIsSetBackNeitherGivesItTwiceNorKeepsItForEver) {
  const Claim mine = take({"a", "gone", 1ms}).claim;
  // As if the clock had been an hour ahead when it was taken.
  execute("UPDATE claim SET until = until + 3600000000");
  const ClaimAnswer first = take({"a", "next", kLong});
  EXPECT_FALSE(first.held) << "it lasts as long as its holder may count on";
  EXPECT_LT(first.claim.until, mine.until + 3'600'000'000);
  ClaimAnswer second;
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (!second.held && std::chrono::steady_clock::now() < end) second = take({"a", "next", kLong});
  EXPECT_TRUE(second.held);
  EXPECT_EQ(second.claim.term, mine.term + 1);
}

TEST_P(ClaimContract, RefusesWhatNoClaimCanBe) {
  for (const ClaimWish& wish :
       {ClaimWish{"", "me", kLong}, ClaimWish{"a", "", kLong}, ClaimWish{"a b", "me", kLong},
        ClaimWish{"ä", "me", kLong}, ClaimWish{std::string("a\0", 2), "me", kLong},
        ClaimWish{std::string(251, 'a'), "me", kLong}, ClaimWish{"a", std::string(251, 'm'), kLong},
        ClaimWish{"a", "me", 0ms}, ClaimWish{"a", "me", -1ms}, ClaimWish{"a", "me", kLongestLease + 1ms},
        ClaimWish{"a", "me", std::chrono::milliseconds::max()},
        ClaimWish{"a", "me", kLong, std::string(70'000, 'n')}}) {
    const Result<ClaimAnswer> refused = store_->claims().take(wish);
    ASSERT_FALSE(refused) << wish.name;
    EXPECT_EQ(refused.error().kind, Error::Kind::bad_input) << refused.error().text();
  }
  EXPECT_EQ(store_->claims().all_held("")->size(), 0U);
  // A holder is whatever text.
  const std::string holder("node\0 '7\xFF", 9);
  EXPECT_TRUE(take({"a", holder, kLong, "ä\n"}).held);
  EXPECT_EQ((*store_->claims().held("a"))->holder, holder);
}

TEST_P(ClaimContract, OfManyThreadsThatAskOneGetsIt) {
  constexpr int kRacers = 8, kRounds = 20;
  for (int round = 0; round < kRounds; ++round) {
    const std::string name = "race/" + std::to_string(round);
    std::atomic<int> winners = 0, failures = 0;
    std::vector<std::jthread> racers;
    racers.reserve(kRacers);
    for (int racer = 0; racer < kRacers; ++racer)
      racers.emplace_back([&, racer] {
        const Result<ClaimAnswer> answer =
            store_->claims().take({name, "racer-" + std::to_string(racer), kLong});
        if (!answer) ++failures;
        if (answer && answer->held) ++winners;
      });
    racers.clear();
    EXPECT_EQ(winners, 1);
    EXPECT_EQ(failures, 0);
  }
}

/// Without forked copies of an open connection: each process opens the store itself.
class ClaimRace : public ClaimContract {
 protected:
  void SetUp() override {
    ClaimContract::SetUp();
    if (!IsSkipped()) store_.reset();
  }
};

/// Takes the claim again and again, always for a moment only, and tells the terms that it got.
int take_terms(const std::string& location, const std::filesystem::path& artifacts, int me, int out) {
  const Result<std::unique_ptr<Store>> store =
      open(location, {.busy_timeout = kPatience, .artifacts = artifacts});
  if (!store) return 1;
  const std::string holder = "process-" + std::to_string(me);
  for (int got = 0; got < 25;) {
    const Result<ClaimAnswer> answer = (*store)->claims().take({"shared", holder, kLong});
    if (!answer) return 2;
    if (!answer->held) {
      std::this_thread::sleep_for(1ms);
      continue;
    }
    ++got;
    if (::write(out, &answer->claim.term, sizeof answer->claim.term) != sizeof answer->claim.term) return 3;
    // Every second one is given back, the others run out.
    if (got % 2 == 0) {
      if ((*store)->claims().release(answer->claim) != true) return 4;
    } else if (const Result<ClaimAnswer> shorter = (*store)->claims().renew(answer->claim, 1ms);
               !shorter || !shorter->held) {
      return 5;
    }
  }
  // The last one is free for the others.
  std::ignore = (*store)->claims().take({"shared", holder, 1ms});
  return 0;
}

TEST_P(ClaimRace, OfManyProcessesNeverGivesATermToTwo) {
  constexpr int kProcesses = 4;
  std::vector<Pipe> pipes(kProcesses);
  std::vector<std::unique_ptr<Child>> children;
  for (int i = 0; i < kProcesses; ++i)
    children.push_back(std::make_unique<Child>([&, i] {
      return take_terms(location_, directory_->path(), i, pipes[static_cast<std::size_t>(i)].write.get());
    }));
  std::set<std::int64_t> all;
  std::size_t changes = 0;
  for (int i = 0; i < kProcesses; ++i) {
    Pipe& pipe = pipes[static_cast<std::size_t>(i)];
    EXPECT_EQ(children[static_cast<std::size_t>(i)]->wait(), 0);
    pipe.write.reset();
    std::set<std::int64_t> own;
    std::int64_t term = 0, last = 0;
    while (::read(pipe.read.get(), &term, sizeof term) == sizeof term) {
      EXPECT_GE(term, last) << "terms grow";
      last = term;
      own.insert(term);
    }
    changes += own.size();
    all.merge(own);
    EXPECT_TRUE(own.empty()) << "a term that two had";
  }
  EXPECT_EQ(all.size(), changes);
}

TEST_P(ClaimRace, AKilledHoldersClaimGoesToOneOfThoseThatWait) {
  Pipe holds;
  Child holder([&] {
    const Result<std::unique_ptr<Store>> store =
        open(location_, {.busy_timeout = kPatience, .artifacts = directory_->path()});
    if (!store) return 1;
    for (bool told = false;;) {
      const Result<ClaimAnswer> answer = (*store)->claims().take({"job/1", "killed", 500ms});
      if (!answer) return 2;
      if (answer->held && !told && ::write(holds.write.get(), "x", 1) != 1) return 3;
      told = told || answer->held;
    }
  });
  holds.write.reset();
  char byte = 0;
  ASSERT_EQ(::read(holds.read.get(), &byte, 1), 1);
  holder.kill();
  std::vector<std::unique_ptr<Child>> children;
  for (int i = 0; i < 3; ++i)
    children.push_back(std::make_unique<Child>([&, i] {
      const Result<std::unique_ptr<Store>> store =
          open(location_, {.busy_timeout = kPatience, .artifacts = directory_->path()});
      if (!store) return 100;
      for (;;) {
        const Result<ClaimAnswer> answer =
            (*store)->claims().take({"job/1", "waits-" + std::to_string(i), kLong});
        if (!answer) return 101;
        if (answer->held) return 1;
        if (answer->claim.holder != "killed") return 0;
        std::this_thread::sleep_for(5ms);
      }
    }));
  int winners = 0;
  for (const auto& child : children) {
    const int code = child->wait();
    EXPECT_TRUE(code == 0 || code == 1) << code;
    winners += code;
  }
  EXPECT_EQ(winners, 1);
}

PLIMSOLL_IN_EVERY_STORE(ClaimContract);
PLIMSOLL_IN_EVERY_STORE(ClaimRace);

}  // namespace
}  // namespace plimsoll::store
