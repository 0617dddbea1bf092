#include "serve/http/request_reader.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plimsoll::serve {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

constexpr RequestReader::Bounds kBounds{1000, 2000};

struct Outcome {
  bool complete = false;
  int refused = 0;  ///< status
  std::string why = {};
  Request request = {};
  std::size_t left = 0;  ///< bytes behind the request
};

/// Reads a text in pieces of so many bytes, as a connection does.
Outcome read(std::string_view text, std::size_t piece, std::uint64_t most_body = 100) {
  RequestReader reader(kBounds);
  reader.set_most_body_bytes(most_body);
  std::string unread;
  while (!reader.is_complete()) {
    for (bool head = reader.head_is_read();; head = true) {
      const auto taken = reader.read(unread);
      if (!taken) return {.refused = taken.error().status, .why = taken.error().body};
      unread.erase(0, *taken);
      if (head || !reader.head_is_read()) break;
    }
    if (reader.is_complete() || text.empty()) break;
    unread += text.substr(0, piece);
    text.remove_prefix(std::min(piece, text.size()));
  }
  const bool complete = reader.is_complete();
  return {complete, 0, {}, reader.take_request(), unread.size() + text.size()};
}

constexpr std::string_view kPost =
    "POST /a%20b?x=1 HTTP/1.1\r\nHost: h\r\nX-Word: Two Words\r\nContent-Length: 5\r\n\r\nhello";
constexpr std::string_view kChunked =
    "PUT /f HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: Chunked\r\n\r\n"
    "3\r\nabc\r\n2;ext=\"1\"\r\nde\r\n0\r\nX-Trailer: forged\r\n\r\n";

TEST(RequestReader, ReadsInPiecesOfAnySize) {
  for (std::size_t piece = 1; piece <= kPost.size(); ++piece) {
    const Outcome post = read(kPost, piece);
    ASSERT_TRUE(post.complete) << piece << " " << post.why;
    EXPECT_EQ(post.request.method, "POST");
    EXPECT_EQ(post.request.path, "/a b");
    EXPECT_EQ(post.request.target, "/a%20b?x=1");
    EXPECT_EQ(post.request.host, "h");
    EXPECT_EQ(post.request.header("x-word"), "Two Words");
    EXPECT_EQ(post.request.body, "hello");
  }
  for (std::size_t piece = 1; piece <= kChunked.size(); ++piece) {
    const Outcome put = read(kChunked, piece);
    ASSERT_TRUE(put.complete) << piece << " " << put.why;
    EXPECT_EQ(put.request.body, "abcde");
    EXPECT_EQ(put.request.headers.find("x-trailer"), nullptr) << "a trailer is no header";
  }
}

TEST(RequestReader, LeavesTheNextRequest) {
  const std::string two = std::string(kPost) + "GET / HTTP/1.1\r\n";
  EXPECT_EQ(read(two, two.size()).left, 16U);
  const std::string bare = "GET / HTTP/1.1\r\nHost: h\r\n\r\nGET";
  EXPECT_EQ(read(bare, bare.size()).left, 3U);
}

TEST(RequestReader, RefusesWhatTwoReadersCouldReadInTwoWays) {
  const std::string start = "POST / HTTP/1.1\r\nHost: h\r\n";
  for (const char* headers :
       {"Content-Length: 5\r\nContent-Length: 5\r\n", "Content-Length: 5\r\nContent-Length: 6\r\n",
        "Content-Length: 5, 5\r\n", "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", "Content-Length: -5\r\n",
        "Content-Length: +5\r\n", "Content-Length: 5x\r\n", "Content-Length: 0x5\r\n", "Content-Length: \r\n",
        "Content-Length: 99999999999999999999\r\n", "Content-Length : 5\r\n", "Host: h2\r\n",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", "X: a\nY: b\r\n", "X\r\n", ": x\r\n",
        "X: a\rb\r\n", "X: a\x01\r\n"}) {
    const Outcome outcome = read(start + headers + "\r\nhello", 1000);
    EXPECT_EQ(outcome.refused, 400) << headers << outcome.why;
  }
  EXPECT_EQ(read(start + "Transfer-Encoding: gzip, chunked\r\n\r\n", 1000).refused, 501);
  EXPECT_EQ(read(start + "Transfer-Encoding: identity\r\n\r\n", 1000).refused, 501);
  EXPECT_EQ(read("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", 1000).refused, 400);
}

