// What docs/telemetry.md says of how often sources are read is what the code does.
#include <map>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/files.hpp"
#include "telemetry/sampler.hpp"
#include "telemetry/sources.hpp"

namespace plimsoll::telemetry {
namespace {

std::string document() {
  const Result<std::string> text = read_file(PLIMSOLL_SOURCE_DIR "/docs/telemetry.md", std::size_t{1} << 20);
  EXPECT_TRUE(text);
  return text.value_or("");
}

/// The rows "| 20 ms | `gpu_power` | …" by source.
std::map<std::string, std::string> told_periods(const std::string& text) {
  std::map<std::string, std::string> out;
  std::size_t at = text.find("| Every | Source |");
  const std::size_t end = std::min(text.find("\n\n", at), text.size());
  while ((at = text.find("\n| ", at)) < end) {
    at += 3;
    const std::size_t bar = text.find(" | `", at), close = text.find("` |", bar);
    if (bar < end && close < end) out[text.substr(bar + 4, close - bar - 4)] = text.substr(at, bar - at);
  }
  return out;
}

TEST(Periods, AreThoseOfTheDocuments) {
  const auto told = told_periods(document());
  EXPECT_EQ(told.size(), kSources.size());
  for (const SourceRow& row : kSources) {
    const auto found = told.find(std::string(row.name));
    ASSERT_NE(found, told.end()) << row.name << " is not in the table";
    const std::string period =
        row.period < 1 ? fmt::format("{:.0f} ms", 1000 * row.period) : fmt::format("{:g} s", row.period);
    EXPECT_EQ(found->second, period) << row.name;
  }
}

TEST(Periods, OfOtherPlacesInTheDocumentAreTheSame) {
  const std::string text = document();
  const std::string energy = fmt::format("NVML's counter every {:g} s", period_of(Source::gpu_energy)),
                    sharing = fmt::format("in an interval ({:g} s)", period_of(Source::gpu_sharing)),
                    frames = fmt::format("Frames come {:g} times a second", SamplerOptions().rate),
                    most = fmt::format("up to {:g} times", kHighestRate),
                    retry = fmt::format("again after {:g} s", kRetry);
  for (const std::string& words : {energy, sharing, frames, most, retry})
    EXPECT_NE(text.find(words), std::string::npos) << words;
}

}  // namespace
}  // namespace plimsoll::telemetry
