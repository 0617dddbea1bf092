// Several that use one queue at once, by threads and by processes that are killed: no job is lost, taken
// twice or changed unseen.
#include <atomic>
#include <random>
#include <set>
#include <thread>

#include "store/test_process.hpp"
#include "store/test_queue.hpp"

namespace plimsoll::store {
namespace {

using test::Child;
using test::job;
using test::Numbers;
using test::Pipe;

/// Several that use one store, each by connections of its own.
class QueueRace : public test::QueueTest {
 protected:
  static constexpr int kRacers = 4;
  /// Each racer with its own open store.
  template <class Work>
  void race(const Work& work) {
    std::atomic<int> failures = 0;
    std::vector<std::jthread> racers;
    racers.reserve(kRacers);
    for (int racer = 0; racer < kRacers; ++racer)
      racers.emplace_back([&, racer] {
        const std::unique_ptr<Store> store = reopened({.busy_timeout = test::kPatience});
        if (!store || !work(store->queue(), racer)) ++failures;
      });
    racers.clear();
    EXPECT_EQ(failures, 0);
  }
};

TEST_P(QueueRace, OfOneTokenAddsItsJobsOnce) {
  for (int round = 0; round < 10; ++round) {
    const std::string token = "t" + std::to_string(round);
    const auto first = static_cast<std::int64_t>(2 * round + 1);
    race([&](Queue& queue, int) {
      return queue.submit({{job("a"), job("b")}}, token).value_or(Numbers()) == Numbers{first, first + 1};
    });
  }
  EXPECT_EQ(jobs().size(), 20U);
}

TEST_P(QueueRace, OfManyThatTakeAJobOneGetsIt) {
  constexpr std::size_t kJobs = 50;
  submit(std::vector<NewQueueJob>(kJobs, job("a")), "t");
  std::atomic<std::size_t> taken = 0;
  race([&](Queue& queue, int racer) {
    const std::string host = "node" + std::to_string(racer);
    for (;;) {
      const Result<std::vector<QueueJob>> waiting =
          queue.jobs({.states = {QueueState::waiting}, .limit = 1, .with_request = false});
      if (!waiting) return false;
      if (waiting->empty()) return true;
      const QueueJob& next = waiting->front();
      const Result<bool> mine = queue.change(
          {{{.number = next.number, .version = next.version, .state = QueueState::starting, .host = host}}},
          {{{.job = next.number, .host = host, .kind = "start"}}});
      if (!mine) return false;
      if (*mine) ++taken;
    }
  });
  EXPECT_EQ(taken, kJobs);
  std::map<std::int64_t, std::string> decided;
  for (const QueueDecision& decision : decisions())
    EXPECT_TRUE(decided.emplace(decision.job, decision.host).second) << decision.job << " was taken twice";
  for (const QueueJob& found : jobs()) EXPECT_EQ(found.host, decided[found.number]);
}

TEST_P(QueueRace, AReaderWhoGoesOnFromTheLastVersionMissesNothing) {
  constexpr int kEach = 60;
  std::atomic<int> writing = kRacers;
  std::map<std::int64_t, std::int64_t> seen;
  std::jthread reader([&] {
    const std::unique_ptr<Store> store = reopened({.busy_timeout = test::kPatience});
    std::int64_t last = 0;
    for (bool more = true; more;) {
      more = writing > 0;
      const Result<std::vector<QueueJob>> news = store->queue().jobs(
          {.newer_than = std::max<std::int64_t>(last, 1), .limit = 7, .with_request = false});
      if (!news) return;
      for (const QueueJob& found : *news) {
        EXPECT_GT(found.version, last);
        last = found.version;
        seen[found.number] = found.version;
      }
      more = more || !news->empty();
    }
  });
  race([&](Queue& queue, int racer) {
    bool good = true;
    for (int i = 0; i < kEach && good; ++i) {
      const Result<Numbers> made = queue.submit({{job("a"), job("b")}}, fmt::format("{}/{}", racer, i));
      const Result<std::vector<QueueJob>> some = queue.jobs({.limit = 5});
      good = made && some;
      // Some are refused, as another was faster.
      for (std::size_t j = 0; good && j < some->size(); ++j)
        good =
            queue.change({{{.number = (*some)[j].number, .version = (*some)[j].version, .reason = "x"}}}, {})
                .has_value();
    }
    --writing;
    return good;
  });
  reader.join();
  const std::vector<QueueJob> all = jobs();
  ASSERT_EQ(all.size(), static_cast<std::size_t>(2 * kRacers * kEach));
  std::set<std::int64_t> versions;
  for (const QueueJob& found : all) {
    EXPECT_TRUE(versions.insert(found.version).second) << "a version that two have";
    EXPECT_TRUE(found.version == 1 || seen[found.number] == found.version) << found.number;
  }
}

/// Processes that submit and are killed. None has a copy of an open connection: each opens the store itself.
class KilledSubmitters : public test::QueueTest {
 protected:
  void SetUp() override {
    QueueTest::SetUp();
    if (!IsSkipped()) store_.reset();
  }

