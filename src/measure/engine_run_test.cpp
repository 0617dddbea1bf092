#include "measure/engine_run.hpp"

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/files.hpp"
#include "measure/engine_program.hpp"

namespace plimsoll::measure {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr const char* kHello =
    R"(echo '{"type":"hello","torch":"1","device":"cpu","device_name":"x","threads":1,"process":1}')";
constexpr const char* kDone = R"(echo '{"type":"done"}')";

class EngineRun : public testing::Test {
 protected:
  void SetUp() override {
    auto made = TemporaryDirectory::make();
    ASSERT_TRUE(made);
    folder_ = std::move(*made);
    job_.network.graphs.emplace_back();
  }
  /// A shell script that stands in for an engine.
  [[nodiscard]] fs::path engine(std::initializer_list<std::string_view> lines) const {
    const fs::path path = folder_->path() / "plimsoll-engine";
    {
      std::ofstream script(path);
      script << "#!/bin/sh\n";
      for (const std::string_view line : lines) script << line << '\n';
    }
    ::chmod(path.c_str(), 0755);
    return path;
  }
  Result<EngineEnd> run(std::initializer_list<std::string_view> lines) {
    listener_.on_answer = [this](const job::Answer& answer) { answers_.push_back(answer); };
    return run_engine(engine(lines), job_, limits_, listener_);
  }
  std::string failure(std::initializer_list<std::string_view> lines) {
    const Result<EngineEnd> end = run(lines);
    EXPECT_FALSE(end);
    if (end) return "";
    EXPECT_EQ(end.error().kind, Error::Kind::internal);
    return end.error().text() + " / " + end.error().hint;
  }

  std::optional<TemporaryDirectory> folder_;
  job::Job job_;
  EngineLimits limits_;
  EngineListener listener_;
  std::vector<job::Answer> answers_;
};

TEST_F(EngineRun, GetsTheJobAndIsHeard) {
  const Result<EngineEnd> end = run({kHello, "grep -q '\"version\":1' \"$1\" || exit 3", kDone});
  ASSERT_TRUE(end) << end.error().text();
  EXPECT_EQ(*end, EngineEnd::finished);
  ASSERT_EQ(answers_.size(), 2U);
  EXPECT_TRUE(std::holds_alternative<job::Hello>(answers_[0]));
  EXPECT_TRUE(std::holds_alternative<job::Done>(answers_[1]));
}

TEST_F(EngineRun, WhatItsExitCodeIsAfterItsLastWordDoesNotMatter) {
  EXPECT_TRUE(run({kHello, kDone, "kill -SEGV $$"}));
}

TEST_F(EngineRun, TheEndWithoutALastWordIsAFailure) {
  EXPECT_THAT(failure({kHello}), HasSubstr("exited with code 0 before it was done"));
  EXPECT_THAT(failure({kHello, "echo one >&2; echo two >&2; kill -SEGV $$"}),
              testing::AllOf(HasSubstr("signal 11"), HasSubstr("it said last: | one | two")));
}

TEST_F(EngineRun, OnlyTheLastLinesOfItsErrorsAreShown) {
  const std::string said = failure({kHello, "for i in 1 2 3 4 5 6 7 8 9; do echo line$i >&2; done; exit 1"});
  EXPECT_THAT(said, HasSubstr("line9"));
  EXPECT_THAT(said, testing::Not(HasSubstr("line4")));
}

TEST_F(EngineRun, NonsenseEndsItAtOnce) {
  EXPECT_THAT(failure({kHello, "echo 'nonsense'", "sleep 60"}), HasSubstr("not an answer: 'nonsense'"));
  EXPECT_THAT(failure({"echo '{\"type\":\"window\",\"begin\":true,\"passes\":0,\"seconds\":0}'", "sleep 60"}),
              HasSubstr("which engine it is"));
}

TEST_F(EngineRun, SilenceAndSlownessHaveLimits) {
  limits_.silence = std::chrono::milliseconds(200);
  EXPECT_THAT(failure({kHello, "sleep 60"}), HasSubstr("said nothing for 200 ms"));
  limits_.silence = std::chrono::seconds(300);
  limits_.whole = std::chrono::milliseconds(200);
  EXPECT_THAT(failure({kHello, "sleep 60"}), HasSubstr("was not done after 200 ms"));
}

TEST_F(EngineRun, MayBeInterrupted) {
  listener_.interrupted = [this] { return !answers_.empty(); };
  const Result<EngineEnd> end = run({kHello, "sleep 60"});
  ASSERT_TRUE(end) << end.error().text();
  EXPECT_EQ(*end, EngineEnd::interrupted);
}

TEST_F(EngineRun, AnEngineIsFoundByNameBesideOrInPath) {
  const fs::path path = engine({"exit 0"});
  const EngineSearch nowhere{.named = {}, .beside = "/nonexistent", .search_path = "/nonexistent"};
  EXPECT_EQ(*find_engine({.named = path.string(), .beside = {}, .search_path = {}}), path);
  EXPECT_EQ(*find_engine({.named = {}, .beside = folder_->path(), .search_path = "/nonexistent"}), path);
  EXPECT_EQ(*find_engine({.named = {}, .beside = "/nonexistent", .search_path = folder_->path().string()}),
            path);
  const auto missing = find_engine(nowhere);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().kind, Error::Kind::machine_lacks);
  EXPECT_THAT(missing.error().hint, HasSubstr("make engine"));
  EXPECT_FALSE(find_engine({.named = "/nonexistent/engine", .beside = folder_->path(), .search_path = {}}));
}

}  // namespace
}  // namespace plimsoll::measure
