#include "estimate/memory/trace.hpp"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plimsoll::estimate {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::int64_t kMiB = 1 << 20;

std::string refusal(std::string_view json) {
  const auto trace = read_trace(json);
  EXPECT_FALSE(trace) << json;
  return trace ? std::string() : trace.error().text();
}

std::string with_event(std::string_view event) {
  return R"({"version": 1, "events": [)" + std::string(event) + "]}";
}

TEST(ReadTrace, WhatItHolds) {
  const auto trace = read_trace(R"({
    "version": 1, "device": "NVIDIA H200", "torch": "2.11.0",
    "settings": {"expandable_segments": true, "max_split_size": 67108864},
    "peak_allocated_bytes": 1024, "peak_reserved_bytes": 2097152, "reserved_before_bytes": 512,
    "events": [["segment_alloc", 4096, 2097152, 0], ["alloc", 4096, 1000, 0], ["free_requested", 4096, 1000, 0],
               ["free", 4096, 1000, 0], ["snapshot", 0, 0, 0]]})");
  ASSERT_TRUE(trace) << trace.error().text();
  ASSERT_EQ(trace->events.size(), 2U);  // what the allocator does of itself is left out
  EXPECT_TRUE(trace->events[0].allocates);
  EXPECT_EQ(trace->events[0].address, 4096U);
  EXPECT_EQ(trace->events[0].bytes, 1000);
  EXPECT_FALSE(trace->events[1].allocates);
  EXPECT_THAT(trace->segments, ElementsAre(4096U));
  EXPECT_TRUE(trace->expandable_segments);
  EXPECT_EQ(trace->max_split_size, 64 * kMiB);
  EXPECT_EQ(trace->peak_allocated, 1024);
  EXPECT_EQ(trace->peak_reserved, 2 * kMiB);
  EXPECT_EQ(trace->reserved_before, 512);
  EXPECT_EQ(trace->device, "NVIDIA H200");
  EXPECT_EQ(trace->torch, "2.11.0");

  const AllocatorSettings settings = settings_of(*trace);
  EXPECT_TRUE(settings.options.expandable_segments);
  EXPECT_TRUE(settings.caching);
  EXPECT_EQ(settings.options.max_split_size, 64 * kMiB);
  EXPECT_EQ(settings.capacity, AllocatorSettings().capacity);
}

TEST(ReadTrace, WhatMayBeMissing) {
  const auto trace = read_trace(R"({"version": 1, "events": []})");
  ASSERT_TRUE(trace) << trace.error().text();
  EXPECT_TRUE(trace->events.empty());
  EXPECT_FALSE(trace->expandable_segments);
  EXPECT_EQ(trace->peak_allocated, std::nullopt);
  EXPECT_EQ(trace->reserved_before, 0);
  EXPECT_EQ(settings_of(*trace), AllocatorSettings());  // -1, no limit, is the greatest of all limits
}

TEST(ReadTrace, OtherVersionsAreRefused) {
  EXPECT_THAT(refusal(R"({"version": 2, "events": []})"), HasSubstr("version 2"));
  EXPECT_THAT(refusal(R"({"events": []})"), HasSubstr("version"));
  EXPECT_THAT(refusal(R"({"version": "1", "events": []})"), HasSubstr("version"));
  EXPECT_THAT(refusal(R"({"version": -1, "events": []})"), HasSubstr("version"));
}

TEST(ReadTrace, OtherDocumentsAreRefused) {
  EXPECT_THAT(refusal(""), HasSubstr("not the JSON document"));
  EXPECT_THAT(refusal("[1, 2]"), HasSubstr("not the JSON document"));
  EXPECT_THAT(refusal(R"({"version": 1, "events": [)"), HasSubstr("not the JSON document"));
  EXPECT_THAT(refusal(R"({"version": 1})"), HasSubstr("no list of events"));
  EXPECT_THAT(refusal(R"({"version": 1, "events": {"a": 1}})"), HasSubstr("no list of events"));
}

TEST(ReadTrace, MalformedEventsAreNamed) {
  EXPECT_THAT(refusal(with_event(R"(["alloc", 1, 2, 0], 7)")), HasSubstr("event 1 "));
  EXPECT_THAT(refusal(with_event(R"(["alloc", 1])")), HasSubstr("event 0 "));
  EXPECT_THAT(refusal(with_event(R"([1, 2, 3])")), HasSubstr("event 0 "));
  EXPECT_THAT(refusal(with_event(R"(["alloc", "0x10", 3])")), HasSubstr("event 0 "));
  EXPECT_THAT(refusal(with_event(R"(["alloc", -5, 3])")), HasSubstr("event 0 "));
  EXPECT_THAT(refusal(with_event(R"(["alloc", 1, 1.5])")), HasSubstr("event 0 "));
}

TEST(ReadTrace, NegativeSizesAreRefused) {
  EXPECT_THAT(refusal(with_event(R"(["alloc", 1, -512, 0])")), HasSubstr("negative"));
  EXPECT_FALSE(read_trace(with_event(R"(["alloc", 1, 18446744073709551615, 0])")));  // is -1 in 64 bits
}

