#include "run/control.hpp"

#include <array>
#include <atomic>
#include <csignal>
#include <optional>
#include <thread>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/files.hpp"
#include "run/signals.hpp"
#include "run/supervision.hpp"
#include "run/supervisor_client.hpp"
#include "run/unix_socket.hpp"

namespace plimsoll::running {
namespace {

class ControlTest : public testing::Test {
 protected:
  void SetUp() override {
    auto folder = TemporaryDirectory::make("plct");
    ASSERT_TRUE(folder);
    folder_.emplace(*std::move(folder));
    path_ = folder_->path() / "control.sock";
  }
  std::unique_ptr<Control> start(FileDescriptor caller = FileDescriptor()) {
    auto control = Control::start(path_, std::move(caller));
    EXPECT_TRUE(control);
    return *std::move(control);
  }
  /// The types of the next messages.
  static std::vector<std::string> types(SupervisorClient& client, std::size_t count) {
    std::vector<std::string> out;
    while (out.size() < count && client.is_open()) {
      pollfd ready{client.descriptor(), POLLIN, 0};
      EXPECT_EQ(::poll(&ready, 1, 300'000), 1);
      for (const job::Json& message : client.receive()) out.push_back(type_of(message));
    }
    return out;
  }
  static Control::News news(Control& control) {
    pollfd ready{control.descriptor(), POLLIN, 0};
    EXPECT_EQ(::poll(&ready, 1, 300'000), 1);
    return control.take();
  }
  std::optional<TemporaryDirectory> folder_;
  std::filesystem::path path_;
};

TEST_F(ControlTest, OfWhatIsReplacedWhoComesLaterIsToldTheNewest) {
  const auto control = start();
  control->tell({{"type", "started"}}, true);
  control->tell_newest("progress a", {{"type", "progress"}, {"step", 1}});
  control->tell_newest("progress b", {{"type", "other"}});
  control->tell_newest("progress a", {{"type", "progress"}, {"step", 2}});
  control->tell({{"type", "ended"}}, true);
  auto client = SupervisorClient::connect(path_);
  ASSERT_TRUE(client);
  std::vector<std::string> told;
  while (told.size() < 5 && client->is_open())
    for (const job::Json& message : client->wait_and_receive())
      told.push_back(type_of(message) + message.value("step", job::Json("")).dump());
  EXPECT_THAT(told,
              testing::ElementsAre(testing::StartsWith("hello"), testing::StartsWith("started"), "progress2",
                                   testing::StartsWith("other"), testing::StartsWith("ended")));
}

TEST_F(ControlTest, WhoComesLaterIsToldWhatIsKept) {
  const auto control = start();
  auto first = SupervisorClient::connect(path_);
  ASSERT_TRUE(first);
  EXPECT_THAT(types(*first, 1), testing::ElementsAre("hello"));
  control->tell({{"type", "say"}});
  control->tell({{"type", "started"}}, true);
  EXPECT_THAT(types(*first, 2), testing::ElementsAre("say", "started"));
  auto second = SupervisorClient::connect(path_);
  ASSERT_TRUE(second);
  EXPECT_THAT(types(*second, 2), testing::ElementsAre("hello", "started"));
}

TEST_F(ControlTest, WhoListensMustBeWhoIsMeant) {
  const auto control = start();
  EXPECT_TRUE(SupervisorClient::connect(path_, ::geteuid()));
  EXPECT_FALSE(SupervisorClient::connect(path_, ::geteuid() + 1));
}

/// One who is no supervisor, and does what it likes at the other end.
class StrangerTest : public ControlTest {
 protected:
  void SetUp() override {
    ControlTest::SetUp();
    auto listener = listen_at(path_);
    ASSERT_TRUE(listener);
    listener_ = *std::move(listener);
    auto connected = SupervisorClient::connect(path_, ::geteuid());
    ASSERT_TRUE(connected);
    client_.emplace(*std::move(connected));
    stranger_ = FileDescriptor(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    ASSERT_TRUE(stranger_);
  }
  FileDescriptor listener_, stranger_;
  std::optional<SupervisorClient> client_;
};

TEST_F(StrangerTest, WhoNeverStopsTalkingHoldsNobodyUp) {
  std::atomic<bool> enough = false;
  std::thread talks([&] {
    const std::string line = std::string(4000, ' ') + "{\"type\":\"say\"}\n";
    while (!enough && ::send(stranger_.get(), line.data(), line.size(), MSG_NOSIGNAL) > 0) continue;
  });
  for (int i = 0; i < 3; ++i) EXPECT_LE(client_->wait_and_receive().size(), 2000U);
  enough = true;
  client_.reset();
  talks.join();
}

TEST_F(StrangerTest, AMessageWithoutEndIsNotKept) {
  std::thread talks([&] {
    const std::string part(65536, 'x');
    while (::send(stranger_.get(), part.data(), part.size(), MSG_NOSIGNAL) > 0) continue;
  });
  while (client_->is_open()) static_cast<void>(client_->wait_and_receive());
  talks.join();
}

TEST_F(StrangerTest, WhoDoesNotListenIsLeft) {
  for (int i = 0; client_->is_open() && i < 1'000'000; ++i) client_->send_signal(SIGUSR1);
  EXPECT_FALSE(client_->is_open());
}

TEST_F(ControlTest, SignalsComeToThisProcess) {
  auto signals = SignalSource::open();
  ASSERT_TRUE(signals);
  const auto control = start();
  auto client = SupervisorClient::connect(path_);
  ASSERT_TRUE(client);
  client->send_signal(SIGKILL);  // is not one of those that may be asked for
  client->send_signal(SIGUSR2);
  pollfd ready{signals->descriptor(), POLLIN, 0};
  ASSERT_EQ(::poll(&ready, 1, 300'000), 1);
  EXPECT_THAT(signals->take(), testing::ElementsAre(SIGUSR2));
}

TEST_F(ControlTest, ViewersBringTheirDescriptorsAndAreMissedWhenTheyGo) {
  const auto control = start();
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  const FileDescriptor read_end(ends[0]);
  FileDescriptor write_end(ends[1]);
  std::optional<SupervisorClient> client(*SupervisorClient::connect(path_));
  client->send({{"type", "attach"}, {"run", "abc"}}, {write_end.get(), write_end.get()});
  write_end.reset();
  Control::News came = news(*control);
  ASSERT_EQ(came.came.size(), 1U);
  EXPECT_EQ(came.came[0].run, "abc");
  ASSERT_EQ(::write(came.came[0].output.get(), "x", 1), 1);
  char got = 0;
  ASSERT_EQ(::read(read_end.get(), &got, 1), 1);
  EXPECT_EQ(got, 'x');
  client.reset();
  EXPECT_THAT(news(*control).left, testing::ElementsAre(came.came[0].number));
}

TEST_F(ControlTest, TheCallerIsMissed) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
  FileDescriptor ours(ends[0]);
  const auto control = start(FileDescriptor(ends[1]));
  ours.reset();
  EXPECT_TRUE(news(*control).caller_left);
}

TEST_F(ControlTest, NonsenseEndsOnlyTheOneWhoSaysIt) {
  const auto control = start();
  auto good = SupervisorClient::connect(path_);
  ASSERT_TRUE(good);
  EXPECT_THAT(types(*good, 1), testing::ElementsAre("hello"));
  for (const std::string& text :
       {std::string("nonsense\n"), std::string("{}\n[1]\n"), std::string("{\"type\":3}\n[\n"),
        std::string(100'000, 'x'), std::string("\0\n", 2)}) {
    auto bad = connect_to(path_);
    ASSERT_TRUE(bad);
    static_cast<void>(send_all(bad->get(), text));
    std::array<char, 4096> rest{};
    while (::read(bad->get(), rest.data(), rest.size()) > 0) continue;  // until it is closed at the other end
  }
  control->tell({{"type", "say"}});
  EXPECT_THAT(types(*good, 1), testing::ElementsAre("say"));
}

TEST_F(ControlTest, TheSocketIsThisUsersAlone) {
  const auto control = start();
  struct stat facts{};
  ASSERT_EQ(::stat(path_.c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777U, 0600U);
}

}  // namespace
}  // namespace plimsoll::running
