#include "cuda/protocol.hpp"

#include <cmath>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plimsoll::cuda {
namespace {

using testing::HasSubstr;

TEST(CudaJob, IsReadAsItWasWritten) {
  const Job vecadd{.task = Task::vecadd, .device = 1, .elements = {1, 5'000'000}};
  const Job matmul{.task = Task::matmul, .sizes = {256, 512}};
  const Job ceilings{.task = Task::ceilings, .device = 7};
  const Job load{.task = Task::load, .load = Load::memory_triad, .seconds = 2.5};
  for (const Job& job : {vecadd, matmul, ceilings, load}) {
    const Result<Job> read = read_job(write(job));
    ASSERT_TRUE(read) << read.error().text();
    EXPECT_EQ(*read, job) << write(job);
  }
}

std::string refusal(std::string_view text) {
  const Result<Job> job = read_job(text);
  EXPECT_FALSE(job) << text;
  return job ? "" : job.error().text();
}

TEST(CudaJob, WhatIsWrongIsRefusedAndNamed) {
  EXPECT_THAT(refusal("{"), HasSubstr("not JSON"));
  EXPECT_THAT(refusal("[]"), HasSubstr("is not an object"));
  EXPECT_THAT(refusal(R"({"version":2,"task":"ceilings","device":0})"), HasSubstr("version"));
  EXPECT_THAT(refusal(R"({"version":1,"task":"dance","device":0})"), HasSubstr("'dance'"));
  EXPECT_THAT(refusal(R"({"version":1,"task":"ceilings","device":-1})"), HasSubstr("device"));
  EXPECT_THAT(refusal(R"({"version":1,"task":"ceilings","device":0,"colour":1})"), HasSubstr("colour"));
  EXPECT_THAT(refusal(R"({"version":1,"task":"vecadd","device":0})"), HasSubstr("elements"));
  EXPECT_THAT(refusal(R"({"version":1,"task":"vecadd","device":0,"elements":[]})"), HasSubstr("no size"));
  EXPECT_THAT(refusal(R"({"version":1,"task":"vecadd","device":0,"elements":[0]})"), HasSubstr("elements"));
  EXPECT_THAT(refusal(R"({"version":1,"task":"matmul","device":0,"sizes":[32769]})"), HasSubstr("sizes"));
  EXPECT_THAT(refusal(R"({"version":1,"task":"load","device":0,"load":"nap","seconds":1})"),
              HasSubstr("'nap'"));
  EXPECT_THAT(refusal(R"({"version":1,"task":"load","device":0,"load":"idle","seconds":601})"),
              HasSubstr("600"));
}

TEST(CudaAnswer, IsReadAsItWasWritten) {
  const Device device{.name = "NVIDIA H200",
                      .uuid = "GPU-1",
                      .memory = 150,
                      .free = 149,
                      .multiprocessors = 132,
                      .l2 = 60,
                      .capability = "9.0",
                      .driver = "13.0",
                      .runtime = "12.8",
                      .library = "cuBLASLt 13.1",
                      .sm_clock = 1.98e9,
                      .memory_clock = {}};
  const Answer answers[] = {
      device,
      Progress{"memory-read at 64.0 KiB", 0.25},
      VectorAdd{Place::managed_prefetch,
                Workers::many_blocks,
                1000,
                {{"kernel", {1e-6, 2e-6}}, {"total", {3e-6, 4e-6}}},
                true},
      MatrixProduct{Method::blocked, 256, {1e-5}, 1e6, 1e-7, true, ""},
      MatrixProduct{Method::library, 256, {1e-5}, 1e6, std::numeric_limits<double>::infinity(), false, "x"},
      Rate{"memory-read", "B/s", 1024, 65536.0, {1e-6}},
      Rate{"launch-kernel", "s", 1, {}, {2e-6}},
      Remark{"a size was left out"},
      Window{.begin = true},
      Window{.begin = false, .seconds = 5, .flops = 1e15, .bytes = {}},
      Failure{"no", "do", "internal"},
      Done{}};
  for (const Answer& answer : answers) {
    const Result<Answer> read = read_answer(write(answer));
    ASSERT_TRUE(read) << read.error().text() << write(answer);
    EXPECT_EQ(*read, answer) << write(answer);
  }
}

std::string nonsense(std::string_view line) {
  const Result<Answer> answer = read_answer(line);
  EXPECT_FALSE(answer) << line;
  return answer ? "" : answer.error().text();
}

TEST(CudaAnswer, NonsenseIsRefused) {
  EXPECT_THAT(nonsense("Loading…"), HasSubstr("not JSON"));
  EXPECT_THAT(nonsense("{}"), HasSubstr("type"));
  EXPECT_THAT(nonsense(R"({"type":"song"})"), HasSubstr("'song'"));
  EXPECT_THAT(nonsense(R"({"type":"progress","phase":"x","done":1.5})"), HasSubstr("more than 1"));
  EXPECT_THAT(nonsense(R"({"type":"rate","name":"x","unit":"s","amount":1,"samples":[]})"),
              HasSubstr("empty"));
  EXPECT_THAT(nonsense(R"({"type":"rate","name":"x","unit":"s","amount":1,"samples":[-1]})"),
              HasSubstr("samples"));
  EXPECT_THAT(
      nonsense(
          R"({"type":"vecadd","place":"moon","workers":"one-block","elements":1,"parts":[],"right":true})"),
      HasSubstr("'moon'"));
  EXPECT_THAT(
      nonsense(
          R"({"type":"vecadd","place":"gpu-copies","workers":"one-block","elements":1,"parts":[],"right":true})"),
      HasSubstr("parts"));
  EXPECT_THAT(nonsense(R"({"type":"window","begin":1,"seconds":0})"), HasSubstr("begin"));
  EXPECT_THAT(nonsense(std::string(kMostLineBytes + 1, ' ')), HasSubstr("larger"));
}

}  // namespace
}  // namespace plimsoll::cuda
