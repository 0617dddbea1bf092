// The server with real clients: what the protocol offers.
#include "serve/http/server.hpp"

#include <future>
#include <thread>

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <malloc.h>
#include <sys/stat.h>

#include "base/files.hpp"
#include "serve/http/test_client.hpp"

namespace plimsoll::serve {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

/// Says what it was asked: "METHOD PATH BODY".
void echo(Request request, Answer answer) {
  answer({.content_type = "text/plain",
          .body = fmt::format("{} {} {}", request.method, request.path, request.body)});
}

std::unique_ptr<Server> start(Handler handler = echo, Options options = {}, Admit admit = {}) {
  auto server = Server::start(std::move(options), std::move(handler), std::move(admit));
  if (!server) ADD_FAILURE() << server.error().text();
  return *std::move(server);
}

FileBody opened(const std::filesystem::path& path) {
  return {FileDescriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC)), std::filesystem::file_size(path)};
}

std::string get(std::string_view path, std::string_view headers = {}) {
  return fmt::format("GET {} HTTP/1.1\r\nHost: localhost\r\n{}\r\n", path, headers);
}
std::string post(std::string_view path, std::string_view body, std::string_view headers = {}) {
  return fmt::format("POST {} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n{}\r\n{}", path,
                     body.size(), headers, body);
}

TEST(Server, AnswersManyRequestsOnOneConnection) {
  const auto server = start();
  EXPECT_EQ(server->url(), fmt::format("http://127.0.0.1:{}", server->port()));
  TestClient client(server->port());
  for (int i = 0; i < 100; ++i) {
    const Reply reply = client.ask(post("/echo", std::to_string(i)));
    ASSERT_EQ(reply.status, 200);
    EXPECT_EQ(reply.body, fmt::format("POST /echo {}", i));
    EXPECT_EQ(*reply.headers.find("content-type"), "text/plain");
    EXPECT_EQ(reply.headers.find("connection"), nullptr);
  }
  const Statistics now = server->statistics();
  EXPECT_EQ(now.connections, 1U);
  EXPECT_EQ(now.connections_taken, 1U);
  EXPECT_THAT(now.answers, ElementsAre(0, 100, 0, 0, 0));
  EXPECT_GT(now.bytes_received, 5000U);
  EXPECT_GT(now.bytes_sent, 5000U);
  std::uint64_t timed = 0;
  for (const std::uint64_t count : now.latencies) timed += count;
  EXPECT_EQ(timed, 100U);
  EXPECT_GT(now.latency_seconds, 0);
}

