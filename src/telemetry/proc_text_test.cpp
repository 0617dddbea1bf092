#include "telemetry/proc_text.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plimsoll::telemetry {
namespace {

constexpr std::string_view kTail =
    "1 1 0 -1 4194560 1 2 3 4 70 30 5 6 20 0 9 0 8812 123456789 250 18446744073709551615";

TEST(ProcText, ReadsAProcess) {
  const auto stat = parse_process_stat(std::string("4242 (python3) R 17 ") + std::string(kTail) + "\n");
  ASSERT_TRUE(stat);
  EXPECT_EQ(stat->pid, 4242);
  EXPECT_EQ(stat->state, 'R');
  EXPECT_EQ(stat->parent, 17);
  EXPECT_EQ(stat->own_ticks, 100U);
  EXPECT_EQ(stat->children_ticks, 11U);
  EXPECT_EQ(stat->threads, 9U);
  EXPECT_EQ(stat->start, 8812U);
  EXPECT_EQ(stat->resident_pages, 250U);
}

TEST(ProcText, ANameMayPretendToBeTheRest) {
  for (const char* name : {"a) R 1 (b", "x) Z 0 0", "((((", "))))", "new\nline", ""}) {
    const auto stat = parse_process_stat("9 (" + std::string(name) + ") S 17 " + std::string(kTail));
    ASSERT_TRUE(stat) << name;
    EXPECT_EQ(stat->state, 'S') << name;
    EXPECT_EQ(stat->parent, 17) << name;
  }
}

TEST(ProcText, BrokenTextIsNoProcess) {
  const std::string whole = "4242 (python3) R 17 " + std::string(kTail);
  EXPECT_FALSE(parse_process_stat(""));
  EXPECT_FALSE(parse_process_stat("()"));
  EXPECT_FALSE(parse_process_stat(")("));
  EXPECT_FALSE(parse_process_stat("abc (x) R 1 " + std::string(kTail)));
  EXPECT_FALSE(parse_process_stat("1 (x) R 99999999999999999999999 " + std::string(kTail)));
  // Wherever it is cut, it is a process or none, and nothing is read beyond its end.
  for (std::size_t length = 0; length < whole.size(); ++length) {
    const std::string cut = whole.substr(0, length);
    const auto stat = parse_process_stat(cut);
    EXPECT_TRUE(!stat || stat->own_ticks == 100) << cut;
  }
}

TEST(ProcText, ReadsNumbersAfterKeysAtTheBeginningOfALine) {
  const std::string_view text = "SwapTotal:  8 kB\nXMemFree: 1 kB\nMemFree:     123 kB\n";
  EXPECT_EQ(number_after(text, "MemFree:"), 123U);
  EXPECT_EQ(number_after(text, "SwapTotal:"), 8U);
  EXPECT_EQ(number_after(text, "MemTotal:"), std::nullopt);
  EXPECT_EQ(number_after("MemFree: much\n", "MemFree:"), std::nullopt);
}

TEST(ProcText, BusyIsNeitherIdleNorWaitingNorStolen) {
  EXPECT_EQ(parse_busy_ticks("cpu  10 20 30 4000 500 6 7 80 0 0\ncpu0 1 2 3\n"), 73U);
  EXPECT_EQ(parse_busy_ticks("cpu  10 20 30\n"), 60U) << "kernels before 2.6";
  EXPECT_FALSE(parse_busy_ticks("intr 1 2 3\n"));
  EXPECT_FALSE(parse_busy_ticks(""));
}

TEST(ProcText, PressureIsTheTimeThatSomeWaited) {
  EXPECT_EQ(parse_pressure("some avg10=3.99 avg60=1.73 avg300=0.66 total=10731751846\n"
                           "full avg10=0.00 avg60=0.00 avg300=0.00 total=5\n"),
            10731751846U);
  EXPECT_FALSE(parse_pressure("full avg10=0.00 total=5\n"));
  EXPECT_FALSE(parse_pressure(""));
}

TEST(ProcText, SumsTheDevicesThatAreTaken) {
  const std::string_view disks =
      "   8       0 sda 100 1 2000 3 200 4 4000 5 0 6 7\n"
      "   8       1 sda1 100 1 2000 3 200 4 4000 5 0 6 7\n"
      " 259       0 nvme0n1 1 1 10 3 2 4 20 5 0 6 7 0 0 0 0 0 0\n"
      "broken\n";
  const auto moved = parse_disks(disks, [](std::string_view name) { return name != "sda1"; });
  ASSERT_TRUE(moved);
  EXPECT_EQ(moved->in, 2010U * 512);
  EXPECT_EQ(moved->out, 4020U * 512);
  EXPECT_FALSE(parse_disks(disks, [](std::string_view) { return false; }));
}

TEST(ProcText, ReadsNetworkInterfacesWithAndWithoutABlank) {
  const std::string_view text =
      "Inter-|   Receive                                                |  Transmit\n"
      " face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs\n"
      "    lo: 999 1 0 0 0 0 0 0 999 1 0 0 0 0 0 0\n"
      "  eth0:1000 7 0 0 0 0 0 0 300 5 0 0 0 0 0 0\n"
      "eth0:1: 1 7 0 0 0 0 0 0 2 5 0 0 0 0 0 0\n";
  const auto moved = parse_network(text, [](std::string_view name) { return name != "lo"; });
  ASSERT_TRUE(moved);
  EXPECT_EQ(moved->in, 1001U);
  EXPECT_EQ(moved->out, 302U);
}

}  // namespace
}  // namespace plimsoll::telemetry
