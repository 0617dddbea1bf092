#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "base/files.hpp"
#include "run/promises.hpp"
#include "run/runtime_directory.hpp"

namespace plimsoll::running {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;

class MemoryPromises : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(base_); }
  [[nodiscard]] fs::path base() const { return base_->path(); }
  Result<TemporaryDirectory> base_ = TemporaryDirectory::make();
};

TEST_F(MemoryPromises, OfLivingOwnersAreListed) {
  const auto mine = RuntimeDirectory::make(base());
  const auto other = RuntimeDirectory::make(base());
  ASSERT_TRUE(mine && other);
  const Promise first{.run = "r1", .devices = {"GPU-a", "MIG-\xff"}, .need = 6 * kGiB};
  const Promise second{.run = "r2", .devices = {"GPU-a"}, .need = kMiB, .first = 4242};
  ASSERT_TRUE(note_promise(other->path(), second));
  ASSERT_TRUE(note_promise(mine->path(), first));
  EXPECT_THAT(list_promises(base()), ElementsAre(first, second));
  Promise started = first;
  started.first = 77;
  ASSERT_TRUE(note_promise(mine->path(), started));
  EXPECT_THAT(list_promises(base()), ElementsAre(started, second)) << "replaced, not added";
  drop_promise(mine->path(), "r1");
  drop_promise(mine->path(), "r1");
  EXPECT_THAT(list_promises(base()), ElementsAre(second));
}

TEST_F(MemoryPromises, OfOthersAreNot) {
  auto owner = ProcessIdentity::of(::getpid());
  ASSERT_TRUE(owner);
  ++owner->start;
  for (const auto& [directory, text] : {std::pair("1-0", owner->text()), std::pair("2-0", std::string())}) {
    fs::create_directories(base() / directory);
    if (!text.empty()) {
      ASSERT_TRUE(write_file(base() / directory / "owner", text));
    }
    ASSERT_TRUE(note_promise(base() / directory, {.run = "r", .devices = {"GPU-a"}, .need = kGiB}));
  }
  EXPECT_THAT(list_promises(base()), IsEmpty()) << "an owner that is gone, and none";
  EXPECT_THAT(list_promises(base() / "absent"), IsEmpty());
}

TEST_F(MemoryPromises, ADamagedOneIsNone) {
  const auto mine = RuntimeDirectory::make(base());
  ASSERT_TRUE(mine);
  ASSERT_TRUE(note_promise(mine->path(), {.run = "r1", .devices = {"GPU-a"}, .need = kGiB}));
  for (const char* text :
       {"", "{", "[]", "{\"run\": 1}", R"({"run": "x", "devices": [], "need_bytes": -1, "first": 0})"})
    EXPECT_TRUE(write_file(mine->path() / "promises" / "x.json", text));
  EXPECT_THAT(list_promises(base()), ElementsAre(testing::Field(&Promise::run, "r1")));
  EXPECT_FALSE(note_promise(mine->path(), {.run = "../owner", .devices = {}, .need = kGiB}));
  drop_promise(mine->path(), "../../owner");
  EXPECT_TRUE(fs::exists(mine->path() / "owner"));
}

TEST_F(MemoryPromises, OneAtATimeLooksAndNotes) {
  auto held = AdmissionLock::take(base(), 0ms);
  ASSERT_TRUE(held) << held.error().text();
  const auto refused = AdmissionLock::take(base(), 0ms);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, Error::Kind::unavailable);
  // Another waits until it is free; the lock goes with the object.
  std::thread waiting([&] { EXPECT_TRUE(AdmissionLock::take(base(), 10min)); });
  held = fail("given back");
  waiting.join();
  EXPECT_FALSE(AdmissionLock::take(base() / "absent", 0ms));
}

}  // namespace
}  // namespace plimsoll::running
