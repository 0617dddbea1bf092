#include "run/metric_socket.hpp"

#include <cstring>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "base/files.hpp"

namespace plimsoll::running {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class MetricSocketTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(directory_);
    auto listening = MetricSocket::listen(path(), [this](const Statement& statement) {
      taken_.push_back(statement);
      return static_cast<std::uint64_t>(taken_.size());
    });
    ASSERT_TRUE(listening) << listening.error().text();
    socket_.emplace(*std::move(listening));
  }
  [[nodiscard]] std::filesystem::path path() const { return directory_->path() / "metrics.sock"; }

  [[nodiscard]] FileDescriptor connect() const {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string text = path().string();
    std::memcpy(address.sun_path, text.data(), text.size());
    FileDescriptor client(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(::connect(client.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    return client;
  }
  static void say(const FileDescriptor& client, std::string_view text) {
    ASSERT_EQ(::send(client.get(), text.data(), text.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(text.size()));
  }
  /// Serves all that is ready now, as the loop that owns the socket does.
  void serve(bool reading = true) {
    for (bool more = true; more;) {
      Interests interests;
      socket_->collect(interests, reading);
      std::vector<pollfd> waiting;
      for (const Interest& interest : interests) waiting.push_back({interest.descriptor, interest.events, 0});
      more = ::poll(waiting.data(), waiting.size(), 0) > 0;
      for (std::size_t i = 0; i < waiting.size(); ++i)
        if (waiting[i].revents != 0) interests[i].act();
    }
  }
  /// What has come back by now.
  static std::string heard(const FileDescriptor& client) {
    char buffer[4096];
    const ssize_t count = ::recv(client.get(), buffer, sizeof buffer, MSG_DONTWAIT);
    return count <= 0 ? std::string() : std::string(buffer, static_cast<std::size_t>(count));
  }
  static bool is_closed(const FileDescriptor& client) {
    char byte = 0;
    const ssize_t count = ::recv(client.get(), &byte, 1, MSG_DONTWAIT);
    return count == 0 || (count < 0 && errno == ECONNRESET);
  }

  Result<TemporaryDirectory> directory_ = TemporaryDirectory::make();
  std::vector<Statement> taken_;
  std::optional<MetricSocket> socket_;
};

TEST_F(MetricSocketTest, AcknowledgesWhatIsInTheStoreAndNothingBefore) {
  const FileDescriptor client = connect();
  say(client, "metric loss 0.5 step 1\nparam lr 0.1\nmetric loss 0.25 step 2\n");
  serve();
  EXPECT_THAT(taken_, ElementsAre(Statement(MetricLine{"loss", 0.5, 1}), Statement(ParamLine{"lr", "0.1"}),
                                  Statement(MetricLine{"loss", 0.25, 2})));
  EXPECT_EQ(heard(client), "") << "nothing is kept yet";
  socket_->acknowledge(2);
  EXPECT_EQ(heard(client), "ok 1\n");
  socket_->acknowledge(3);
  EXPECT_EQ(heard(client), "ok 2\n") << "metrics of this connection are counted, not lines";
  socket_->acknowledge(99);
  EXPECT_EQ(heard(client), "");
}

TEST_F(MetricSocketTest, EachConnectionCountsItsOwn) {
  const FileDescriptor one = connect(), two = connect();
  say(one, "metric a 1\n");
  serve();
  say(two, "metric b 2\nmetric b 3\n");
  serve();
  socket_->acknowledge(3);
  EXPECT_EQ(heard(one), "ok 1\n");
  EXPECT_EQ(heard(two), "ok 2\n");
}

TEST_F(MetricSocketTest, ALineMayComeInPieces) {
  const FileDescriptor client = connect();
  say(client, "metric lo");
  serve();
  EXPECT_THAT(taken_, IsEmpty());
  say(client, "ss 1\n\r\n \nmetric b 2\r\n");
  serve();
  EXPECT_THAT(taken_, SizeIs(2)) << "empty lines are none";
}

TEST_F(MetricSocketTest, WhatCannotBeUnderstoodIsToldWithItsLine) {
  const FileDescriptor client = connect();
  say(client, "metric a 1\nmetric a one\nnonsense\n");
  serve();
  const std::string answer = heard(client);
  EXPECT_THAT(answer, HasSubstr("error 2: "));
  EXPECT_THAT(answer, HasSubstr("error 3: "));
  socket_->acknowledge(1);
  EXPECT_EQ(heard(client), "ok 1\n") << "and the rest goes on";
}

TEST_F(MetricSocketTest, WhatTheStoreNeverTookIsRefusedOnce) {
  const FileDescriptor waiting = connect(), served = connect();
  say(served, "metric a 1\n");
  serve();
  say(waiting, "metric b 1\n\nmetric b 2\n");
  serve();
  socket_->acknowledge(1);
  EXPECT_EQ(heard(served), "ok 1\n");
  socket_->refuse("the disk is full\n");
  socket_->refuse("the disk is full");
  EXPECT_EQ(heard(waiting), "error 1: the disk is full\\x0a\n");
  EXPECT_EQ(heard(served), "") << "all of its own is kept";
}

TEST_F(MetricSocketTest, WhileNothingMayBeTakenNothingIsRead) {
  const FileDescriptor client = connect();
  serve();
  say(client, "metric a 1\n");
  serve(false);
  EXPECT_THAT(taken_, IsEmpty());
  serve(true);
  EXPECT_THAT(taken_, SizeIs(1));
}

TEST_F(MetricSocketTest, WhatAClientLeftUnreadIsTakenAtTheEnd) {
  {
    const FileDescriptor client = connect();
    say(client, "metric a 1\nmetric a 2\nmetric a 3");
  }
  socket_->drain();
  EXPECT_THAT(taken_, SizeIs(2)) << "a line without its end was not said";
}

TEST_F(MetricSocketTest, AnEndlessLineEndsTheConnection) {
  const FileDescriptor client = connect();
  say(client, std::string(20'000, 'x'));
  serve();
  EXPECT_TRUE(is_closed(client));
  EXPECT_THAT(taken_, IsEmpty());
}

TEST_F(MetricSocketTest, BeyondTheLimitNobodyIsLeftWaiting) {
  std::vector<FileDescriptor> clients;
  for (int i = 0; i < 300; ++i) {
    clients.push_back(connect());
    serve();
  }
  EXPECT_TRUE(is_closed(clients.back()));
  EXPECT_FALSE(is_closed(clients.front()));
  clients.erase(clients.begin());
  serve();
  const FileDescriptor next = connect();
  say(next, "metric a 1\n");
  serve();
  EXPECT_THAT(taken_, SizeIs(1)) << "one that went made room";
}

TEST_F(MetricSocketTest, IsTheUsersAlone) {
  struct stat facts{};
  ASSERT_EQ(::stat(path().c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777U, 0600U);
  const auto taken = MetricSocket::listen(path(), {});
  ASSERT_FALSE(taken) << "somebody listens there";
  const auto long_name = MetricSocket::listen("/tmp/" + std::string(200, 'x'), {});
  ASSERT_FALSE(long_name);
  EXPECT_EQ(long_name.error().kind, Error::Kind::machine_lacks);
}

}  // namespace
}  // namespace plimsoll::running
