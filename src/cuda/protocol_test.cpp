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
  const Job watch{.task = Task::share, .seconds = 0.6, .begin = 12.5};
  const Job spin{
      .task = Task::share,
      .seconds = 1,
      .part = Sharer::spin,
      .step = {.kernels = 174, .different = 64, .blocks = 16, .threads = 256, .kernel_seconds = 4e-6}};
  const Job stream{.task = Task::share,
                   .seconds = 1,
                   .part = Sharer::stream,
                   .step = {.kernels = 20, .blocks = 66, .threads = 1024, .bytes = 3 << 20}};
  for (const Job& job : {vecadd, matmul, ceilings, load, watch, spin, stream}) {
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

TEST(CudaJob, WhatIsWrongOfASharedGpuIsRefusedAndNamed) {
  const auto share = [](std::string_view rest) {
    return refusal(fmt::format(R"({{"version":1,"task":"share","device":0,{}}})", rest));
  };
  EXPECT_THAT(share(R"("part":"hoard","seconds":1,"begin":0)"), HasSubstr("'hoard'"));
  EXPECT_THAT(share(R"("part":"watch","seconds":31,"begin":0)"), HasSubstr("30"));
  EXPECT_THAT(share(R"("part":"watch","seconds":1,"begin":-1)"), HasSubstr("begin"));
  EXPECT_THAT(share(R"("part":"watch","seconds":1)"), HasSubstr("begin"));
  const auto step = [&](std::string_view rest) {
    return share(fmt::format(R"("seconds":1,"begin":0,{})", rest));
  };
  EXPECT_THAT(step(R"("part":"spin","kernels":0)"), HasSubstr("kernels"));
  EXPECT_THAT(step(R"("part":"spin","kernels":1,"blocks":70000)"), HasSubstr("blocks"));
  EXPECT_THAT(step(R"("part":"spin","kernels":1,"blocks":1,"threads":1025)"), HasSubstr("threads"));
  EXPECT_THAT(step(R"("part":"spin","kernels":1,"blocks":1,"threads":1,"different":65)"),
              HasSubstr("different"));
  EXPECT_THAT(step(R"("part":"spin","kernels":1,"blocks":1,"threads":1,"different":1,"kernel_seconds":1)"),
              HasSubstr("kernel_seconds"));
  EXPECT_THAT(step(R"("part":"stream","kernels":1,"blocks":1,"threads":1,"bytes":0)"), HasSubstr("bytes"));
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
      Turns{},
      Turns{{{0.25, 0.5}, {0.75, 1}}},
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
  for (const char* gaps : {"1", "[1]", "[[1]]", "[[1,2,3]]", "[[2,1]]", "[[1,2],[1.5,3]]", "[[-1,1]]",
                           "[[0,\"nan\"]]", "[[0,\"inf\"]]"})
    EXPECT_THAT(nonsense(fmt::format(R"({{"type":"turns","gaps":{}}})", gaps)), HasSubstr("gaps")) << gaps;
  Turns many;
  many.gaps.resize(kMostGaps + 1);
  EXPECT_THAT(nonsense(write(Answer(many))), HasSubstr("too many"));
  EXPECT_THAT(nonsense(R"({"type":"window","begin":1,"seconds":0})"), HasSubstr("begin"));
  EXPECT_THAT(nonsense(std::string(kMostLineBytes + 1, ' ')), HasSubstr("larger"));
}

}  // namespace
}  // namespace plimsoll::cuda
