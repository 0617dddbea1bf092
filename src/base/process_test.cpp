#include "base/process.hpp"

#include <csignal>
#include <stdexcept>
#include <thread>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.hpp"

namespace plimsoll {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::HasSubstr;

ProcessOptions shell(std::string script) {
  return {.argv = {"sh", "-c", std::move(script)}};
}

std::size_t open_descriptors() {
  const std::filesystem::directory_iterator entries("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(entries), end(entries)));
}

TEST(Process, GivesBackBothStreamsAndTheExitCode) {
  const auto result = run(shell("echo out; echo err >&2; exit 3"));
  ASSERT_TRUE(result);
  EXPECT_EQ(result->output, "out\n");
  EXPECT_EQ(result->error, "err\n");
  EXPECT_EQ(result->exit_code, 3);
  EXPECT_FALSE(result->succeeded());
  EXPECT_EQ(result->outcome(), "exited with code 3");
}

TEST(Process, PassesArgumentsUntouchedByAShell) {
  const auto result = run({.argv = {"printf", "%s|", "a b", "$HOME", "*", ""}});
  EXPECT_EQ(result.value().output, "a b|$HOME|*||");
}

TEST(Process, AddsToTheEnvironmentAndReplacesInIt) {
  auto options = shell("echo $ADDED $HOME");
  options.environment = {{"ADDED", "one"}, {"HOME", "/nowhere"}};
  EXPECT_EQ(run(options).value().output, "one /nowhere\n");
}

TEST(Process, RunsInTheDirectoryAsked) {
  auto options = shell("pwd");
  options.directory = "/";
  EXPECT_EQ(run(options).value().output, "/\n");
  options.directory = "/no/such/place";
  EXPECT_THAT(run(options).error().text(), HasSubstr("No such file"));
}

TEST(Process, ReadsNothingFromItsInput) {
  EXPECT_EQ(run({.argv = {"cat"}}).value().output, "");
}

TEST(Process, SaysWhichProgramIsMissing) {
  const auto result = run({.argv = {"no-such-program-here"}});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, Error::Kind::machine_lacks);
  EXPECT_EQ(result.error().message, "the program no-such-program-here is not in PATH");
  EXPECT_EQ(run({.argv = {"/no/such/program"}}).error().kind, Error::Kind::machine_lacks);
  EXPECT_FALSE(run({.argv = {}}));
  EXPECT_FALSE(run({.argv = {"/"}})) << "a directory is no program";
}

TEST(Process, IsFoundInThePathItWillHave) {
  const auto place = TemporaryDirectory::make();
  const auto script = place->path() / "plimsoll-test-script";
  ASSERT_TRUE(write_file(script, "#!/bin/sh\necho found\n"));
  std::filesystem::permissions(script, std::filesystem::perms::owner_all);
  const auto result =
      run({.argv = {"plimsoll-test-script"}, .environment = {{"PATH", place->path().string()}}});
  EXPECT_EQ(result.value().output, "found\n");
}

TEST(Process, ReportsTheSignalThatEndedIt) {
  const auto result = run(shell("kill -SEGV $$"));
  ASSERT_TRUE(result);
  EXPECT_EQ(result->signal, SIGSEGV);
  EXPECT_FALSE(result->succeeded());
  EXPECT_THAT(result->outcome(), HasSubstr("signal 11"));
}

TEST(Process, TakesLargeOutputOnBothStreamsWithoutStandingStill) {
  // Far more than a pipe holds, one stream after the other and both at once.
  const auto result =
      run(shell("head -c 3000000 /dev/zero >&2; head -c 3000000 /dev/zero; head -c 2000000 /dev/zero >&2 & "
                "head -c 2000000 /dev/zero; wait"));
  ASSERT_TRUE(result);
  EXPECT_EQ(result->output.size(), 5'000'000U);
  EXPECT_EQ(result->error.size(), std::size_t{1} << 20);
  EXPECT_FALSE(result->output_truncated);
  EXPECT_TRUE(result->error_truncated);
}

TEST(Process, KeepsTheBeginningOfOutputAndTheEndOfErrors) {
  auto options = shell("printf 0123456789; printf 0123456789 >&2");
  options.output_limit = 4;
  options.error_limit = 4;
  const auto result = run(options);
  EXPECT_EQ(result->output, "0123");
  EXPECT_EQ(result->error, "6789");
  EXPECT_TRUE(result->output_truncated);
  EXPECT_TRUE(result->error_truncated);
}

TEST(Process, HandsOnLinesAsTheyCome) {
  std::vector<std::string> errors;
  std::vector<std::string> outputs;
  auto options = shell("echo one >&2; printf 'tw' >&2; sleep 0.05; echo o >&2; printf last >&2; echo '{}'");
  options.on_error_line = [&](std::string_view line) { errors.emplace_back(line); };
  options.on_output_line = [&](std::string_view line) { outputs.emplace_back(line); };
  ASSERT_TRUE(run(options));
  EXPECT_THAT(errors, ElementsAre("one", "two", "last"));
  EXPECT_THAT(outputs, ElementsAre("{}"));
}

/// What comes of a command that is ended after a time, where that was enough for it to say its first line: a
/// machine may be busy, and is then given more.
Result<ProcessOutput> run_until_timeout(ProcessOptions options) {
  for (milliseconds timeout(200);; timeout *= 2) {
    options.timeout = timeout;
    Result<ProcessOutput> result = run(options);
    if (!result || result->output.ends_with('\n') || timeout > std::chrono::minutes(2)) return result;
  }
}

TEST(Process, IsEndedWithItsChildrenAfterTheTimeout) {
  const auto result = run_until_timeout(shell("sleep 1000 & echo $!; wait"));
  ASSERT_TRUE(result);
  EXPECT_TRUE(result->timed_out);
  EXPECT_EQ(result->outcome(), "ran longer than allowed and was ended");
  const auto end_of_line = result->output.find('\n');
  ASSERT_NE(end_of_line, std::string::npos) << "the shell did not come to start its child";
  // The grandchild is gone, or a corpse that its new parent has not yet buried; on a busy machine the signal
  // takes a while.
  const std::string file = "/proc/" + result->output.substr(0, end_of_line) + "/stat";
  const auto ended = [&] {
    const auto state = read_file(file, 4096);
    return !state || state->find(") Z ") != std::string::npos;
  };
  for (int i = 0; i < 6000 && !ended(); ++i) std::this_thread::sleep_for(milliseconds(50));
  EXPECT_TRUE(ended());
}

TEST(Process, IsKilledWhereItIgnoresTheRequestToEnd) {
  auto options = shell("trap '' TERM; echo ready; while :; do sleep 0.05; done");
  options.grace = milliseconds(100);
  const auto result = run_until_timeout(options);
  ASSERT_TRUE(result);
  EXPECT_TRUE(result->timed_out);
  EXPECT_EQ(result->signal, SIGKILL);
  EXPECT_EQ(result->output, "ready\n");
}

TEST(Process, IsEndedWhileItFloodsItsOutput) {
  const auto result = run(
      {.argv = {"yes"}, .timeout = milliseconds(100), .grace = std::chrono::minutes(5), .output_limit = 10});
  ASSERT_TRUE(result);
  EXPECT_TRUE(result->timed_out);
  EXPECT_EQ(result->signal, SIGTERM);
}

TEST(Process, ThatClosedItsStreamsIsStillWaitedFor) {
  const auto result = run(shell("exec >&- 2>&-; sleep 0.1; exit 5"));
  EXPECT_EQ(result->exit_code, 5);
}

TEST(Process, DoesNotWaitForChildrenThatOutliveIt) {
  const auto result = run(shell("sleep 1000 & echo $!"));
  ASSERT_TRUE(result);
  const pid_t child = std::stoi(result->output);
  EXPECT_EQ(::kill(child, SIGKILL), 0) << "it lives on";
}

TEST(Process, InheritsNoDescriptorsAndLeavesNone) {
  const int leaky = ::open("/dev/null", O_RDONLY);  // without O_CLOEXEC, as a careless library would
  const auto before = open_descriptors();
  const auto result = run(shell("ls /proc/$$/fd"));
  EXPECT_EQ(open_descriptors(), before);
  ::close(leaky);
  EXPECT_EQ(result.value().output, "0\n1\n2\n");
}

TEST(Process, IsNotLeftRunningByACallbackThatThrows) {
  auto options = shell("echo $$ >&2; sleep 60");
  std::string pid;
  options.on_error_line = [&](std::string_view line) {
    pid = line;
    throw std::runtime_error("enough");
  };
  EXPECT_THROW((void)run(options), std::runtime_error);
  EXPECT_FALSE(std::filesystem::exists("/proc/" + pid));
}

TEST(Process, ReadsWhatItIsGiven) {
  const auto echoed = run({.argv = {"cat"}, .input = "two\nlines\n"});
  ASSERT_TRUE(echoed) << echoed.error().text();
  EXPECT_EQ(echoed->output, "two\nlines\n");
  EXPECT_EQ(run({.argv = {"cat"}})->output, "") << "without input there is nothing to wait for";
  EXPECT_FALSE(run({.argv = {"cat"}, .input = std::string(1 << 20, 'x')}));
}

TEST(Process, EndsWhenTheCallerSaysSo) {
  bool seen = false;
  const auto result = run({.argv = {"/bin/sh", "-c", "echo begun; sleep 1000 & wait"},
                           .on_output_line = [&seen](std::string_view line) { seen = line == "begun"; },
                           .should_end = [&seen] { return seen; }});
  ASSERT_TRUE(result) << result.error().text();
  EXPECT_TRUE(result->ended_early);
  EXPECT_FALSE(result->timed_out);
  EXPECT_FALSE(result->succeeded());
  EXPECT_EQ(result->outcome(), "was ended early");
}

TEST(Process, LongLinesComeWholeWhereTheCallerAllowsThem) {
  std::vector<std::size_t> lengths;
  const auto result = run({.argv = {"/bin/sh", "-c", "head -c 3000000 /dev/zero | tr '\\0' x"},
                           .on_output_line = [&](std::string_view line) { lengths.push_back(line.size()); },
                           .longest_line = 4'000'000});
  ASSERT_TRUE(result) << result.error().text();
  EXPECT_EQ(lengths, std::vector<std::size_t>{3'000'000});
}

}  // namespace
}  // namespace plimsoll