TEST(ReadTrace, OneStreamOnly) {
  EXPECT_THAT(refusal(with_event(R"(["alloc", 1, 512, 0], ["alloc", 2, 512, 7])")),
              HasSubstr("second stream"));
  EXPECT_TRUE(read_trace(with_event(R"(["alloc", 1, 512, 7], ["free", 1, 512, 7])")));
}

TEST(ReadTrace, DeepNestingIsOnlyRefused) {
  constexpr std::size_t kDeep = 1'000'000;
  EXPECT_FALSE(read_trace(std::string(kDeep, '[')));
  EXPECT_FALSE(read_trace(std::string(kDeep, '[') + std::string(kDeep, ']')));
  EXPECT_FALSE(read_trace(with_event(std::string(kDeep, '[') + std::string(kDeep, ']'))));
  std::string objects;
  for (std::size_t i = 0; i < kDeep / 10; ++i) objects += R"({"events":)";
  EXPECT_FALSE(read_trace(objects));
}

TEST(ReadTrace, ManyEventsAreRead) {
  std::string events;
  for (int i = 0; i < 50'000; ++i)
    events += (i > 0 ? "," : "") + std::string(i % 2 == 0 ? R"(["alloc",64,512,0])" : R"(["free",64,512,0])");
  const auto trace = read_trace(with_event(events));
  ASSERT_TRUE(trace) << trace.error().text();
  EXPECT_EQ(trace->events.size(), 50'000U);
  EXPECT_EQ(replay(*trace, {}).peak_allocated, 512);
}

TEST(ReplayTrace, PeaksOfAHandMadeTrace) {
  AllocationTrace trace;
  trace.events = {
      {true, 0x1000, 12 * kMiB},                               // a segment of 12 MiB
      {true, 0x2000, 700},                                     // 1024 B in a segment of 2 MiB
      {true, 0x3000, 30 * kMiB},                               // the most is allocated: 42 MiB and 1024 B
      {false, 0x3000, 30 * kMiB}, {true, 0x4000, 20 * kMiB},   // from the cached 30 MiB
      {false, 0x1000, 12 * kMiB}, {true, 0x1000, 40 * kMiB}};  // the address again: 60 MiB and 1024 B
  const TraceReplay result = replay(trace, {});
  EXPECT_EQ(result.peak_allocated, 60 * kMiB + 1024);
  EXPECT_EQ(result.peak_reserved, (12 + 2 + 30 + 40) * kMiB);
  EXPECT_EQ(result.peak_event, 6U);
  EXPECT_EQ(result.failed, std::nullopt);
  EXPECT_EQ(result.unmatched_frees, 0U);
}

TEST(ReplayTrace, FreesOfWhatWasThereBefore) {
  AllocationTrace trace;
  trace.events = {{false, 0x9000, 512}, {true, 0x1000, 512}, {false, 0x1000, 512}, {false, 0x1000, 512}};
  const TraceReplay result = replay(trace, {});
  EXPECT_EQ(result.unmatched_frees, 2U);
  EXPECT_EQ(result.peak_allocated, 512);
  EXPECT_EQ(result.peak_event, 1U);
}

TEST(ReplayTrace, ACapacityThatIsTooSmall) {
  AllocationTrace trace;
  trace.events = {{true, 1, 12 * kMiB}, {true, 2, 20 * kMiB}, {true, 3, 12 * kMiB}};
  const TraceReplay result = replay(trace, {.capacity = 34 * kMiB});
  EXPECT_EQ(result.failed, 2U);
  EXPECT_EQ(result.peak_allocated, 32 * kMiB);
  EXPECT_EQ(replay(trace, {.capacity = 44 * kMiB}).failed, std::nullopt);
}

TEST(ReplayTrace, SegmentsLieWhereTheyLay) {
  // A 20 MiB segment at `first` holds 2 MiB, then 4 MiB that are freed with 2 MiB behind them; so does one at
  // `second`. The next 4 MiB come from the segment at the lower address. Then all but the blocks at the front
  // of the first segment are freed, and memory is short: the second segment can go back only if the 4 MiB are
  // not in it.
  const auto fails = [](std::uint64_t first, std::uint64_t second) {
    AllocationTrace trace;
    trace.segments = {first, second};
    trace.events = {{true, 1, 9 * kMiB}, {true, 2, 4 * kMiB}, {true, 3, 7 * kMiB},  // fills the first
                    {true, 4, 9 * kMiB}, {true, 5, 4 * kMiB}, {true, 6, 7 * kMiB},  // and the second
                    {false, 2, 0},       {false, 5, 0},       {true, 7, 4 * kMiB},  // a tie
                    {false, 4, 0},       {false, 6, 0},       {true, 8, 30 * kMiB}};
    return replay(trace, {.capacity = 50 * kMiB}).failed.has_value();
  };
  EXPECT_FALSE(fails(0x50000000, 0x90000000));
  EXPECT_TRUE(fails(0x90000000, 0x50000000));
}

}  // namespace
}  // namespace plimsoll::estimate