TEST(RequestReader, RefusesWhatIsNoRequest) {
  for (const char* text : {"\x16\x03\x01\x02\r\n\r\n", "GET\r\n\r\n", "GET /\r\n\r\n",
                           "GET / HTTP/1.1\r\n\r\n", "GET  / HTTP/1.1\r\n\r\n",
                           "GET * HTTP/1.1\r\nHost: h\r\n\r\n", "GET /%zz HTTP/1.1\r\nHost: h\r\n\r\n",
                           "GET /%00 HTTP/1.1\r\nHost: h\r\n\r\n", "G\"T / HTTP/1.1\r\nHost: h\r\n\r\n"})
    EXPECT_EQ(read(text, 1000).refused, 400) << text;
  for (const char* text : {"GET / HTTP/2.0\r\nHost: h\r\n\r\n", "GET / HTTPS/1.1\r\nHost: h\r\n\r\n"})
    EXPECT_EQ(read(text, 1000).refused, 505) << text;
  EXPECT_THAT(read("GET / HTTP/1.1\r\n\r\n", 1000).why, HasSubstr("Host"));
}

TEST(RequestReader, RefusesBrokenChunks) {
  const std::string start = "PUT / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (const char* chunks : {"x\r\n", "3\r\nabcXYZ\r\n", "3\r\nabc\r\n\r\n", "-1\r\n", "3 x\r\nabc\r\n",
                             "fffffffffffffffff\r\n", "3\nabc\r\n"})
    EXPECT_EQ(read(start + chunks, 1000).refused, 400) << chunks;
  EXPECT_EQ(read(start + "3;" + std::string(20'000, 'x'), 1000).refused, 400);
  EXPECT_EQ(read(start + "0\r\nX: " + std::string(20'000, 'x'), 1000).refused, 400);
}

TEST(RequestReader, KeepsToItsBounds) {
  const std::string long_target = "GET /" + std::string(1000, 'x') + " HTTP/1.1\r\nHost: h\r\n\r\n";
  EXPECT_EQ(read(long_target, 10'000).refused, 414);
  const std::string fits = "GET /" + std::string(999, 'x') + " HTTP/1.1\r\nHost: h\r\n\r\n";
  EXPECT_TRUE(read(fits, 10'000).complete);
  const std::string long_header = "GET / HTTP/1.1\r\nHost: h\r\nX: " + std::string(2000, 'x') + "\r\n\r\n";
  EXPECT_EQ(read(long_header, 10'000).refused, 431);
  EXPECT_EQ(read("GET / HTTP/1.1\r\nHost: h\r\nX: " + std::string(20'000, 'x'), 100).refused, 431);
  EXPECT_EQ(read("GET /" + std::string(20'000, 'x'), 100).refused, 431);
  std::string many = "GET / HTTP/1.1\r\nHost: h\r\n";
  for (int i = 0; i < 1000; ++i) many += "a:b\r\n";
  EXPECT_EQ(read(many + "\r\n", 100).refused, 431);
}

TEST(RequestReader, CountsTheBody) {
  EXPECT_TRUE(read(kChunked, 7, 5).complete);
  EXPECT_EQ(read(kChunked, 7, 4).refused, 413);
  EXPECT_EQ(read(kPost, 7, 4).refused, 413);
  EXPECT_EQ(
      read("PUT / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nffffffff\r\n", 1000, 100).refused,
      413)
      << "before any of it has come";
}

TEST(RequestReader, KnowsWhoKeepsTheConnection) {
  const auto keeps = [](std::string_view text) {
    RequestReader reader(kBounds);
    EXPECT_TRUE(reader.read(text));
    return reader.keeps_alive();
  };
  EXPECT_TRUE(keeps("GET / HTTP/1.1\r\nHost: h\r\n\r\n"));
  EXPECT_FALSE(keeps("GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"));
  EXPECT_FALSE(keeps("GET / HTTP/1.0\r\n\r\n"));
  EXPECT_TRUE(keeps("GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n"));
}

TEST(RequestReader, TakesTheHostOfAnAbsoluteTarget) {
  const Outcome outcome = read("GET http://evil.example/x HTTP/1.1\r\nHost: localhost\r\n\r\n", 1000);
  EXPECT_EQ(outcome.request.host, "evil.example");
  EXPECT_EQ(outcome.request.path, "/x");
}

}  // namespace
}  // namespace plimsoll::serve