TEST(Server, EndsTheConnectionWhenAsked) {
  const auto server = start();
  TestClient closing(server->port());
  const Reply last = closing.ask(get("/", "Connection: close\r\n"));
  EXPECT_EQ(*last.headers.find("connection"), "close");
  EXPECT_TRUE(closing.is_ended());
  TestClient old(server->port());
  EXPECT_EQ(old.ask("GET / HTTP/1.0\r\n\r\n").status, 200);
  EXPECT_TRUE(old.is_ended());
  TestClient keeping(server->port());
  for (int i = 0; i < 2; ++i) {
    const Reply reply = keeping.ask("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    EXPECT_EQ(*reply.headers.find("connection"), "keep-alive");
  }
}

TEST(Server, AnswersPipelinedRequestsInOrder) {
  const auto server = start();
  TestClient client(server->port());
  std::string all;
  for (int i = 0; i < 500; ++i)
    all += i % 2 == 0 ? get(fmt::format("/{}", i)) : post(fmt::format("/{}", i), "x");
  ASSERT_TRUE(client.send(all));
  for (int i = 0; i < 500; ++i) ASSERT_THAT(client.reply().body, HasSubstr(fmt::format(" /{} ", i)));
}

TEST(Server, TakesChunksAndExpectations) {
  const auto server = start();
  TestClient client(server->port());
  const Reply chunked = client.ask(
      "PUT /c HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n4\r\n "
      "you\r\n0\r\n\r\n");
  EXPECT_EQ(chunked.body, "PUT /c hello you");
  // The client waits with its body until it is asked for.
  const Reply go_on =
      client.ask("PUT /e HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\nExpect: 100-Continue\r\n\r\n");
  EXPECT_EQ(go_on.status, 100);
  EXPECT_EQ(client.ask("ab").body, "PUT /e ab");
  // It has sent it already: nothing to be asked for.
  EXPECT_EQ(client.ask(post("/f", "cd", "Expect: 100-continue\r\n")).body, "POST /f cd");
  EXPECT_EQ(client.ask(get("/", "Expect: 200-maybe\r\n")).status, 417);
}

TEST(Server, AnswersHeadWithoutTheBody) {
  const auto server = start();
  TestClient client(server->port());
  ASSERT_TRUE(client.send("HEAD /h HTTP/1.1\r\nHost: localhost\r\n\r\n" + get("/after")));
  const Reply head = client.reply(true);
  EXPECT_EQ(*head.headers.find("content-length"), "8");  // "HEAD /h "
  EXPECT_EQ(client.reply().body, "GET /after ");
}

TEST(Server, TakesAnswersLaterAndFromAnyThread) {
  std::mutex mutex;
  std::vector<std::pair<std::string, Answer>> waiting;
  const auto server = start([&](Request request, Answer answer) {
    const std::scoped_lock lock(mutex);
    waiting.emplace_back(request.path, std::move(answer));
  });
  std::vector<std::unique_ptr<TestClient>> clients;
  constexpr std::size_t kClients = 50;  // many more than there are workers
  for (std::size_t i = 0; i < kClients; ++i) {
    clients.push_back(std::make_unique<TestClient>(server->port()));
    ASSERT_TRUE(clients.back()->send(get(fmt::format("/{}", i))));
  }
  const std::jthread committer([&] {
    for (std::size_t answered = 0; answered < kClients; std::this_thread::yield()) {
      const std::scoped_lock lock(mutex);
      answered += waiting.size();
      for (auto& [path, answer] : waiting) answer({.body = path});
      waiting.clear();
    }
  });
  for (std::size_t i = 0; i < kClients; ++i) EXPECT_EQ(clients[i]->reply().body, fmt::format("/{}", i));
}

TEST(Server, AnswersForHandlersThatDoNot) {
  for (const bool quick : {false, true}) {
    const auto server = start(
        [](Request request, Answer /*dropped*/) {
          if (request.path == "/throw") throw std::runtime_error("a defect");
        },
        {}, [quick](const Request&) { return Admission{.quick = quick}; });
    TestClient client(server->port());
    EXPECT_EQ(client.ask(get("/drop")).status, 500);
    const Reply thrown = client.ask(get("/throw"));
    EXPECT_EQ(thrown.status, 500);
    EXPECT_THAT(thrown.body, HasSubstr("INTERNAL_ERROR"));
  }
}

TEST(Server, RunsQuickHandlersWhereItReads) {
  std::mutex mutex;
  std::set<std::thread::id> threads;
  const auto server = start(
      [&](Request, Answer answer) {
        const std::scoped_lock lock(mutex);
        threads.insert(std::this_thread::get_id());
        answer({});
      },
      {}, [](const Request&) { return Admission{.quick = true}; });
  for (int i = 0; i < 10; ++i) EXPECT_EQ(TestClient(server->port()).ask(get("/")).status, 200);
  EXPECT_EQ(threads.size(), 1U);
}

TEST(Server, ListensAtAUnixSocketOfThisUserAlone) {
  const auto directory = TemporaryDirectory::make();
  ASSERT_TRUE(directory);
  const auto path = directory->path() / "a b.sock";
  {
    const auto server = start(echo, {.unix_socket = path});
    EXPECT_THAT(server->url(), StartsWith("http+unix://%2F"));
    EXPECT_THAT(server->url(), testing::EndsWith("%2Fa%20b.sock"));
    EXPECT_EQ(server->port(), 0);
    struct stat about{};
    ASSERT_EQ(::stat(path.c_str(), &about), 0);
    EXPECT_EQ(about.st_mode & 0777U, 0600U);
    TestClient client(path);
    EXPECT_EQ(client.ask("GET /u HTTP/1.1\r\nHost: any.name\r\n\r\n").body, "GET /u ");
    const auto second = Server::start({.unix_socket = path}, echo);
    ASSERT_FALSE(second);
    EXPECT_THAT(second.error().text(), HasSubstr("another server"));
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(Server, ReplacesTheSocketOfAKilledServerOnly) {
  const auto directory = TemporaryDirectory::make();
  ASSERT_TRUE(directory);
  const auto path = directory->path() / "left.sock";
  {
    const FileDescriptor left(::socket(AF_UNIX, SOCK_STREAM, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
    ASSERT_EQ(::bind(left.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  }
  EXPECT_TRUE(Server::start({.unix_socket = path}, echo));
  ASSERT_TRUE(write_file(path, "precious"));
  EXPECT_FALSE(Server::start({.unix_socket = path}, echo));
  EXPECT_EQ(read_file(path, 100), "precious");
  EXPECT_FALSE(Server::start({.unix_socket = directory->path() / std::string(200, 'x')}, echo));
}

TEST(Server, ListensElsewhereOnlyWithAToken) {
  for (const char* address : {"0.0.0.0", "::", "192.0.2.1"}) {
    const auto server = Server::start({.address = address}, echo);
    ASSERT_FALSE(server) << address;
    EXPECT_THAT(server.error().text(), HasSubstr("no token")) << address;
  }
  EXPECT_FALSE(Server::start({.token = ""}, echo));
  EXPECT_FALSE(Server::start({.address = "example.org"}, echo));
  EXPECT_TRUE(Server::start({.address = "0.0.0.0", .token = "secret"}, echo));
  EXPECT_TRUE(Server::start({.address = "localhost"}, echo));
  const auto server = start();
  const auto taken = Server::start({.port = server->port()}, echo);
  ASSERT_FALSE(taken);
  EXPECT_THAT(taken.error().hint, HasSubstr("another port"));
}

TEST(Server, AsksForTheToken) {
  const auto server = start(echo, {.token = "secret"});
  TestClient client(server->port());
  const Reply none = client.ask(get("/"));
  EXPECT_EQ(none.status, 401);
  EXPECT_NE(none.headers.find("www-authenticate"), nullptr);
  EXPECT_EQ(client.ask(get("/", "Authorization: Bearer wrong\r\n")).status, 401);
  EXPECT_EQ(client.ask(get("/", "Authorization: Bearer secret\r\n")).status, 200);
  // Of a request that is refused the body is not read.
  EXPECT_EQ(client.ask("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1000\r\n\r\n").status, 401);
  EXPECT_TRUE(client.is_ended());
}

TEST(Server, TellsWithoutATokenWhatIsOpen) {
  const auto server = start(echo, {.token = "secret", .open_paths = {"/health"}});
  TestClient client(server->port());
  EXPECT_EQ(client.ask(get("/health")).status, 200);
  EXPECT_EQ(client.ask(get("/health/")).status, 401);
  EXPECT_EQ(client.ask(get("/healthy")).status, 401);
  EXPECT_EQ(client.ask(get("/")).status, 401);
  EXPECT_EQ(client.ask(get("/health", "Origin: http://evil.example\r\n")).status, 403);
  EXPECT_EQ(client.ask(post("/health", "")).status, 401) << "to be read alone";
}

TEST(Server, NamesAnAddressThatAClientCanUse) {
  for (const char* everywhere : {"0.0.0.0", "::"}) {
    auto server =
        Server::start({.address = everywhere, .token = "secret"}, [](Request, Answer answer) { answer({}); });
    if (!server && std::string_view(everywhere) == "::") continue;  // a machine without IPv6
    ASSERT_TRUE(server) << server.error().text();
    EXPECT_THAT((*server)->url(), testing::Not(testing::HasSubstr("//0.0.0.0")));
    EXPECT_THAT((*server)->url(), testing::Not(testing::HasSubstr("[::]")));
    EXPECT_THAT((*server)->url(), testing::EndsWith(fmt::format(":{}", (*server)->port())));
  }
}

TEST(Server, RefusesOtherSitesPages) {
  const auto server = start();
  TestClient client(server->port());
  EXPECT_EQ(client.ask("GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n").status, 403);
  EXPECT_EQ(client.ask("GET http://evil.example/ HTTP/1.1\r\nHost: localhost\r\n\r\n").status, 403);
  EXPECT_EQ(client.ask(get("/", "Origin: http://evil.example\r\n")).status, 403) << "not to read either";
  EXPECT_EQ(client.ask(get("/", "Origin: http://localhost\r\n")).status, 200);
  EXPECT_EQ(client.ask(post("/", "", "Origin: http://localhost\r\n")).status, 200);
  EXPECT_EQ(client.ask(post("/", "{}", "Origin: http://evil.example\r\n")).status, 403);
}

TEST(Server, SendsFilesAndPartsOfThem) {
  const auto directory = TemporaryDirectory::make();
  ASSERT_TRUE(directory);
  const auto path = directory->path() / "file";
  std::string contents;
  for (int i = 0; contents.size() < 3'000'000; ++i) contents += std::to_string(i) + "\n";
  ASSERT_TRUE(write_file(path, contents));
  const auto server = start([&](Request, Answer answer) {
    Response response{.content_type = "text/plain"};
    response.file = opened(path);
    answer(std::move(response));
  });
  TestClient client(server->port());
  EXPECT_EQ(client.ask(get("/")).body, contents);
  const Reply part = client.ask(get("/", "Range: bytes=1000000-2000000\r\n"));
  EXPECT_EQ(part.status, 206);
  EXPECT_EQ(part.body, contents.substr(1'000'000, 1'000'001));
  EXPECT_EQ(client.ask(get("/", "Range: bytes=9000000-\r\n")).status, 416);
  ASSERT_TRUE(client.send("HEAD / HTTP/1.1\r\nHost: localhost\r\n\r\n"));
  EXPECT_EQ(*client.reply(true).headers.find("content-length"), std::to_string(contents.size()));
  EXPECT_EQ(client.ask(get("/", "Range: bytes=-5\r\n")).body, contents.substr(contents.size() - 5));
}

TEST(Server, CutsTheAnswerOffWhereAFileShrank) {
  const auto directory = TemporaryDirectory::make();
  ASSERT_TRUE(directory);
  const auto path = directory->path() / "file";
  ASSERT_TRUE(write_file(path, "short"));
  const auto server = start([&](Request, Answer answer) {
    Response response;
    response.file = opened(path);
    response.file->bytes = 1'000'000;
    answer(std::move(response));
  });
  TestClient client(server->port());
  EXPECT_LT(client.ask(get("/")).body.size(), 1'000'000U);
  EXPECT_TRUE(client.is_ended());
}

/// Of what is large enough that the allocator asks the system for it alone.
std::size_t large_bytes_held() {
  return ::mallinfo2().hblkhd;
}

TEST(Server, KeepsNothingOfALargeAnswer) {
  constexpr std::size_t kLarge = std::size_t{64} << 20;
  const auto server = start([&](const Request& request, Answer answer) {
    answer({.body = std::string(request.path == "/large" ? kLarge : 1, 'x')});
  });
  TestClient client(server->port());
  const std::size_t before = large_bytes_held();
  {
    const Reply large = client.ask(get("/large"));
    EXPECT_EQ(large.body.size(), kLarge);
  }
  EXPECT_EQ(client.ask(get("/small")).body, "x");
  EXPECT_LT(large_bytes_held(), before + kLarge / 2);
}

TEST(Server, BoundsTheAnswersThatNobodyReads) {
  constexpr std::size_t kLarge = std::size_t{32} << 20;
  Options options;
  options.limits.answers_bytes = kLarge + kLarge / 2;
  const auto server =
      start([&](const Request& request,
                Answer answer) { answer({.body = std::string(request.path == "/large" ? kLarge : 1, 'x')}); },
            options);
  TestClient slow(server->port(), 4096);
  ASSERT_TRUE(slow.send(get("/large")));
  EXPECT_THAT(slow.until("\r\n\r\n"), StartsWith("HTTP/1.1 200 "));  // alone, it may be as large as it likes
  TestClient other(server->port());
  int status = other.ask(get("/large")).status;
  EXPECT_EQ(status, 503);
  EXPECT_EQ(other.ask(get("/small")).body, "x");
  slow.reset();
  for (int i = 0; i < 15'000 && status == 503; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    status = other.ask(get("/large")).status;
  }
  EXPECT_EQ(status, 200);
}

TEST(Server, BringsBodiesIntoFiles) {
  const auto directory = TemporaryDirectory::make();
  ASSERT_TRUE(directory);
  std::atomic<int> number = 0;
  const auto server = start(
      [&](Request request, Answer answer) {
        const auto place = directory->path() / request.path.substr(1);
        const bool kept = request.path != "/thrown-away";
        if (kept) {
          std::filesystem::rename(request.body_file->path(), place);
          request.body_file->release();
        }
        answer({.body = fmt::format("{} {}", kept, request.body.size())});
      },
      {},
      [&](const Request&) {
        return Admission{.most_body_bytes = 10'000'000,
                         .body_file = directory->path() / fmt::format("upload-{}", ++number)};
      });
  std::string contents;
  for (int i = 0; contents.size() < 3'000'000; ++i) contents += std::to_string(i) + "\n";
  TestClient client(server->port());
  EXPECT_EQ(client.ask(post("/one", contents)).body, "true 0");
  EXPECT_EQ(read_file(directory->path() / "one", 10'000'000), contents);
  EXPECT_EQ(client.ask(post("/empty", "")).body, "true 0");
  EXPECT_EQ(read_file(directory->path() / "empty", 10), "");
  EXPECT_EQ(client
                .ask("PUT /chunks HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
                     "5\r\nhello\r\n0\r\n\r\n")
                .body,
            "true 0");
  EXPECT_EQ(read_file(directory->path() / "chunks", 10), "hello");
  EXPECT_EQ(client.ask(post("/thrown-away", contents)).body, "false 0");
  {  // cut off in the middle
    TestClient cut(server->port());
    ASSERT_TRUE(cut.send(post("/cut", contents).substr(0, 1'000'000)));
    cut.end_sending();
    EXPECT_EQ(cut.reply().status, 400);
  }
  EXPECT_EQ(client.ask("PUT /large HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10000001\r\n\r\n").status,
            413);
  server->stop(std::chrono::minutes(5));
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(directory->path()))
    names.insert(entry.path().filename());
  EXPECT_THAT(names, ElementsAre("chunks", "empty", "one")) << "no part of an upload is left";
}

TEST(Server, SaysThatAFileCannotBeWritten) {
  const auto directory = TemporaryDirectory::make();
  ASSERT_TRUE(directory);
  const auto there = directory->path() / "there";
  ASSERT_TRUE(write_file(there, "precious"));
  const auto server = start(echo, {}, [&](const Request& head) {
    return Admission{.body_file = head.path == "/there" ? there : directory->path() / "no" / "folder"};
  });
  for (const char* path : {"/there", "/nowhere"}) {
    TestClient client(server->port());
    EXPECT_EQ(client.ask(post(path, "x")).status, 507) << path;
  }
  EXPECT_EQ(read_file(there, 100), "precious");
}

TEST(Server, StreamsEvents) {
  std::promise<std::shared_ptr<EventQueue>> made;
  const auto server = start([&](Request, Answer answer) {
    const auto queue = std::make_shared<EventQueue>();
    queue->send("hello", "1");
    Response response;
    response.events = queue;
    answer(std::move(response));
    made.set_value(queue);
  });
  TestClient client(server->port());
  const Reply head = client.ask(get("/events"));
  EXPECT_EQ(*head.headers.find("content-type"), "text/event-stream");
  const auto queue = made.get_future().get();
  EXPECT_EQ(client.until("\n\n"), "event: hello\ndata: 1\n\n");
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(queue->send("", std::to_string(i)));
    ASSERT_EQ(client.until("\n\n"), fmt::format("data: {}\n\n", i));
  }
  queue->send("", "last");
  queue->close();
  EXPECT_EQ(client.until("last\n\n"), "data: last\n\n");
  EXPECT_TRUE(client.is_ended());
}

TEST(Server, EndsAStreamThatWasClosedBeforeItBegan) {
  const auto server = start([](Request, Answer answer) {
    Response response;
    response.events = std::make_shared<EventQueue>();
    response.events->send("", "all there is");
    response.events->close();
    answer(std::move(response));
  });
  TestClient client(server->port());
  EXPECT_EQ(client.ask(get("/events")).status, 200);
  EXPECT_EQ(client.until("\n\n"), "data: all there is\n\n");
  EXPECT_TRUE(client.is_ended());
}

}  // namespace
}  // namespace plimsoll::serve
