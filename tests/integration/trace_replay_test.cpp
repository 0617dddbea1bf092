// Real trainings on an H200, recorded by plimsoll_torch, replayed by the program: the peaks must be PyTorch's
// own to the byte.
#include <filesystem>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/process.hpp"

namespace plimsoll::integration {
namespace {

TEST(TraceReplay, GivesTheRealPeaksToTheByte) {
  int traces = 0;
  for (const auto& file : std::filesystem::directory_iterator(std::filesystem::path(PLIMSOLL_SOURCE_DIR) /
                                                              "tests/fixtures/traces")) {
    const auto ran =
        run(ProcessOptions{.argv = {PLIMSOLL_PROGRAM, "replay", file.path().string(), "--json"}});
    ASSERT_TRUE(ran) << file.path();
    ASSERT_EQ(ran->exit_code, 0) << file.path() << ran->error;
    const auto answer = nlohmann::json::parse(ran->output);
    EXPECT_EQ(answer.at("peak_allocated_bytes"), answer.at("measured").at("peak_allocated_bytes"))
        << file.path();
    EXPECT_EQ(answer.at("peak_reserved_bytes"), answer.at("measured").at("peak_reserved_bytes"))
        << file.path();
    ++traces;
  }
  EXPECT_GE(traces, 5);
}

}  // namespace
}  // namespace plimsoll::integration
