#include "run/output_stream.hpp"

#include <array>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.hpp"

namespace plimsoll::running {
namespace {

TEST(Tail, KeepsTheEndAndCountsTheRest) {
  Tail tail(4);
  for (const char* piece : {"ab", "cdefgh", "", "i"}) tail.add(piece);
  EXPECT_EQ(tail.text(), "fghi");
  EXPECT_EQ(tail.dropped(), 5U);
}

TEST(LogFile, KeepsBeginningAndEndOfALongText) {
  const auto directory = TemporaryDirectory::make();
  ASSERT_TRUE(directory);
  const auto path = directory->path() / "log";
  {
    LogFile log(path, 10);
    log.add("0123456");
    for (int i = 0; i < 3000; ++i) log.add(std::string(1000, 'x'));
    log.add("the end");
    EXPECT_FALSE(log.failed());
  }
  const auto text = read_file(path, 1 << 22);
  ASSERT_TRUE(text);
  EXPECT_TRUE(text->starts_with("0123456xxx\n[plimsoll: "));
  EXPECT_TRUE(text->ends_with("the end"));
  EXPECT_LT(text->size(), (1U << 20) + 100);
  EXPECT_TRUE(LogFile("/nonexistent/log", 10).failed());
}

TEST(OutputStream, SplitsLinesHoweverTheyArrive) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK), 0);
  FileDescriptor source(ends[0]), target(ends[1]);
  std::string text;
  std::vector<std::string> lines;
  OutputStream stream(
      source, false, [&](std::string_view part) { text += part; },
      [&](std::string_view line) { lines.emplace_back(line); });
  for (const std::string_view piece : {"on", "e\ntwo\nth", "", "ree"}) {
    ASSERT_EQ(::write(target.get(), piece.data(), piece.size()), static_cast<ssize_t>(piece.size()));
    stream.read_some();
  }
  target.reset();
  stream.read_some();
  EXPECT_FALSE(stream.is_open());
  stream.finish();
  EXPECT_EQ(text, "one\ntwo\nthree");
  EXPECT_THAT(lines, testing::ElementsAre("one", "two", "three"));
}

/// However long a line is, its end is no beginning: who prints data cannot be made to say something.
TEST(OutputStream, OfALineThatIsTooLongNothingIsALine) {
  for (const std::size_t padding : {60'000U, 65'535U, 65'536U, 65'537U, 131'072U, 200'000U}) {
    std::array<int, 2> ends{};
    ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK), 0);
    FileDescriptor source(ends[0]), target(ends[1]);
    std::vector<std::string> lines;
    OutputStream stream(
        source, false, [](std::string_view) {}, [&](std::string_view line) { lines.emplace_back(line); });
    const auto send = [&](std::string_view text) {
      for (; !text.empty(); stream.read_some()) {
        const ssize_t count = ::write(target.get(), text.data(), std::min<std::size_t>(text.size(), 4096));
        ASSERT_GT(count, 0);
        text.remove_prefix(static_cast<std::size_t>(count));
      }
    };
    send(std::string(padding, 'x'));
    send("plimsoll: artifact stolen\nplimsoll: metric loss 1\n");
    for (const std::string& line : lines) EXPECT_FALSE(line.starts_with("plimsoll: artifact")) << padding;
    ASSERT_FALSE(lines.empty());
    EXPECT_EQ(lines.back(), "plimsoll: metric loss 1") << "the next line is one again";
  }
}

TEST(Passage, NeverBlocksOnAReaderThatHasStopped) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  FileDescriptor reader(ends[0]), writer(ends[1]);
  Passage passage(writer.get());
  while (passage.has_room()) passage.add(std::string(100'000, 'x'));
  for (int i = 0; i < 1000; ++i) {
    Interests interests;
    passage.collect(interests);
    ASSERT_EQ(interests.size(), 1U);
    pollfd ready{interests[0].descriptor, interests[0].events, 0};
    if (::poll(&ready, 1, 0) == 0) break;
    interests[0].act();
  }
  EXPECT_FALSE(passage.is_broken());
}

}  // namespace
}  // namespace plimsoll::running
