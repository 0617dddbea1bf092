#include "report/oom_report.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace plimsoll::report {
namespace {

using estimate::OutOfMemory;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using Kind = Advice::Kind;

constexpr Bytes gib(std::int64_t n) {
  return n * kGiB;
}

/// 16 GiB, of which tensors have 10, the allocator's cache `cached`, the context 1, and 1 is free.
OutOfMemory message(std::int64_t requested, std::int64_t cached = 0) {
  OutOfMemory m;
  m.requested = gib(requested);
  m.gpu = 0;
  m.total = gib(16);
  m.free = gib(1);
  m.allocated = gib(10);
  m.unallocated = gib(cached);
  m.process = gib(11 + cached);
  return m;
}

std::vector<Kind> kinds(const OutOfMemory& m) {
  std::vector<Kind> out;
  for (const Advice& advice : advise(m)) out.push_back(advice.kind);
  return out;
}

TEST(OutOfMemoryAdvice, FollowsFromTheNumbers) {
  EXPECT_THAT(kinds(message(2)), ElementsAre(Kind::needs_less));
  EXPECT_THAT(kinds(message(17)), ElementsAre(Kind::too_large));
  EXPECT_THAT(kinds(message(3, 4)), ElementsAre(Kind::fragmentation, Kind::needs_less));
  EXPECT_THAT(kinds(message(1)), ElementsAre(Kind::enough_was_free, Kind::needs_less));

  OutOfMemory shared = message(3);
  shared.processes = {{1, gib(1)}, {4711, gib(3)}};
  EXPECT_THAT(kinds(shared), ElementsAre(Kind::other_process, Kind::needs_less));
  EXPECT_THAT(advise(shared)[0].text, HasSubstr("Process 4711 uses 3.00 GiB"));

  OutOfMemory limited = message(1);
  limited.allowed = gib(10);
  EXPECT_THAT(kinds(limited), ElementsAre(Kind::limit, Kind::needs_less));

  OutOfMemory graphs = message(2);
  graphs.private_pools = gib(2);
  EXPECT_THAT(kinds(graphs), ElementsAre(Kind::private_pools, Kind::needs_less));

  OutOfMemory lent = message(2);
  lent.allocated = gib(20);
  EXPECT_THAT(kinds(lent), ElementsAre(Kind::beyond_device, Kind::needs_less));

  EXPECT_THAT(kinds(OutOfMemory{.requested = gib(1)}), ElementsAre(Kind::needs_less));
}

TEST(OutOfMemoryAdvice, RoomOfTheAllocator) {
  EXPECT_EQ(allocator_room(message(2, 4)), gib(15));
  OutOfMemory limited = message(2);
  limited.allowed = gib(8);
  EXPECT_EQ(allocator_room(limited), gib(8));
  EXPECT_EQ(allocator_room(OutOfMemory{.requested = gib(1)}), std::nullopt);
}

TEST(OutOfMemoryText, ShowsWhatFilledTheMemory) {
  OutOfMemory m = message(2, 1);
  m.processes = {{4711, gib(2)}};
  const std::string text = out_of_memory_text({m}, {.width = 35});
  EXPECT_THAT(text, ::testing::StartsWith(
                        "PyTorch asked for 2.00 GiB on GPU 0 and\nfound 1.00 GiB free of 16.0 GiB\n"));
  EXPECT_THAT(text, HasSubstr("  ####################..::oooo??  |\n"));
  EXPECT_THAT(text, HasSubstr("# allocated in tensors   10.0 GiB   62.5 %\n"));
  EXPECT_THAT(text, HasSubstr("o process 4711           2.00 GiB   12.5 %\n"));
  EXPECT_THAT(text, HasSubstr("? unexplained            1.00 GiB    6.2 %\n"));
  EXPECT_THAT(text, HasSubstr("  - "));
}

TEST(OutOfMemoryText, SaysWhatTheMessageDoesNot) {
  OutOfMemory m = message(2);
  m.process.reset();
  EXPECT_THAT(out_of_memory_text({m}, {}), HasSubstr("? context and others"));
  const std::string least = out_of_memory_text({OutOfMemory{.requested = gib(1)}}, {});
  EXPECT_THAT(least, ::testing::StartsWith("PyTorch asked for 1.00 GiB\n"));
  EXPECT_THAT(least, Not(HasSubstr("|")));
}

TEST(OutOfMemoryJson, HasEveryFieldOrNull) {
  const auto json = to_json(OutOfMemoryReport{message(2, 1)});
  EXPECT_EQ(json.at("reserved_bytes"), gib(11).count());
  EXPECT_EQ(json.at("context_bytes"), gib(1).count());
  EXPECT_EQ(json.at("others_bytes"), gib(3).count());
  EXPECT_EQ(json.at("unexplained_bytes"), gib(3).count());
  EXPECT_TRUE(json.at("allowed_bytes").is_null());
  EXPECT_EQ(json.at("advice").back().at("kind"), "needs less");
  EXPECT_FALSE(json.contains("memory"));
}

}  // namespace
}  // namespace plimsoll::report
