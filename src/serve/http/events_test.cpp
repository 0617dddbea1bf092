#include "serve/http/events.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plimsoll::serve {
namespace {

TEST(EventQueue, WritesEventsAsBrowsersReadThem) {
  EventQueue queue;
  EXPECT_EQ(queue.take().text, "");
  EXPECT_TRUE(queue.send("point", "{\"x\":1}", "7"));
  EXPECT_TRUE(queue.send("", "one\ntwo\r\nthree\n"));
  EXPECT_TRUE(queue.send("cut\ndata: forged", "", "cut\r\rid"));
  EXPECT_EQ(queue.take().text,
            "id: 7\nevent: point\ndata: {\"x\":1}\n\n"
            "data: one\ndata: two\ndata: three\ndata: \n\n"
            "id: cut\nevent: cut\ndata: \n\n");
  EXPECT_EQ(queue.take().text, "");
}

TEST(EventQueue, LosesTheOldestAndSaysHowMany) {
  EventQueue queue(40);  // an event takes 16 bytes
  for (const char* data : {"11111111", "22222222", "33333333", "44444444"}) EXPECT_TRUE(queue.send("", data));
  EXPECT_EQ(queue.take().text, "event: lost\ndata: 2\n\ndata: 33333333\n\ndata: 44444444\n\n");
}

TEST(EventQueue, TellsALargeEventAlone) {
  EventQueue queue(40);
  const std::string large(100, 'x');
  EXPECT_TRUE(queue.send("", "11111111"));
  EXPECT_TRUE(queue.send("", large));
  EXPECT_EQ(queue.take().text, "event: lost\ndata: 1\n\ndata: " + large + "\n\n");
  EXPECT_TRUE(queue.send("", large));
  EXPECT_TRUE(queue.send("", "22222222"));
  EXPECT_EQ(queue.take().text, "event: lost\ndata: 1\n\ndata: 22222222\n\n");
}

TEST(EventQueue, WakesOncePerTaking) {
  EventQueue queue;
  int woken = 0;
  queue.send("", "before");
  queue.on_news([&] { ++woken; });
  EXPECT_EQ(woken, 1);
  queue.send("", "a");
  EXPECT_EQ(woken, 1);
  (void)queue.take();
  queue.send("", "b");
  queue.send("", "c");
  EXPECT_EQ(woken, 2);
  queue.close();
  queue.close();
  EXPECT_EQ(woken, 3);
}

TEST(EventQueue, EndsAfterWhatIsInIt) {
  EventQueue queue;
  queue.send("", "last");
  queue.close();
  EXPECT_TRUE(queue.closed());
  EXPECT_FALSE(queue.send("", "late"));
  EXPECT_EQ(queue.take(), (EventQueue::Taken{"data: last\n\n", true}));
  EXPECT_EQ(queue.take(), (EventQueue::Taken{"", true}));
}

TEST(EventQueue, IsEmptyWhenAbandoned) {
  EventQueue queue;
  int woken = 0;
  queue.on_news([&] { ++woken; });
  queue.send("", "a");
  queue.abandon();
  EXPECT_FALSE(queue.send("", "b"));
  EXPECT_EQ(queue.take(), (EventQueue::Taken{"", true}));
  EXPECT_EQ(woken, 1);
}

}  // namespace
}  // namespace plimsoll::serve
