#include "run/log_writer.hpp"

#include <future>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>

#include "base/files.hpp"

namespace plimsoll::running {
namespace {

void finish(LogWriter& log, Errands& errands) {
  log.finish();
  while (!log.is_finished()) {
    pollfd ready{errands.descriptor(), POLLIN, 0};
    ASSERT_EQ(::poll(&ready, 1, 300'000), 1);
    errands.deliver();
  }
}

TEST(LogWriter, WritesAllInOrder) {
  const auto folder = TemporaryDirectory::make();
  ASSERT_TRUE(folder);
  Errands errands;
  LogWriter log(errands, folder->path() / "log", 1 << 20);
  std::string all;
  for (int i = 0; i < 1000; ++i) {
    const std::string line = fmt::format("line {}\n", i);
    log.add(line);
    all += line;
    errands.deliver();
  }
  finish(log, errands);
  EXPECT_EQ(read_file(folder->path() / "log", 1 << 20).value_or(""), all);
  EXPECT_FALSE(log.failed());
}

TEST(LogWriter, WhatWaitsForADiskThatHangsIsBounded) {
  const auto folder = TemporaryDirectory::make();
  ASSERT_TRUE(folder);
  Errands errands;
  std::promise<void> gate;
  errands.send("log", "a disk that hangs", [&]() -> Errands::Then {
    gate.get_future().wait();
    return {};
  });
  LogWriter log(errands, folder->path() / "log", 1 << 20, 1000);
  for (int i = 0; i < 1000; ++i) log.add("0123456789");
  gate.set_value();
  finish(log, errands);
  EXPECT_TRUE(log.failed());
  const std::string text = read_file(folder->path() / "log", 1 << 20).value_or("");
  EXPECT_LT(text.size(), 2100U);
  EXPECT_THAT(text, testing::HasSubstr("bytes left out here"));
  EXPECT_TRUE(text.ends_with("0123456789"));
}

}  // namespace
}  // namespace plimsoll::running
