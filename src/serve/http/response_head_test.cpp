#include "serve/http/response_head.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.hpp"

namespace plimsoll::serve {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

Response file_of(std::uint64_t bytes) {
  Response response{.content_type = "text/plain"};
  response.file = FileBody{FileDescriptor(::open("/dev/null", O_RDONLY | O_CLOEXEC)), bytes};
  return response;
}

TEST(Outgoing, WritesTheWholeHead) {
  Response response{.status = 404, .body = "{}", .headers = {{"Retry-After", "1"}}};
  const Outgoing out = outgoing({}, response, "Sun, 06 Nov 1994 08:49:37 GMT");
  EXPECT_EQ(
      out.head,
      "HTTP/1.1 404 Not Found\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\nContent-Type: application/json\r\n"
      "Content-Length: 2\r\nRetry-After: 1\r\nX-Content-Type-Options: nosniff\r\n\r\n");
  EXPECT_TRUE(out.keep_alive);
}

TEST(Outgoing, LetsNoHeaderBreakOut) {
  Response response{.content_type = "text/html\r\nX: 1",
                    .headers = {{"A", "x\r\n\r\n<script>"},
                                {"B\r\nC", "d"},
                                {"content-length", "9"},
                                {"Transfer-Encoding", "chunked"},
                                {"", "nameless"}}};
  const std::string head = outgoing({}, response, "now").head;
  EXPECT_THAT(head, HasSubstr("Content-Type: text/html  X: 1\r\n"));
  EXPECT_THAT(head, HasSubstr("A: x    <script>\r\n"));
  EXPECT_THAT(head, Not(HasSubstr("\nC: d")));
  EXPECT_THAT(head, Not(HasSubstr("chunked")));
  EXPECT_THAT(head, Not(HasSubstr("nameless")));
  EXPECT_THAT(head, Not(HasSubstr("length: 9")));
  EXPECT_EQ(head.find("\r\n\r\n"), head.size() - 4);
}

TEST(Outgoing, KeepsTheLengthOfAHead) {
  Response response{.body = "hello"};
  const Outgoing out = outgoing({.without_body = true}, response, "now");
  EXPECT_THAT(out.head, HasSubstr("Content-Length: 5\r\n"));
  EXPECT_EQ(response.body, "");
}

TEST(Outgoing, GivesNoContentNoLength) {
  Response response{.status = 204, .body = "not to be sent"};
  const Outgoing out = outgoing({}, response, "now");
  EXPECT_THAT(out.head, Not(HasSubstr("Content-L")));
  EXPECT_EQ(response.body, "");
}

TEST(Outgoing, SaysWhetherTheConnectionStays) {
  Response a, b, c;
  EXPECT_THAT(outgoing({.keep_alive = false}, a, "now").head, HasSubstr("Connection: close\r\n"));
  EXPECT_THAT(outgoing({.http_1_0 = true}, b, "now").head, HasSubstr("Connection: keep-alive\r\n"));
  c.events = std::make_shared<EventQueue>();
  const Outgoing events = outgoing({}, c, "now");
  EXPECT_FALSE(events.keep_alive);
  EXPECT_THAT(events.head, HasSubstr("Content-Type: text/event-stream\r\n"));
  EXPECT_THAT(events.head, Not(HasSubstr("Content-Length")));
}

TEST(Outgoing, GivesPartOfAFile) {
  Response whole = file_of(10);
  const Outgoing all = outgoing({}, whole, "now");
  EXPECT_THAT(all.head, HasSubstr("Accept-Ranges: bytes\r\n"));
  EXPECT_EQ(all.file_bytes, 10U);

  Response part = file_of(10);
  const Outgoing some = outgoing({.range = "bytes=2-5"}, part, "now");
  EXPECT_THAT(some.head, StartsWith("HTTP/1.1 206 "));
  EXPECT_THAT(some.head, HasSubstr("Content-Range: bytes 2-5/10\r\n"));
  EXPECT_THAT(some.head, HasSubstr("Content-Length: 4\r\n"));
  EXPECT_EQ(some.file_first, 2U);
  EXPECT_EQ(some.file_bytes, 4U);

  Response beyond = file_of(10);
  const Outgoing none = outgoing({.range = "bytes=10-"}, beyond, "now");
  EXPECT_THAT(none.head, StartsWith("HTTP/1.1 416 "));
  EXPECT_THAT(none.head, HasSubstr("Content-Range: bytes */10\r\n"));
  EXPECT_THAT(none.head, HasSubstr("Content-Length: 0\r\n"));
  EXPECT_FALSE(beyond.file);
}

TEST(Outgoing, GivesAPartOnlyOfTheSameFile) {
  for (const auto& [tag, status] : {std::pair("\"a\"", 206), std::pair("\"b\"", 200)}) {
    Response response = file_of(10);
    response.headers.add("ETag", "\"a\"");
    EXPECT_EQ(outgoing({.range = "bytes=0-1", .if_range = tag}, response, "now").status, status) << tag;
  }
}

TEST(HttpDate, IsWrittenAsTheStandardHasIt) {
  EXPECT_EQ(http_date(784'111'777), "Sun, 06 Nov 1994 08:49:37 GMT");
}

TEST(ReceivedFile, GoesUnlessItHasAPlace) {
  const auto directory = TemporaryDirectory::make();
  ASSERT_TRUE(directory);
  const auto one = directory->path() / "one";
  const auto two = directory->path() / "two";
  ASSERT_TRUE(write_file(one, "1") && write_file(two, "2"));
  {
    const ReceivedFile first(one);
    ReceivedFile second(two);
    second.release();
  }
  EXPECT_FALSE(std::filesystem::exists(one));
  EXPECT_TRUE(std::filesystem::exists(two));
}

TEST(Answer, DroppedSaysInternalError) {
  int status = 0;
  {
    const Answer answer([&](const Response& response) { status = response.status; });
  }
  EXPECT_EQ(status, 500);
  {
    Answer answer([&](const Response& response) { status = response.status; });
    Answer moved = std::move(answer);
    moved({.status = 201});
  }
  EXPECT_EQ(status, 201);
}

TEST(ErrorResponse, IsJsonWhateverTheMessage) {
  EXPECT_EQ(error_response(400, "a \"b\"").body, R"({"error_code":"BAD_REQUEST","message":"a \"b\""})");
  EXPECT_THAT(error_response(404, "RESOURCE_DOES_NOT_EXIST", "\xff").body,
              StartsWith(R"({"error_code":"RESOURCE)"));
}

}  // namespace
}  // namespace plimsoll::serve
