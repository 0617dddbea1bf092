#include "serve/event_feed.hpp"

#include <array>
#include <chrono>
#include <csignal>
#include <thread>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/files.hpp"

namespace plimsoll::serve {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

/// Another process that has SQLite's lock on a file as long as this lives: who reads or writes is told that
/// it is busy.
class LockedByAnother {
 public:
  explicit LockedByAnother(const std::filesystem::path& file) {
    constexpr off_t kPendingByte = 0x40000000;
    constexpr off_t kBytes = 512;
    std::array<int, 2> ready{};
    EXPECT_EQ(::pipe(ready.data()), 0);
    child_ = ::fork();
    if (child_ == 0) {
      const int opened = ::open(file.c_str(), O_RDWR | O_CLOEXEC);
      struct flock lock{};
      lock.l_type = F_WRLCK;
      lock.l_whence = SEEK_SET;
      lock.l_start = kPendingByte;
      lock.l_len = kBytes;
      const char taken = ::fcntl(opened, F_SETLKW, &lock) == 0 ? 'y' : 'n';
      (void)!::write(ready[1], &taken, 1);
      ::pause();
      ::_exit(0);
    }
    char taken = 'n';
    EXPECT_EQ(::read(ready[0], &taken, 1), 1);
    EXPECT_EQ(taken, 'y');
    ::close(ready[0]);
    ::close(ready[1]);
  }
  LockedByAnother(const LockedByAnother&) = delete;
  LockedByAnother& operator=(const LockedByAnother&) = delete;
  ~LockedByAnother() {
    ::kill(child_, SIGKILL);
    ::waitpid(child_, nullptr, 0);
  }

 private:
  pid_t child_ = -1;
};

class EventFeedTest : public testing::Test {
 protected:
  EventFeedTest() : folder_(*TemporaryDirectory::make()), file_(folder_.path() / "store.db") {
    // Without a write-ahead log a lock holds up readers too.
    auto opened =
        store::open(file_.string(), {.busy_timeout = milliseconds(20), .journal = store::Journal::rollback});
    if (!opened) ADD_FAILURE() << opened.error().text();
    store_ = std::move(*opened);
  }

  /// What comes, however busy the machine.
  static std::string news(EventQueue& queue) {
    for (int i = 0; i < 30'000; ++i) {
      if (std::string text = queue.take().text; !text.empty()) return text;
      std::this_thread::sleep_for(milliseconds(10));
    }
    return {};
  }

  TemporaryDirectory folder_;
  std::filesystem::path file_;
  std::unique_ptr<store::Store> store_;
};

TEST_F(EventFeedTest, AStoreThatDoesNotAnswerHasNotEndedItsRuns) {
  const Result<std::string> run = store_->create({.name = "first"});
  ASSERT_TRUE(run);
  const auto queue = std::make_shared<EventQueue>();
  EventFeed feed(*store_);
  ASSERT_TRUE(feed.add(queue, {}));
  EXPECT_THAT(news(*queue), HasSubstr("RUNNING"));
  {
    const LockedByAnother lock(file_);
    std::this_thread::sleep_for(milliseconds(1500));
    EXPECT_FALSE(store_->find(*run));
  }
  std::this_thread::sleep_for(milliseconds(1500));
  EXPECT_EQ(queue->take().text, "") << "nothing has changed";
  Status ended;
  for (int i = 0; i < 15'000; ++i)
    if (ended = store_->change(*run, {.status = store::RunStatus::finished}); ended) break;
  EXPECT_TRUE(ended);
  EXPECT_THAT(news(*queue), HasSubstr("FINISHED"));
}

TEST_F(EventFeedTest, StopsWhileTheStoreDoesNotAnswer) {
  // To look at every run takes five minutes where each look waits for the lock in vain.
  constexpr int kRuns = 100;
  for (int i = 0; i < kRuns; ++i) ASSERT_TRUE(store_->create({}));
  store_ =
      *store::open(file_.string(), {.busy_timeout = milliseconds(3000), .journal = store::Journal::rollback});
  const auto queue = std::make_shared<EventQueue>();
  auto feed = std::make_unique<EventFeed>(*store_);
  ASSERT_TRUE(feed->add(queue, {}));
  EXPECT_NE(news(*queue), "");
  const LockedByAnother lock(file_);
  std::this_thread::sleep_for(milliseconds(1200));
  const auto begun = std::chrono::steady_clock::now();
  feed.reset();
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::minutes(2));
  EXPECT_TRUE(queue->closed());
}

}  // namespace
}  // namespace plimsoll::serve
