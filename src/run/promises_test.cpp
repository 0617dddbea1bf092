// What docs/store.md says a run can lose is what the code's constants say.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/files.hpp"
#include "run/recorder.hpp"
#include "store/store.hpp"

namespace plimsoll::running {
namespace {

std::string span_text(std::chrono::milliseconds span) {
  return span.count() % 1000 == 0 ? fmt::format("{} s", span.count() / 1000)
                                  : fmt::format("{} ms", span.count());
}

std::string grouped(std::size_t number) {
  std::string out = fmt::format("{}", number);
  for (std::size_t at = out.size(); at > 3; at -= 3) out.insert(at - 3, ",");
  return out;
}

/// The line of the document's table that begins with these words.
std::string row_of(const std::string& text, const std::string& words) {
  const std::size_t at = text.find("\n| " + words);
  EXPECT_NE(at, std::string::npos) << words;
  return at == std::string::npos ? "" : text.substr(at + 1, text.find('\n', at + 1) - at - 1);
}

TEST(Promises, OfTheStoresDocumentAreTheRecorders) {
  const Result<std::string> text = read_file(PLIMSOLL_SOURCE_DIR "/docs/store.md", std::size_t{1} << 20);
  ASSERT_TRUE(text);
  const RecorderOptions recorder;
  const store::OpenOptions store;
  const auto expect = [&](const std::string& row, const std::string& words) {
    EXPECT_NE(row.find(words), std::string::npos) << "'" << words << "' is not in: " << row;
  };
  const std::string metrics = row_of(*text, "the command's metrics otherwise");
  expect(metrics, "within the last " + span_text(recorder.metrics_interval));
  expect(metrics, grouped(recorder.most_pending) + " points");
  expect(row_of(*text, "samples of the hardware"), "the last " + span_text(recorder.frames_interval));
  expect(row_of(*text, "status, end and outcome"), "tried again for " + span_text(recorder.patience));
  expect(*text, "waits up to " + span_text(store.busy_timeout) + " for a lock");
  expect(*text, "are taken is tried again for " + span_text(recorder.refused.patience));
}

TEST(Promises, OfTelemetrysDocumentAreTheRecorders) {
  const Result<std::string> text = read_file(PLIMSOLL_SOURCE_DIR "/docs/telemetry.md", std::size_t{1} << 20);
  ASSERT_TRUE(text);
  EXPECT_NE(text->find("record, within " + span_text(RecorderOptions().frames_interval)), std::string::npos);
}

}  // namespace
}  // namespace plimsoll::running
