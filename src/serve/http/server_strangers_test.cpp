// Clients of other users of this machine, as far as the server is told so.
#include <atomic>
#include <list>
#include <stdexcept>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "base/files.hpp"
#include "serve/http/server.hpp"
#include "serve/http/test_client.hpp"

namespace plimsoll::serve {
namespace {

using testing::HasSubstr;

constexpr std::string_view kGet = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";

/// Who the next clients are of, as the server is told; and how often it asked.
struct Users {
  std::atomic<uid_t> next = ::geteuid();
  std::atomic<int> asked = 0;
};

std::unique_ptr<Server> start(Users& users, Options options = {}) {
  options.owner_of = [&users](int) {
    ++users.asked;
    return std::optional<uid_t>(users.next);
  };
  auto server =
      Server::start(std::move(options), [](const Request&, Answer answer) { answer({.body = "ok"}); });
  if (!server) ADD_FAILURE() << server.error().text();
  return *std::move(server);
}

uid_t a_stranger() {
  return ::geteuid() + 1;
}

TEST(ServerStrangers, AreToldSoAndNothingElse) {
  Users users{a_stranger()};
  const auto server = start(users, {.open_paths = {"/health"}});
  for (const std::string_view text :
       {kGet, std::string_view("GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"),
        std::string_view("nonsense\r\n\r\n"), std::string_view("POST / HTTP")}) {
    TestClient client(server->port());
    const Reply reply = client.ask(text);
    EXPECT_EQ(reply.status, 403) << text;
    EXPECT_THAT(reply.body, HasSubstr(R"("error_code":"PERMISSION_DENIED")"));
    EXPECT_THAT(reply.body, HasSubstr("--any-user"));
    EXPECT_EQ(*reply.headers.find("connection"), "close");
    client.end_sending();
    EXPECT_TRUE(client.is_ended());
  }
  EXPECT_EQ(server->statistics().strangers_refused, 4U);
  EXPECT_EQ(server->statistics().connections_taken, 0U);
}

TEST(ServerStrangers, ReadWhyAfterALongBody) {
  Users users{a_stranger()};
  const auto server = start(users);
  TestClient client(server->port());
  const std::string body(std::size_t{4} << 20, 'x');
  EXPECT_EQ(
      client.ask(fmt::format("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: {}\r\n\r\n", body.size()) + body)
          .status,
      403);
}

TEST(ServerStrangers, AreLookedForOncePerConnection) {
  Users users;
  const auto server = start(users);
  TestClient client(server->port());
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(client.ask(kGet).status, 200);
    users.next = a_stranger();  // of those that come later
  }
  EXPECT_EQ(users.asked, 1);
  users.next = 0;
  EXPECT_EQ(TestClient(server->port()).ask(kGet).status, 200) << "root may";
}

TEST(ServerStrangers, AreNotLookedForWhereOthersMayComeIn) {
  Users users{a_stranger()};
  const auto open = start(users, {.any_user = true});
  EXPECT_EQ(TestClient(open->port()).ask(kGet).status, 200);
  const auto guarded = start(users, {.token = "secret"});
  EXPECT_EQ(TestClient(guarded->port()).ask(kGet).status, 401);
  const auto directory = TemporaryDirectory::make();
  ASSERT_TRUE(directory);
  const auto local = start(users, {.unix_socket = directory->path() / "s"});
  EXPECT_EQ(TestClient(directory->path() / "s").ask(kGet).status, 200);
  EXPECT_EQ(users.asked, 0);
}

TEST(ServerStrangers, AreThoseOfWhomNobodyTells) {
  for (const bool throws : {false, true}) {
    Options options;
    options.owner_of = [throws](int) -> std::optional<uid_t> {
      if (throws) throw std::runtime_error("no memory");
      return std::nullopt;
    };
    auto server = Server::start(std::move(options), [](const Request&, Answer answer) { answer({}); });
    ASSERT_TRUE(server);
    const Reply reply = TestClient((*server)->port()).ask(kGet);
    EXPECT_EQ(reply.status, 403);
    EXPECT_THAT(reply.body, HasSubstr("does not tell"));
  }
}

TEST(ServerStrangers, TakeNobodysPlace) {
  Users users;
  Options options;
  options.limits.connections = 1;
  const auto server = start(users, std::move(options));
  TestClient own(server->port());
  EXPECT_EQ(own.ask(kGet).status, 200);  // and it waits now: it could be spared
  users.next = a_stranger();
  std::list<TestClient> crowd;
  for (int i = 0; i < 300; ++i) crowd.emplace_back(server->port());
  EXPECT_EQ(crowd.front().reply().status, 403);
  EXPECT_TRUE(crowd.back().is_ended());
  EXPECT_EQ(server->statistics().connections_spared, 0U);
  EXPECT_EQ(own.ask(kGet).status, 200);
  own.hang_up();
  users.next = ::geteuid();
  TestClient next(server->port());
  EXPECT_EQ(next.ask(kGet).status, 200);
}

TEST(ServerStrangers, AreNotThisUser) {
  auto server = Server::start({}, [](const Request&, Answer answer) { answer({.body = "ok"}); });
  ASSERT_TRUE(server) << server.error().text();
  EXPECT_EQ(TestClient((*server)->port()).ask(kGet).status, 200) << "as the kernel tells";
}

}  // namespace
}  // namespace plimsoll::serve
