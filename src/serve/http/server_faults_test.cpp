// The server with real clients that are slow, broken, hostile or too many.
#include <array>
#include <atomic>
#include <future>
#include <latch>
#include <semaphore>
#include <thread>

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include "serve/http/server.hpp"
#include "serve/http/test_client.hpp"

namespace plimsoll::serve {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::string_view kGet = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";

void answer_ok(Request, Answer answer) {
  answer({.body = "ok"});
}

std::unique_ptr<Server> start(Handler handler = answer_ok, Options options = {}, Admit admit = {}) {
  auto server = Server::start(std::move(options), std::move(handler), std::move(admit));
  if (!server) ADD_FAILURE() << server.error().text();
  return *std::move(server);
}

/// Waits until it holds; false after so long that it never will, on a machine however busy.
bool comes_true(const std::function<bool()>& holds) {
  const auto end = std::chrono::steady_clock::now() + 300s;
  while (!holds()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(1ms);
  }
  return true;
}

TEST(ServerFaults, AnswersNonsenseAndHangsUp) {
  const auto server = start();
  for (const char* text :
       {"nonsense\r\n\r\n", "GET / HTTP/1.1\r\n\r\n", "GET /%zz HTTP/1.1\r\nHost: h\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n"}) {
    TestClient client(server->port());
    const Reply reply = client.ask(text);
    EXPECT_EQ(reply.status, 400) << text;
    EXPECT_THAT(reply.body, HasSubstr(R"("error_code":"BAD_REQUEST")"));
    client.end_sending();
    EXPECT_TRUE(client.is_ended());
  }
}

TEST(ServerFaults, TellsAClientThatSendsTooMuch) {
  const auto server = start(answer_ok, {}, [](const Request&) { return Admission{.most_body_bytes = 1000}; });
  // It does not stop sending, and must still read why it is refused.
  TestClient stubborn(server->port());
  const std::string body(8'000'000, 'x');
  (void)stubborn.send(
      fmt::format("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n{}", body.size(), body));
  EXPECT_EQ(stubborn.reply().status, 413);
  TestClient chunked(server->port());
  const std::string head = "POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n";
  EXPECT_EQ(chunked.ask(head + "3e8\r\n" + std::string(1000, 'x') + "\r\n1\r\nx\r\n0\r\n\r\n").status, 413);
  TestClient waiting(server->port());
  EXPECT_EQ(
      waiting
          .ask("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1001\r\nExpect: 100-continue\r\n\r\n")
          .status,
      413)
      << "without 100 Continue before it";
}

TEST(ServerFaults, BoundsTheMemoryOfAllBodies) {
  Options options;
  options.limits.bodies_bytes = 100'000;
  const auto server = start(answer_ok, options);
  const std::string part =
      "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 60001\r\n\r\n" + std::string(60'000, 'x');
  TestClient first(server->port());
  ASSERT_TRUE(first.send(part));
  ASSERT_TRUE(comes_true([&] { return server->statistics().bytes_received >= part.size(); }));
  TestClient second(server->port());
  EXPECT_EQ(second.ask(part).status, 503);
  EXPECT_EQ(first.ask("x").status, 200);
  TestClient third(server->port());
  EXPECT_EQ(third.ask(part + "x").status, 200) << "what the others held is free again";
}

TEST(ServerFaults, NoticesARequestThatIsCutOff) {
  std::atomic<int> handled = 0;
  const auto server = start([&](Request, Answer answer) {
    ++handled;
    answer({});
  });
  for (const char* text :
       {"GET / HT", "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\nhalf",
        "POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel"}) {
    TestClient half(server->port());
    ASSERT_TRUE(half.send(text));
    half.end_sending();
    EXPECT_EQ(half.reply().status, 400) << text;
    EXPECT_TRUE(half.is_ended());
    TestClient gone(server->port());
    ASSERT_TRUE(gone.send(text));
    gone.reset();
  }
  EXPECT_TRUE(comes_true([&] { return server->statistics().connections == 0; }));
  EXPECT_EQ(handled, 0);
}

TEST(ServerFaults, AnswersAClientThatHasClosedItsOwnSide) {
  const auto server = start();
  TestClient client(server->port());
  ASSERT_TRUE(client.send(kGet));
  client.end_sending();
  EXPECT_EQ(client.reply().body, "ok");
}

TEST(ServerFaults, GivesUpOnSlowSenders) {
  Options options;
  options.limits.header_timeout = 50ms;
  options.limits.body_stall_timeout = 50ms;
  const auto server = start(answer_ok, options);
  for (const char* text :
       {"GET / HTTP/1.1\r\nHo", "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n12"}) {
    TestClient client(server->port());
    EXPECT_EQ(client.ask(text).status, 408) << text;
  }
  EXPECT_EQ(server->statistics().timeouts, 2U);
}

TEST(ServerFaults, GivesUpOnABodyThatTricklesIn) {
  Options options;
  options.limits.body_stall_timeout = 200ms;
  options.limits.least_body_bytes_per_second = 1'000'000;
  const auto server = start(answer_ok, options);
  TestClient client(server->port());
  ASSERT_TRUE(client.send("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n\r\n"));
  // No wait is too long, and yet it would take days.
  const bool refused = comes_true([&] {
    (void)client.send("x");
    return server->statistics().timeouts == 1;
  });
  EXPECT_TRUE(refused);
  EXPECT_EQ(client.reply().status, 408);
}

TEST(ServerFaults, GivesUpOnABodyThatIsNotWholeInTime) {
  Options options;
  options.limits.body_timeout = 200ms;
  options.limits.least_body_bytes_per_second = 1;  // no rate is too low
  const auto server = start(answer_ok, options);
  TestClient client(server->port());
  ASSERT_TRUE(client.send("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n"));
  EXPECT_TRUE(comes_true([&] {
    (void)client.send("x");
    return server->statistics().timeouts == 1;
  }));
  EXPECT_EQ(client.reply().status, 408);
  EXPECT_TRUE(comes_true([&] { return server->statistics().connections == 0; })) << "its place is free again";
}

/// As many clients with half a body each as there are connections.
std::vector<std::unique_ptr<TestClient>> slow_bodies(Server& server, std::size_t count) {
  constexpr std::string_view kHalf = "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n12345";
  std::vector<std::unique_ptr<TestClient>> slow;
  for (std::size_t i = 0; i < count; ++i) {
    slow.push_back(std::make_unique<TestClient>(server.port()));
    EXPECT_TRUE(slow.back()->send(kHalf));
  }
  EXPECT_TRUE(comes_true([&] { return server.statistics().bytes_received == count * kHalf.size(); }));
  return slow;
}

TEST(ServerFaults, SlowBodiesInEveryConnectionHoldUpNobody) {
  Options options;
  options.limits.connections = 64;
  options.limits.spare_time = 0ms;
  options.limits.brisk_bytes_per_second = std::size_t{1} << 60U;
  options.limits.body_stall_timeout = 1h;  // no deadline comes near: what counts is who can be spared
  const auto server = start(answer_ok, options);
  const auto slow = slow_bodies(*server, options.limits.connections);
  for (std::uint64_t i = 1; i <= 100; ++i) {
    TestClient quick(server->port());
    ASSERT_EQ(quick.ask(kGet).status, 200) << i;
  }
  EXPECT_EQ(server->statistics().connections_refused, 0U);
  EXPECT_GE(server->statistics().connections_spared, 1U);
  EXPECT_LE(server->statistics().connections, options.limits.connections);
}

TEST(ServerFaults, ABodyIsNotSparedBeforeItsTime) {
  Options options;
  options.limits.connections = 4;
  options.limits.spare_time = 1h;
  options.limits.body_stall_timeout = 1h;
  const auto server = start(answer_ok, options);
  const auto slow = slow_bodies(*server, options.limits.connections);
  TestClient fifth(server->port());
  EXPECT_EQ(fifth.ask(kGet).status, 503);
  EXPECT_EQ(server->statistics().connections_spared, 0U);
  for (const auto& client : slow)
    EXPECT_EQ(client->ask(std::string(95, 'x')).status, 200) << "each has its time";
}

TEST(ServerFaults, ABriskBodyIsNotSpared) {
  Options options;
  options.limits.connections = 1;
  options.limits.spare_time = 0ms;
  options.limits.brisk_bytes_per_second = 0;
  options.limits.body_stall_timeout = 1h;
  const auto server = start(answer_ok, options);
  const auto brisk = slow_bodies(*server, 1);
  TestClient second(server->port());
  EXPECT_EQ(second.ask(kGet).status, 503);
  EXPECT_EQ(brisk.front()->ask(std::string(95, 'x')).status, 200);
}

TEST(ServerFaults, TheLongestIdleMakesRoomForANewcomer) {
  Options options;
  options.limits.connections = 2;
  const auto server = start(answer_ok, options);
  TestClient first(server->port());
  ASSERT_EQ(first.ask(kGet).status, 200);
  TestClient second(server->port());
  ASSERT_EQ(second.ask(kGet).status, 200);
  TestClient third(server->port());
  EXPECT_EQ(third.ask(kGet).status, 200);
  EXPECT_TRUE(first.is_ended());
  EXPECT_EQ(second.ask(kGet).status, 200);
  EXPECT_EQ(server->statistics().connections_spared, 1U);
}

TEST(ServerFaults, ClosesIdleConnectionsWithoutAWord) {
  Options options;
  options.limits.idle_timeout = 50ms;
  const auto server = start(answer_ok, options);
  TestClient fresh(server->port());
  EXPECT_TRUE(fresh.is_ended());
  // A client that is held up may itself find its connection closed before it asks; one of many gets through.
  EXPECT_TRUE(comes_true([&] {
    TestClient used(server->port());
    if (used.ask(kGet).status != 200) return false;
    EXPECT_EQ(used.reply().status, 0);
    EXPECT_TRUE(used.is_ended());
    return true;
  }));
  EXPECT_EQ(server->statistics().timeouts, 0U) << "that is no fault";
}

TEST(ServerFaults, GivesUpOnAClientThatDoesNotRead) {
  Options options;
  options.limits.stall_timeout = 50ms;
  const auto server =
      start([](Request, Answer answer) { answer({.body = std::string(64 << 20, 'x')}); }, options);
  TestClient client(server->port(), 4096);
  ASSERT_TRUE(client.send(kGet));
  EXPECT_TRUE(comes_true([&] { return server->statistics().timeouts == 1; }));
  EXPECT_TRUE(comes_true([&] { return server->statistics().connections == 0; }));
}

TEST(ServerFaults, ServesOthersBesideAThousandSlowSenders) {
  ASSERT_GE(allow_connections(2100), 2100U);
  Options options{.threads = 1};
  options.limits.header_timeout = options.limits.stall_timeout = options.limits.idle_timeout = 300s;
  const auto server = start(answer_ok, options);
  std::vector<std::unique_ptr<TestClient>> slow;
  for (std::size_t i = 0; i < 1000; ++i) {
    slow.push_back(std::make_unique<TestClient>(server->port()));
    // Half a head, half a body, or nothing yet.
    constexpr std::array<std::string_view, 3> kBeginnings = {
        "GET / HTT", "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n1", ""};
    ASSERT_TRUE(slow.back()->send(kBeginnings[i % 3]));
  }
  TestClient quick(server->port());
  for (int i = 0; i < 100; ++i) ASSERT_EQ(quick.ask(kGet).status, 200);
  ASSERT_TRUE(comes_true([&] { return server->statistics().connections == 1001; }));
  // They all come to their end in time, too.
  for (std::size_t i = 0; i < slow.size(); ++i) {
    ASSERT_TRUE(slow[i]->send(i % 3 == 0 ? "P/1.1\r\nHost: localhost\r\n\r\n" : i % 3 == 1 ? "2" : kGet));
  }
  for (const auto& client : slow) ASSERT_EQ(client->reply().status, 200);
}

TEST(ServerFaults, AnswersAThousandConnectionsAtOnce) {
  ASSERT_GE(allow_connections(2100), 2100U);
  Options options;
  options.limits.header_timeout = options.limits.idle_timeout = 300s;
  const auto server = start(answer_ok, options);
  std::vector<std::unique_ptr<TestClient>> clients;
  for (int i = 0; i < 1000; ++i) clients.push_back(std::make_unique<TestClient>(server->port()));
  for (int round = 0; round < 3; ++round) {
    for (const auto& client : clients) ASSERT_TRUE(client->send(kGet));
    for (const auto& client : clients) ASSERT_EQ(client->reply().status, 200);
  }
  EXPECT_THAT(server->statistics().answers, ElementsAre(0, 3000, 0, 0, 0));
}

TEST(ServerFaults, RefusesConnectionsBeyondItsLimit) {
  Options options;
  options.limits.connections = 2;
  std::latch begun(2);
  std::latch free(1);
  std::atomic<int> asked = 0;
  const auto server = start(
      [&](Request, Answer answer) {
        if (asked++ < 2) {
          begun.count_down();
          free.wait();
        }
        answer({.body = "ok"});
      },
      options);
  TestClient first(server->port());
  TestClient second(server->port());
  ASSERT_TRUE(first.send(kGet));  // both are being answered
  ASSERT_TRUE(second.send(kGet));
  begun.wait();
  TestClient third(server->port());
  const Reply refused = third.ask(kGet);
  EXPECT_EQ(refused.status, 503);
  EXPECT_NE(refused.headers.find("retry-after"), nullptr);
  free.count_down();
  EXPECT_EQ(first.reply().status, 200);
  EXPECT_EQ(second.reply().status, 200);
  EXPECT_EQ(first.ask(kGet).status, 200);
  third.hang_up();
  second.hang_up();
  ASSERT_TRUE(comes_true([&] { return server->statistics().connections == 1; }));
  TestClient fourth(server->port());
  EXPECT_EQ(fourth.ask(kGet).status, 200);
  EXPECT_EQ(server->statistics().connections_refused, 1U);
}

TEST(ServerFaults, WaitsForDescriptorsWhenThereAreNone) {
  const auto server = start();
  // Its threads run by then. UndefinedBehaviorSanitizer looks at an object's type for the first time by way
  // of a pipe, and takes a good one for a bad one where there is no descriptor for that.
  EXPECT_EQ(TestClient(server->port()).ask(kGet).status, 200);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit few{256, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  std::vector<FileDescriptor> others;
  while (FileDescriptor other{::open("/dev/null", O_RDONLY | O_CLOEXEC)}) others.push_back(std::move(other));
  others.pop_back();  // for the client; the server has none
  TestClient client(server->port());
  EXPECT_TRUE(client.send(kGet));
  EXPECT_FALSE(FileDescriptor(::open("/dev/null", O_RDONLY | O_CLOEXEC)));
  others.clear();
  EXPECT_EQ(client.reply().status, 200);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
}

TEST(ServerFaults, AnswersOverloadAtOnce) {
  std::counting_semaphore begun(0);
  std::latch free(1);
  Options options{.threads = 1};
  options.limits.queued_requests = 1;
  const auto server = start(
      [&](Request, Answer answer) {
        begun.release();
        free.wait();
        answer({});
      },
      options);
  std::vector<std::unique_ptr<TestClient>> held;  // one is being handled, one waits
  for (int i = 0; i < 2; ++i) held.push_back(std::make_unique<TestClient>(server->port()));
  EXPECT_TRUE(held.front()->send(kGet));
  begun.acquire();  // before that it would itself be the one that waits
  EXPECT_TRUE(held.back()->send(kGet));
  EXPECT_TRUE(comes_true([&] { return server->statistics().requests_waiting == 1; }));
  TestClient third(server->port());
  const Reply reply = third.ask(kGet);
  EXPECT_EQ(reply.status, 503);
  EXPECT_NE(reply.headers.find("retry-after"), nullptr);
  EXPECT_THAT(reply.body, HasSubstr("TEMPORARILY_UNAVAILABLE"));
  free.count_down();
  for (const auto& client : held) EXPECT_EQ(client->reply().status, 200);
  EXPECT_EQ(third.ask(kGet).status, 200) << "its connection has stayed";
}

TEST(ServerFaults, StopsAfterAnsweringWhatIsUnderWay) {
  std::latch begun(1);
  std::latch free(1);
  const auto server = start([&](Request, Answer answer) {
    begun.count_down();
    free.wait();
    answer({.body = "done"});
  });
  TestClient idle(server->port());
  TestClient busy(server->port());
  ASSERT_TRUE(busy.send(kGet));
  begun.wait();
  auto stopped = std::async(std::launch::async, [&] { server->stop(300s); });
  EXPECT_TRUE(idle.is_ended());
  free.count_down();
  const Reply reply = busy.reply();
  EXPECT_EQ(reply.body, "done");
  EXPECT_EQ(*reply.headers.find("connection"), "close");
  EXPECT_TRUE(busy.is_ended());
  stopped.get();
  server->stop(0s);
}

TEST(ServerFaults, StopsInTimeWhateverClientsDo) {
  std::vector<Answer> kept;
  std::mutex mutex;
  auto server = start([&](Request, Answer answer) {
    const std::scoped_lock lock(mutex);
    kept.push_back(std::move(answer));
  });
  TestClient half(server->port());
  ASSERT_TRUE(half.send("GET / HTT"));
  TestClient waiting(server->port());
  ASSERT_TRUE(waiting.send(kGet));
  ASSERT_TRUE(comes_true([&] {
    const std::scoped_lock lock(mutex);
    return kept.size() == 1;
  }));
  server->stop(20ms);
  EXPECT_TRUE(half.is_ended());
  EXPECT_TRUE(waiting.is_ended());
  server.reset();
  kept.front()({.body = "too late"});  // to nobody, and without harm
}

TEST(ServerFaults, StopsStreamsAtOnce) {
  const auto queue = std::make_shared<EventQueue>();
  const auto server = start([&](Request, Answer answer) {
    Response response;
    response.events = queue;
    answer(std::move(response));
  });
  TestClient client(server->port());
  EXPECT_EQ(client.ask(kGet).status, 200);
  server->stop(300s);
  EXPECT_TRUE(client.is_ended());
  EXPECT_FALSE(queue->send("", "late"));
}

TEST(ServerFaults, LetsASlowReaderLoseEventsAndNobodyElse) {
  std::mutex mutex;
  std::vector<std::shared_ptr<EventQueue>> queues;
  const auto server = start([&](Request, Answer answer) {
    Response response;
    response.events = std::make_shared<EventQueue>(64 << 10);
    {
      const std::scoped_lock lock(mutex);
      queues.push_back(response.events);
    }
    answer(std::move(response));
  });
  TestClient slow(server->port(), 4096);
  ASSERT_EQ(slow.ask(kGet).status, 200);
  TestClient quick(server->port());
  ASSERT_EQ(quick.ask(kGet).status, 200);
  // Far more than the slow one's buffers hold: the quick one reads all, each before the next is sent.
  const std::string data(10'000, 'x');
  for (int i = 0; i < 2000; ++i) {
    for (const auto& queue : queues) ASSERT_TRUE(queue->send("", fmt::format("{} {}", i, data)));
    ASSERT_THAT(quick.until("\n\n"), testing::StartsWith(fmt::format("data: {} ", i)));
  }
  for (const auto& queue : queues) queue->close();
  EXPECT_THAT(slow.until("data: 1999 "), HasSubstr("event: lost\n"));
}

TEST(ServerFaults, NoticesThatAListenerHasGone) {
  Options options;
  options.limits.heartbeat = 20ms;
  const auto queue = std::make_shared<EventQueue>();
  const auto server = start(
      [&](Request, Answer answer) {
        Response response;
        response.events = queue;
        answer(std::move(response));
      },
      options);
  TestClient client(server->port());
  ASSERT_EQ(client.ask(kGet).status, 200);
  EXPECT_EQ(client.until(":\n\n:\n\n"), ":\n\n:\n\n");
  client.hang_up();
  EXPECT_TRUE(comes_true([&] { return queue->closed(); }));
  EXPECT_FALSE(queue->send("", "to nobody"));
}

TEST(ServerFaults, SurvivesClientsThatVanishWhileTheyAreAnswered) {
  const auto server = start([](Request, Answer answer) { answer({.body = std::string(1 << 20, 'x')}); });
  for (int i = 0; i < 100; ++i) {
    TestClient client(server->port());
    ASSERT_TRUE(client.send(kGet));
    client.reset();
  }
  TestClient last(server->port());
  EXPECT_EQ(last.ask(kGet).status, 200);
  last.hang_up();
  EXPECT_TRUE(comes_true([&] { return server->statistics().connections == 0; }));
}

}  // namespace
}  // namespace plimsoll::serve
