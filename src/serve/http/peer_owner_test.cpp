#include "serve/http/peer_owner.hpp"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include "base/file_descriptor.hpp"
#include "serve/http/listener.hpp"

namespace plimsoll::serve {
namespace {

using testing::HasSubstr;

/// A client that is connected, and the server's end of it.
struct Pair {
  FileDescriptor client, accepted;
};

Pair connect_to(const Listener& listener, int family, std::string_view address) {
  Pair pair{FileDescriptor(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0)), {}};
  if (family == AF_INET) {
    sockaddr_in there{
        .sin_family = AF_INET, .sin_port = htons(listener.port), .sin_addr = {}, .sin_zero = {}};
    there.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(pair.client.get(), reinterpret_cast<const sockaddr*>(&there), sizeof there), 0);
  } else {
    sockaddr_in6 there{};
    there.sin6_family = AF_INET6;
    there.sin6_port = htons(listener.port);
    EXPECT_EQ(::inet_pton(AF_INET6, std::string(address).c_str(), &there.sin6_addr), 1);
    EXPECT_EQ(::connect(pair.client.get(), reinterpret_cast<const sockaddr*>(&there), sizeof there), 0);
  }
  constexpr int kMinutes = 300'000;
  pollfd come{listener.socket.get(), POLLIN, 0};
  EXPECT_EQ(::poll(&come, 1, kMinutes), 1);
  pair.accepted = FileDescriptor(::accept4(listener.socket.get(), nullptr, nullptr, SOCK_CLOEXEC));
  EXPECT_TRUE(pair.accepted);
  return pair;
}

/// Of this machine, by one of its ways alone.
SocketTables by_diag() {
  SocketTables tables = SocketTables::of_this_machine();
  tables.text = [](bool) { return std::string(); };
  return tables;
}
SocketTables by_text() {
  SocketTables tables = SocketTables::of_this_machine();
  tables.diag = [](std::string_view) { return std::string(); };
  return tables;
}

class EachWay : public testing::TestWithParam<SocketTables (*)()> {
 protected:
  /// Nothing, and the test is skipped, where this system does not tell by that way.
  static std::optional<PeerOwner> opened(const Listener& listener) {
    auto owner = PeerOwner::open(listener.socket.get(), GetParam()());
    if (owner) return *std::move(owner);
    return std::nullopt;
  }
};

TEST_P(EachWay, FindsThisUserAtTheOtherEnd) {
  const auto listener = listen_at("127.0.0.1", 0);
  ASSERT_TRUE(listener);
  auto owner = opened(*listener);
  if (!owner) GTEST_SKIP() << "this system does not tell by this way";
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(owner->of(connect_to(*listener, AF_INET, "").accepted.get()), ::geteuid());
  EXPECT_EQ(owner->of(connect_to(*listener, AF_INET6, "::ffff:127.0.0.1").accepted.get()), ::geteuid());
}

TEST_P(EachWay, FindsThisUserOverIPv6) {
  const auto listener = listen_at("::1", 0);
  if (!listener) GTEST_SKIP() << "no IPv6 here: " << listener.error().text();
  auto owner = opened(*listener);
  if (!owner) GTEST_SKIP() << "this system does not tell by this way";
  EXPECT_EQ(owner->of(connect_to(*listener, AF_INET6, "::1").accepted.get()), ::geteuid());
}

TEST_P(EachWay, FindsNobodyWhereTheClientHasGone) {
  const auto listener = listen_at("127.0.0.1", 0);
  ASSERT_TRUE(listener);
  auto owner = opened(*listener);
  if (!owner) GTEST_SKIP() << "this system does not tell by this way";
  Pair pair = connect_to(*listener, AF_INET, "");
  ASSERT_EQ(::shutdown(pair.client.get(), SHUT_WR), 0);
  EXPECT_EQ(owner->of(pair.accepted.get()), ::geteuid()) << "it still reads";
  pair.client.reset();
  EXPECT_EQ(owner->of(pair.accepted.get()), std::nullopt);
  EXPECT_EQ(owner->of(-1), std::nullopt);
  EXPECT_EQ(owner->of(listener->socket.get()), std::nullopt);
}

INSTANTIATE_TEST_SUITE_P(PeerOwner, EachWay, testing::Values(by_diag, by_text),
                         [](const auto& way) { return way.param == by_diag ? "diag" : "text"; });

TEST(PeerOwner, SaysWhatToDoWhereTheSystemDoesNotTell) {
  const auto listener = listen_at("127.0.0.1", 0);
  ASSERT_TRUE(listener);
  const SocketTables none{.diag = [](std::string_view) { return std::string("nonsense"); },
                          .text = [](bool) { return std::string("nonsense\n"); }};
  const auto owner = PeerOwner::open(listener->socket.get(), none);
  ASSERT_FALSE(owner);
  EXPECT_EQ(owner.error().kind, Error::Kind::machine_lacks);
  EXPECT_THAT(owner.error().hint, HasSubstr("--any-user"));
  EXPECT_THAT(owner.error().hint, HasSubstr("--token-file"));
}

TEST(PeerOwner, TakesTheNumberOfAllUnmappedUsersForNone) {
  const auto listener = listen_at("127.0.0.1", 0);
  ASSERT_TRUE(listener);
  SocketTables tables = SocketTables::of_this_machine();
  tables.unmapped = ::geteuid();
  auto owner = PeerOwner::open(listener->socket.get(), tables);
  ASSERT_TRUE(owner) << owner.error().text();
  EXPECT_EQ(owner->of(connect_to(*listener, AF_INET, "").accepted.get()), std::nullopt);
}

TEST(RefuseStranger, LetsInTheUserAndRoot) {
  EXPECT_FALSE(refuse_stranger(1000, 1000));
  EXPECT_FALSE(refuse_stranger(0, 1000));
  EXPECT_FALSE(refuse_stranger(0, 0));
}

TEST(RefuseStranger, SaysHowToBeLetIn) {
  for (const std::optional<uid_t> owner : {std::optional<uid_t>(1001), std::optional<uid_t>()}) {
    const auto refusal = refuse_stranger(owner, 1000);
    ASSERT_TRUE(refusal);
    EXPECT_EQ(refusal->status, 403);
    EXPECT_THAT(refusal->body, HasSubstr(R"("error_code":"PERMISSION_DENIED")"));
    EXPECT_THAT(refusal->body, HasSubstr("--any-user"));
    EXPECT_THAT(refusal->body, HasSubstr("--token-file"));
    EXPECT_THAT(refusal->body, HasSubstr(owner ? "is of user 1001" : "does not tell the user"));
  }
  EXPECT_TRUE(refuse_stranger(1000, 0)) << "root's server is root's";
}

}  // namespace
}  // namespace plimsoll::serve
