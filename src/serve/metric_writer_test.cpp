#include "serve/metric_writer.hpp"

#include <atomic>
#include <future>
#include <thread>

#include <gtest/gtest.h>

#include "base/files.hpp"

namespace plimsoll::serve {
namespace {

using store::Batch;
using store::Point;

class Writing : public testing::Test {
 protected:
  void SetUp() override {
    auto opened = store::open((directory_->path() / "store.db").string(), {.survives_power_cut = false});
    ASSERT_TRUE(opened) << opened.error().text();
    store_ = std::move(*opened);
    run_ = *store_->create({});
  }

  static Batch batch(const std::string& run, std::int64_t step) {
    return {.run = run, .metric = "loss", .points = {Point{step, step, 1.0 / static_cast<double>(step + 1)}}};
  }

  /// Submits, and waits for the answer.
  static Status submitted(MetricWriter& writer, std::vector<Batch> batches) {
    std::promise<Status> answer;
    std::future<Status> coming = answer.get_future();
    writer.submit(std::move(batches), [&answer](Status done) { answer.set_value(std::move(done)); });
    return coming.get();
  }

  Result<TemporaryDirectory> directory_ = TemporaryDirectory::make("writer-test");
  std::unique_ptr<store::Store> store_;
  std::string run_;
};

TEST_F(Writing, WhatIsAnsweredIsInTheStore) {
  MetricWriter writer(*store_);
  ASSERT_TRUE(submitted(writer, {batch(run_, 0), batch(run_, 1)}));
  EXPECT_EQ(store_->history(run_, "loss")->size(), 2U);
  EXPECT_EQ(writer.statistics().points, 2U);
  EXPECT_EQ(writer.statistics().waiting, 0U);
}

TEST_F(Writing, ManyThreadsAndOneThatIsRefused) {
  constexpr int kThreads = 8, kEach = 50;
  MetricWriter writer(*store_);
  std::atomic<int> kept = 0, refused = 0;
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < kThreads; ++t)
      threads.emplace_back([&, t] {
        for (int i = 0; i < kEach; ++i) {
          const bool bad = t == 0;
          const Status done =
              submitted(writer, {batch(bad ? "00000000000000000000000000000000" : run_, t * kEach + i)});
          ++(done ? kept : refused);
          if (bad) {
            EXPECT_EQ(done.error().kind, Error::Kind::not_found);
          }
        }
      });
  }
  EXPECT_EQ(kept, (kThreads - 1) * kEach);
  EXPECT_EQ(refused, kEach);
  EXPECT_EQ(store_->history(run_, "loss")->size(), static_cast<std::size_t>((kThreads - 1) * kEach));
}

TEST_F(Writing, WhatWaitsIsBroughtInBeforeTheEnd) {
  std::atomic<int> answered = 0;
  {
    MetricWriter writer(*store_);
    for (int i = 0; i < 100; ++i)
      writer.submit({batch(run_, i)}, [&](const Status& done) { answered += done ? 1 : 0; });
  }
  EXPECT_EQ(answered, 100);
  EXPECT_EQ(store_->history(run_, "loss")->size(), 100U);
}

TEST_F(Writing, MoreThanThereIsRoomForIsRefusedAtOnce) {
  MetricWriter writer(*store_, {.most_waiting = 2});
  const Status done = submitted(writer, {batch(run_, 0), batch(run_, 1), batch(run_, 2)});
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().kind, Error::Kind::unavailable);
  EXPECT_EQ(writer.statistics().refused, 1U);
  EXPECT_TRUE(submitted(writer, {batch(run_, 0)}));
}

}  // namespace
}  // namespace plimsoll::serve
