#include "estimate/memory/oom_message.hpp"

#include <chrono>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plimsoll::estimate {
namespace {

using ::testing::HasSubstr;

constexpr Bytes mib(double n) {
  return Bytes::rounded(n * 0x1p20);
}
constexpr Bytes gib(double n) {
  return Bytes::rounded(n * 0x1p30);
}

constexpr std::string_view kNew =
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB. GPU 0 has a total capacity of "
    "79.15 GiB "
    "of which 11.75 MiB is free. Process 1234 has 10.00 GiB memory in use. Including non-PyTorch memory, "
    "this process "
    "has 69.10 GiB memory in use. Of the allocated memory 67.43 GiB is allocated by PyTorch, and 1.15 GiB is "
    "reserved "
    "by PyTorch but unallocated. If reserved but unallocated memory is large try setting "
    "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation.  See documentation for Memory "
    "Management";

OutOfMemory expected_of_new() {
  OutOfMemory m;
  m.requested = mib(20);
  m.gpu = 0;
  m.total = gib(79.15);
  m.free = mib(11.75);
  m.process = gib(69.10);
  m.allocated = gib(67.43);
  m.unallocated = gib(1.15);
  m.processes = {{1234, gib(10)}};
  return m;
}

TEST(OutOfMemoryMessage, OfPyTorch2) {
  const auto m = parse_out_of_memory(kNew);
  ASSERT_TRUE(m) << m.error().text();
  EXPECT_EQ(*m, expected_of_new());
  EXPECT_EQ(m->reserved(), gib(67.43) + gib(1.15));
  EXPECT_EQ(m->context(), gib(69.10) - gib(67.43) - gib(1.15));
  EXPECT_EQ(m->others(), gib(79.15) - mib(11.75) - gib(69.10));
  EXPECT_EQ(m->unexplained(), gib(79.15) - mib(11.75) - gib(69.10) - gib(10));
  EXPECT_NEAR(*m->fragmentation(), 1.15 / 68.58, 1e-6);
}

TEST(OutOfMemoryMessage, OfPyTorch1) {
  const auto m = parse_out_of_memory(
      "RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 15.78 GiB total capacity; 13.03 "
      "GiB already "
      "allocated; 1.09 GiB free; 13.45 GiB reserved in total by PyTorch) If reserved memory is >> allocated "
      "memory try "
      "setting max_split_size_mb to avoid fragmentation.");
  ASSERT_TRUE(m) << m.error().text();
  EXPECT_EQ(m->requested, gib(2));
  EXPECT_EQ(m->gpu, 0);
  EXPECT_EQ(m->total, gib(15.78));
  EXPECT_EQ(m->free, gib(1.09));
  EXPECT_EQ(m->allocated, gib(13.03));
  EXPECT_EQ(m->reserved(), gib(13.45));
  EXPECT_EQ(m->process, std::nullopt);
  EXPECT_EQ(m->context(), std::nullopt);
  EXPECT_EQ(m->unexplained(), gib(15.78) - gib(1.09) - gib(13.45));  // context and others together
}

TEST(OutOfMemoryMessage, OfTheFirstFormat) {
  const auto m = parse_out_of_memory(
      "RuntimeError: CUDA out of memory. Tried to allocate 1024.00 KiB (GPU 3; 11.17 GiB total capacity; "
      "10.90 GiB "
      "already allocated; 576.00 KiB free; 30.96 MiB cached)");
  ASSERT_TRUE(m) << m.error().text();
  EXPECT_EQ(m->requested, mib(1));
  EXPECT_EQ(m->gpu, 3);
  EXPECT_EQ(m->free, Bytes(576 * 1024));
  EXPECT_EQ(m->unallocated, mib(30.96));
}

TEST(OutOfMemoryMessage, MisspeltIn21WithBytes) {
  const auto m = parse_out_of_memory(
      "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total "
      "capacty of 4.00 GiB "
      "of which 0 bytes is free. Of the allocated memory 512 bytes is allocated by PyTorch, and 0 bytes is "
      "reserved by "
      "PyTorch but unallocated.");
  ASSERT_TRUE(m) << m.error().text();
  EXPECT_EQ(m->total, gib(4));
  EXPECT_EQ(m->free, Bytes());
  EXPECT_EQ(m->allocated, Bytes(512));
  EXPECT_EQ(m->unallocated, Bytes());
  EXPECT_EQ(m->fragmentation(), 0.0);
}

TEST(OutOfMemoryMessage, UnderAMemoryFractionWithPrivatePools) {
  const auto m = parse_out_of_memory(
      "CUDA out of memory. Tried to allocate 1.00 GiB. GPU 1 has a total capacity of 139.80 GiB of which "
      "120.00 GiB is "
      "free. Including non-PyTorch memory, this process has 19.20 GiB memory in use. 18.00 GiB allowed; Of "
      "the allocated "
      "memory 17.50 GiB is allocated by PyTorch, with 2.25 GiB allocated in private pools (e.g., CUDA "
      "Graphs), and "
      "102.00 MiB is reserved by PyTorch but unallocated.");
  ASSERT_TRUE(m) << m.error().text();
  EXPECT_EQ(m->gpu, 1);
  EXPECT_EQ(m->allowed, gib(18));
  EXPECT_EQ(m->private_pools, gib(2.25));
  EXPECT_EQ(m->allocated, gib(17.5));
  EXPECT_EQ(m->unallocated, mib(102));
}

TEST(OutOfMemoryMessage, AllowedInTheOldFormat) {
  const auto m = parse_out_of_memory(
      "CUDA out of memory. Tried to allocate 64.00 MiB (GPU 0; 15.78 GiB total capacity; 7.10 GiB already "
      "allocated; 7.90 "
      "GiB free; 7.89 GiB allowed; 7.85 GiB reserved in total by PyTorch)");
  ASSERT_TRUE(m) << m.error().text();
  EXPECT_EQ(m->allowed, gib(7.89));
  EXPECT_EQ(m->free, gib(7.9));
  EXPECT_EQ(m->reserved(), gib(7.85));
}

TEST(OutOfMemoryMessage, ManyProcesses) {
  const auto m = parse_out_of_memory(
      "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 42.00 MiB. GPU 0 has a total capacity "
      "of 47.27 GiB of "
      "which 9.38 MiB is free. Process 644963 has 5.59 MiB memory in use. Process 2925282 has 312.00 MiB "
      "memory in use. "
      "Process 3053273 has 29.04 GiB memory in use. Process 3120922 has 14.74 GiB memory in use. Including "
      "non-PyTorch "
      "memory, this process has 3.14 GiB memory in use. Of the allocated memory 2.92 GiB is allocated by "
      "PyTorch, and "
      "34.62 MiB is reserved by PyTorch but unallocated.");
  ASSERT_TRUE(m) << m.error().text();
  ASSERT_EQ(m->processes.size(), 4u);
  EXPECT_EQ(m->processes[2], (OutOfMemory::Process{3053273, gib(29.04)}));
  EXPECT_FALSE(m->process_recognised);
}

TEST(OutOfMemoryMessage, InAContainerTheNamedProcessIsThisOne) {
  const auto m = parse_out_of_memory(
      "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 224.00 MiB. GPU  has a total "
      "capacity of 44.34 "
      "GiB of which 160.81 MiB is free. Process 47694 has 44.17 GiB memory in use. Of the allocated memory "
      "43.36 GiB is "
      "allocated by PyTorch, and 396.27 MiB is reserved by PyTorch but unallocated.");
  ASSERT_TRUE(m) << m.error().text();
  EXPECT_EQ(m->gpu, std::nullopt);
  EXPECT_TRUE(m->process_recognised);
  EXPECT_EQ(m->process, gib(44.17));
  EXPECT_TRUE(m->processes.empty());
}

TEST(OutOfMemoryMessage, AMD) {
  const auto m = parse_out_of_memory(
      "torch.OutOfMemoryError: HIP out of memory. Tried to allocate 6.00 GiB. GPU 0 has a total capacity of "
      "23.98 GiB of "
      "which 3.90 GiB is free. Of the allocated memory 18.05 GiB is allocated by PyTorch, and 1.44 GiB is "
      "reserved by "
      "PyTorch but unallocated.");
  ASSERT_TRUE(m) << m.error().text();
  EXPECT_EQ(m->requested, gib(6));
}

TEST(OutOfMemoryMessage, WhatTheDriverDoesNotTellIsAbsent) {
  const auto m = parse_out_of_memory(
      "CUDA out of memory. Tried to allocate 20.00 MiB. GPU 0 has a total capacity of 8.00 GiB of which 0 "
      "bytes is free. "
      "Including non-PyTorch memory, this process has 17179869184.00 GiB memory in use. Of the allocated "
      "memory 7.00 GiB "
      "is allocated by PyTorch, and 100.00 MiB is reserved by PyTorch but unallocated.");
  ASSERT_TRUE(m) << m.error().text();
  EXPECT_EQ(m->process, std::nullopt);
  EXPECT_EQ(m->allocated, gib(7));
}

/// Broken after every `width` characters, even within words and numbers, with `prefix` before each line.
std::string broken(std::string_view text, std::size_t width, std::string_view prefix) {
  std::string out;
  for (; !text.empty(); text.remove_prefix(std::min(width, text.size())))
    out += std::string(prefix) + std::string(text.substr(0, width)) + "\n";
  return out;
}

TEST(OutOfMemoryMessage, HoweverItIsBrokenIntoLines) {
  for (const std::string_view prefix :
       {"", "  ", "[rank0]: ", "> ", "[rank1]:[E 2024-06-17] ", "\x1b[31m",
        "2024-06-17T13:18:29.371622Z ERROR ", "2024-06-17 13:18:29,371 ERROR: "})
    for (std::size_t width = 30; width < 120; ++width) {
      const auto m = parse_out_of_memory(broken(kNew, width, prefix));
      ASSERT_TRUE(m) << prefix << width << ": " << m.error().text();
      EXPECT_EQ(*m, expected_of_new()) << prefix << width;
    }
}

TEST(OutOfMemoryMessage, TheLastOneOfALogCounts) {
  const std::string log =
      "step 1 loss 2.3\nCUDA out of memory. Tried to allocate 5.00 GiB. GPU 7 has a total capacity\n" +
      std::string("retrying with batch 8\n") + std::string(kNew) + "\n\nRan out of memory twice.\n";
  const auto m = parse_out_of_memory(log);
  ASSERT_TRUE(m) << m.error().text();
  EXPECT_EQ(*m, expected_of_new());
}

TEST(OutOfMemoryMessage, CutOffKeepsWhatThereIs) {
  const auto m = parse_out_of_memory(kNew.substr(0, 130));
  ASSERT_TRUE(m) << m.error().text();
  EXPECT_EQ(m->requested, mib(20));
  EXPECT_EQ(m->total, gib(79.15));
  EXPECT_EQ(m->free, std::nullopt);
  EXPECT_EQ(m->unexplained(), std::nullopt);
  for (std::size_t length = 0; length < kNew.size(); ++length)
    (void)parse_out_of_memory(kNew.substr(0, length));
}

TEST(OutOfMemoryMessage, WithoutOneIsAnError) {
  for (const std::string_view log :
       {"", "\n\n", "all is well",
        "DefaultCPUAllocator: can't allocate memory: you tried to allocate 8 bytes",
        "CUDA error: out of memory", "RuntimeError: CUDA out of memory."}) {
    const auto m = parse_out_of_memory(log);
    ASSERT_FALSE(m) << log;
    EXPECT_THAT(m.error().message, HasSubstr("no out-of-memory message"));
  }
}

TEST(OutOfMemoryMessage, ASizeThatIsNoneIsAnError) {
  for (const std::string_view size :
       {"", "much", "-1 GiB", "nan GiB", "inf GiB", "1e5 GiB", "12 parsecs", ". MiB", "0x10 MiB"})
    EXPECT_FALSE(
        parse_out_of_memory("CUDA out of memory. Tried to allocate " + std::string(size) + ". GPU 0 has"))
        << size;
}

TEST(OutOfMemoryMessage, SizesBeyond63BitsAreRefused) {
  for (const std::string& size :
       {std::string("8589934592.00 GiB"), std::string("9999999999 TiB"), std::string(5000, '9') + " MiB"}) {
    const auto m =
        parse_out_of_memory("CUDA out of memory. Tried to allocate " + size + ". GPU 0 has a total capacity");
    ASSERT_FALSE(m) << size;
    EXPECT_THAT(m.error().message, HasSubstr("2^63"));
    EXPECT_FALSE(parse_out_of_memory(
        "CUDA out of memory. Tried to allocate 1 GiB. GPU 0 has a total capacity of " + size));
  }
  EXPECT_TRUE(parse_out_of_memory("CUDA out of memory. Tried to allocate 8589934591.00 GiB. GPU 0"));
}

TEST(OutOfMemoryMessage, HostileLogsTakeLinearTime) {
  const auto repeated = [](std::string_view text, std::size_t bytes) {
    std::string out;
    while (out.size() < bytes) out += text;
    return out;
  };
  const auto begin = std::chrono::steady_clock::now();
  for (const std::string_view piece :
       {"CUDA out of memory. Tried to allocate ", "Process 1 has ", "[", "> ", "9", "\n", "\x1b[", "[[[]",
        "Process 1 has 1 GiB memory in use. ", "out of memory. "}) {
    (void)parse_out_of_memory(repeated(piece, 4'000'000));
    (void)parse_out_of_memory("CUDA out of memory. Tried to allocate 1 GiB. " + repeated(piece, 4'000'000));
  }
  // Linear: a second or so. Quadratic: days, on any machine.
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::minutes(4));
}

}  // namespace
}  // namespace plimsoll::estimate
