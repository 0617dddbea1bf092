#include "serve/http/gate.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plimsoll::serve {
namespace {

using std::chrono::hours;
using std::chrono::seconds;
using std::chrono::system_clock;

constexpr const char* kToken = "a-token-that-writes";
constexpr const char* kReader = "a-token-that-only-reads";

struct GateTest : testing::Test {
  system_clock::time_point now = system_clock::now();
  Gate gate{{.token = kToken,
             .read_token = kReader,
             .open_paths = {"/health", "/static/"},
             .open_posts = {"/login"},
             .only_reads = [](std::string_view path) { return path.ends_with("/search"); }},
            [this] { return now; }};

  static Request request(std::string method, std::string path, Pairs headers = {}) {
    return {.method = std::move(method),
            .path = std::move(path),
            .headers = std::move(headers),
            .host = "here:5000"};
  }
  static std::string value_of(const std::string& set_cookie) {
    return set_cookie.substr(0, set_cookie.find(';'));
  }
  [[nodiscard]] int status(const Request& head) const {
    const auto refusal = gate.refuse(head);
    return refusal ? refusal->status : 200;
  }
  /// A browser that has logged in: its cookie and what it must bring with changes.
  std::pair<std::string, std::string> logged_in(std::string_view token) {
    const auto entered = gate.enter(token, request("POST", "/login"));
    if (!entered) return {};
    return {value_of(entered->cookie), entered->visitor.csrf};
  }
};

TEST_F(GateTest, WhatIsOpenIsReadByAnybodyAndNothingElseIs) {
  EXPECT_EQ(status(request("GET", "/health")), 200);
  EXPECT_EQ(status(request("GET", "/static/app.js")), 200);
  EXPECT_EQ(status(request("POST", "/login")), 200);
  EXPECT_EQ(status(request("POST", "/health")), 401);
  EXPECT_EQ(status(request("GET", "/runs")), 401);
  EXPECT_EQ(status(request("GET", "/static")), 401);
  EXPECT_EQ(status(request("GET", "/login")), 401);
}

TEST_F(GateTest, ATokenSaysWhatItsBringerMayDo) {
  const auto with = [](std::string_view token) {
    return Pairs{{"authorization", "Bearer " + std::string(token)}};
  };
  EXPECT_EQ(status(request("POST", "/runs/create", with(kToken))), 200);
  EXPECT_EQ(status(request("GET", "/runs", with(kReader))), 200);
  EXPECT_EQ(status(request("POST", "/runs/search", with(kReader))), 200);
  EXPECT_EQ(status(request("POST", "/runs/create", with(kReader))), 403);
  EXPECT_EQ(status(request("DELETE", "/runs/search", with(kReader))), 403);
  EXPECT_EQ(status(request("GET", "/runs", with("another"))), 401);
}

TEST_F(GateTest, ACookieReadsAndChangesOnlyWithItsOtherHalf) {
  const auto [cookie, csrf] = logged_in(kToken);
  ASSERT_FALSE(cookie.empty());
  EXPECT_EQ(status(request("GET", "/runs", {{"cookie", cookie}})), 200);
  EXPECT_EQ(status(request("POST", "/runs/create", {{"cookie", cookie}})), 403);
  // Pages that know nothing of the other half, as MLflow's own, may read with a cookie.
  EXPECT_EQ(status(request("POST", "/runs/search", {{"cookie", cookie}})), 200);
  EXPECT_EQ(status(request("POST", "/runs/create", {{"cookie", cookie}, {"x-plimsoll-csrf", csrf}})), 200);
  EXPECT_EQ(status(request("POST", "/runs/create", {{"cookie", cookie}, {"x-plimsoll-csrf", csrf + "0"}})),
            403);
  EXPECT_EQ(status(request("POST", "/runs/create", {{"cookie", cookie}, {"x-plimsoll-csrf", ""}})), 403);
  const auto [other, others_csrf] = logged_in(kToken);
  EXPECT_EQ(status(request("POST", "/runs/create", {{"cookie", cookie}, {"x-plimsoll-csrf", others_csrf}})),
            403);
}

TEST_F(GateTest, AReadersCookieChangesNothing) {
  const auto [cookie, csrf] = logged_in(kReader);
  EXPECT_EQ(status(request("POST", "/runs/create", {{"cookie", cookie}, {"x-plimsoll-csrf", csrf}})), 403);
  EXPECT_EQ(status(request("POST", "/runs/search", {{"cookie", cookie}, {"x-plimsoll-csrf", csrf}})), 200);
}

TEST_F(GateTest, ACookieIsOutOfScriptsReachAndOfOneServer) {
  const auto entered = gate.enter(kToken, request("POST", "/login"));
  ASSERT_TRUE(entered);
  EXPECT_THAT(entered->cookie,
              testing::MatchesRegex("plimsoll_5000=[0-9a-f]{64}; Path=/; HttpOnly; SameSite=Strict; "
                                    "Max-Age=43200"));
  Request by_tls = request("POST", "/login", {{"x-forwarded-proto", "https"}});
  EXPECT_THAT(gate.enter(kToken, by_tls)->cookie, testing::EndsWith("; Secure"));
  Request elsewhere = request("GET", "/runs", {{"cookie", value_of(entered->cookie)}});
  elsewhere.host = "here:5001";
  EXPECT_EQ(status(elsewhere), 401);
}

TEST_F(GateTest, ACookieEnds) {
  const auto [cookie, csrf] = logged_in(kToken);
  EXPECT_THAT(gate.leave(request("POST", "/logout", {{"cookie", cookie}})), testing::HasSubstr("Max-Age=0"));
  EXPECT_EQ(status(request("GET", "/runs", {{"cookie", cookie}})), 401);
  const auto [second, unused] = logged_in(kToken);
  now += hours(13);
  EXPECT_EQ(status(request("GET", "/runs", {{"cookie", second}})), 401);
}

TEST_F(GateTest, WrongTriesAreSlowedAndARightOneForgivesThem) {
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(gate.enter("wrong", request("POST", "/login")));
  EXPECT_EQ(gate.wait(), seconds(0));
  EXPECT_FALSE(gate.enter("", request("POST", "/login")));
  EXPECT_EQ(gate.wait(), seconds(1));
  now += seconds(1);
  for (int i = 0; i < 20; ++i) EXPECT_FALSE(gate.enter("wrong", request("POST", "/login")));
  EXPECT_EQ(gate.wait(), seconds(60));
  now += seconds(60);
  EXPECT_EQ(gate.wait(), seconds(0));
  EXPECT_TRUE(gate.enter(kToken, request("POST", "/login")));
  EXPECT_FALSE(gate.enter("wrong", request("POST", "/login")));
  EXPECT_EQ(gate.wait(), seconds(0));
}

TEST_F(GateTest, ThereAreNotMoreSessionsThanFit) {
  const std::string first = logged_in(kToken).first;
  for (int i = 0; i < 1000; ++i) {
    now += seconds(1);
    logged_in(kToken);
  }
  EXPECT_EQ(status(request("GET", "/runs", {{"cookie", first}})), 401);
  const auto [last, unused] = logged_in(kToken);
  EXPECT_EQ(status(request("GET", "/runs", {{"cookie", last}})), 200);
}

TEST(Gate, WithoutATokenAllThatReachTheServerMayDoEverything) {
  const Gate gate({});
  EXPECT_FALSE(gate.refuse({.method = "POST", .path = "/runs/create"}));
  ASSERT_TRUE(gate.visitor({.method = "GET", .path = "/"}));
  EXPECT_EQ(gate.visitor({.method = "GET", .path = "/"})->role, Role::write);
}

TEST(Gate, FindsACookieAmongOthers) {
  const auto among = [](const char* text, const char* name) {
    return cookie({.headers = {{"cookie", text}}}, name);
  };
  EXPECT_EQ(among("a=1; b=2", "b"), "2");
  EXPECT_EQ(among("a=1;b=2", "b"), "2");
  EXPECT_EQ(among("ab=1; b=", "b"), "");
  EXPECT_EQ(among("ab=1; c", "b"), std::nullopt);
  EXPECT_EQ(among("", "b"), std::nullopt);
  EXPECT_EQ(among(";;; ;=", "b"), std::nullopt);
}

}  // namespace
}  // namespace plimsoll::serve