  /// Submits pairs under tokens from `first` on, starts each first one, and says through the pipe how many
  /// it was answered for.
  int submit_for_ever(std::int64_t first, int acknowledge) {
    const Result<std::unique_ptr<Store>> store = open(location_, {.artifacts = directory_->path()});
    if (!store) return 1;
    Queue& queue = (*store)->queue();
    for (std::int64_t next = first;; ++next) {
      const Result<Numbers> made = queue.submit({{job("a"), job("b", {-1})}}, std::to_string(next));
      if (!made) return 2;
      const Result<std::vector<QueueJob>> mine = queue.jobs({.numbers = {made->front()}});
      if (!mine || mine->empty()) return 3;
      // Started already where this pair was answered to one who was killed before telling.
      if (mine->front().state == QueueState::waiting &&
          !queue.change(
              {{{.number = made->front(), .version = mine->front().version, .state = QueueState::starting}}},
              {{{.job = made->front(), .kind = "start"}}}))
        return 4;
      if (::write(acknowledge, &next, sizeof next) != sizeof next) return 5;
    }
  }
};

TEST_P(KilledSubmitters, LoseNoJobAndAddNoneTwice) {
  constexpr int kKills = 25;
  std::mt19937 random(2026);
  std::int64_t acknowledged = 0;
  for (int kill = 0; kill < kKills; ++kill) {
    Pipe pipe;
    {
      // From the first that was not acknowledged: it may be there already, and is repeated by its token.
      Child child([&] { return submit_for_ever(acknowledged + 1, pipe.write.get()); });
      pipe.write.reset();
      const auto answers = 1 + random() % 20;
      for (unsigned i = 0; i < answers; ++i)
        ASSERT_EQ(::read(pipe.read.get(), &acknowledged, sizeof acknowledged),
                  static_cast<ssize_t>(sizeof acknowledged));
      std::this_thread::sleep_for(std::chrono::microseconds(random() % 2000));
      child.kill();
    }
    while (::read(pipe.read.get(), &acknowledged, sizeof acknowledged) == sizeof acknowledged) {
    }
  }
  store_ = reopened();
  ASSERT_NE(store_, nullptr);
  const std::vector<QueueJob> all = jobs({.limit = 100'000});
  ASSERT_GE(all.size(), static_cast<std::size_t>(2 * acknowledged));
  ASSERT_LE(all.size(), static_cast<std::size_t>(2 * acknowledged + 2)) << "one may be there unanswered";
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(all[i].number, static_cast<std::int64_t>(i + 1));
    EXPECT_EQ(all[i].name, i % 2 == 0 ? "a" : "b") << "pairs are whole";
    EXPECT_EQ(all[i].request, job("a").request);
  }
  std::size_t started = 0;
  for (const QueueJob& found : all) started += found.state == QueueState::starting ? 1 : 0;
  EXPECT_GE(started, static_cast<std::size_t>(acknowledged));
  EXPECT_EQ(queue().decisions({}, 0, 100'000)->size(), started) << "with each change its decision";
}

PLIMSOLL_IN_EVERY_STORE(QueueRace);
PLIMSOLL_IN_EVERY_STORE(KilledSubmitters);

}  // namespace
}  // namespace plimsoll::store
