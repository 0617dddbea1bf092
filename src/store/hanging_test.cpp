// A server that hangs and comes back, or whose connections are cut meanwhile: nothing that was acknowledged
// is missing, nothing is there twice, and whoever does not need it goes on.
#include <atomic>
#include <random>
#include <thread>

#include "store/test_proxy.hpp"
#include "store/test_store.hpp"

namespace plimsoll::store {
namespace {

using test::counting;
using test::Proxy;

class HangingServer : public test::EveryStore {
 protected:
  void SetUp() override {
    EveryStore::SetUp();
    if (IsSkipped()) return;
    run_ = new_run();
    proxy_ = std::make_unique<Proxy>(directory_->path(), server_->directory());
    ASSERT_TRUE(proxy_->listens());
    through_ = opened_through();
    ASSERT_NE(through_, nullptr);
  }
  void TearDown() override {
    if (proxy_) proxy_->let_go();
    through_.reset();
  }

  /// A store whose way to the server is the proxy.
  std::unique_ptr<Store> opened_through() {
    Result<std::unique_ptr<Store>> opened =
        open("postgresql:///postgres?user=plimsoll&host=" + directory_->path().string(),
             {.busy_timeout = std::chrono::minutes(5), .artifacts = directory_->path()});
    if (!opened) ADD_FAILURE() << opened.error().text();
    return opened ? std::move(*opened) : nullptr;
  }

  /// Until a call waits for its answer.
  void await_waiting(int before) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(5);
    while (proxy_->waiting() <= before && std::chrono::steady_clock::now() < end)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    ASSERT_GT(proxy_->waiting(), before);
  }

  std::string run_;
  std::unique_ptr<Proxy> proxy_;
  std::unique_ptr<Store> through_;
};

TEST_P(HangingServer, HoldsUpItsCallsAloneAndTheyEndWhenItIsBack) {
  ASSERT_TRUE(through_->append({{Batch{run_, "m", {}, counting(0, 10)}}}));
  const int before = proxy_->waiting();
  proxy_->hold();
  std::atomic<bool> ended = false;
  Status appended;
  {
    const std::jthread caller([&] {
      appended =
          through_->append({{Batch{run_, "m", {}, counting(10, 500)}, Batch{run_, "n", {}, counting(0, 5)}}});
      ended = true;
    });
    await_waiting(before);
    // Another way to the same server is open meanwhile.
    EXPECT_TRUE(store_->append({{Batch{run_, "other", {}, counting(0, 10)}}}));
    EXPECT_EQ(store_->history(run_, "m"), counting(0, 10));
    EXPECT_FALSE(ended) << "nothing is acknowledged that the server has not";
    proxy_->let_go();
  }
  ASSERT_TRUE(appended) << appended.error().text();
  EXPECT_EQ(store_->history(run_, "m"), counting(0, 510));
}

TEST_P(HangingServer, WhoseConnectionsAreCutWhileItHangsLosesNothing) {
  ASSERT_TRUE(through_->append({{Batch{run_, "m", {}, counting(0, 10)}}}));
  const int before = proxy_->waiting();
  proxy_->hold();
  Status appended;
  {
    const std::jthread caller(
        [&] { appended = through_->append({{Batch{run_, "m", {}, counting(10, 500)}}}); });
    await_waiting(before);
    proxy_->cut();
  }
  // The call was repeated by itself, or failed as one that may be.
  if (!appended) {
    EXPECT_EQ(appended.error().kind, Error::Kind::unavailable) << appended.error().text();
    ASSERT_TRUE(through_->append({{Batch{run_, "m", {}, counting(10, 500)}}}));
  }
  EXPECT_EQ(store_->history(run_, "m"), counting(0, 510));
}

TEST_P(HangingServer, KeepsClaimsOfOneHolderThroughCuts) {
  const int before = proxy_->waiting();
  proxy_->hold();
  Result<ClaimAnswer> taken = fail("not yet");
  {
    const std::jthread caller([&] {
      do taken = through_->claims().take({"job/1", "me", std::chrono::hours(24)});
      while (!taken && taken.error().kind == Error::Kind::unavailable);
    });
    await_waiting(before);
    proxy_->cut();
  }
  ASSERT_TRUE(taken) << taken.error().text();
  EXPECT_TRUE(taken->held);
  EXPECT_EQ(taken->claim.term, 1) << "asked again it is the same";
  const Result<ClaimAnswer> other = store_->claims().take({"job/1", "you", std::chrono::hours(24)});
  ASSERT_TRUE(other);
  EXPECT_FALSE(other->held);
}

TEST_P(HangingServer, AgainAndAgainCostsNoAcknowledgedPoint) {
  constexpr std::int64_t kTotal = 100'000, kEach = 1000;
  std::atomic<std::int64_t> acknowledged = 0;
  std::atomic<int> refused = 0;
  {
    const std::jthread writer([&] {
      while (acknowledged < kTotal) {
        const Status done = through_->append({{Batch{run_, "m", {}, counting(acknowledged, kEach)}}});
        if (done)
          acknowledged += kEach;
        else
          ++refused;
      }
    });
    std::mt19937 random(7);
    while (acknowledged < kTotal) {
      proxy_->hold();
      std::this_thread::sleep_for(std::chrono::milliseconds(random() % 20));
      if (random() % 2 == 0)
        proxy_->let_go();
      else
        proxy_->cut();
      std::this_thread::sleep_for(std::chrono::milliseconds(random() % 20));
    }
    proxy_->let_go();
  }
  EXPECT_EQ(store_->history(run_, "m"), counting(0, kTotal));
  RecordProperty("refused", refused);
}

INSTANTIATE_TEST_SUITE_P(Postgres, HangingServer, testing::Values(test::Backend::postgres),
                         [](const auto&) { return "Postgres"; });

}  // namespace
}  // namespace plimsoll::store
