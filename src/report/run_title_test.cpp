#include "report/run_title.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace plimsoll::report {
namespace {

using Words = std::vector<std::string>;

store::Run run_of(const Words& words, const std::string& name) {
  store::Run run;
  run.id = "3f2a91c0000000000000000000000001";
  run.name = name;
  if (!words.empty()) run.tags["plimsoll.command"] = nlohmann::json(words).dump();
  return run;
}

TEST(RunTitle, TheScriptIsNamedRatherThanWhatRunsIt) {
  EXPECT_EQ(script_line({"/usr/bin/python3.11", "-u", "src/train.py", "--lr", "0.1"}), "train.py --lr 0.1");
  EXPECT_EQ(script_line({"torchrun", "--nproc-per-node", "2", "train.py"}), "train.py");
  EXPECT_EQ(script_line({"python", "-m", "lab.train", "--name", "a b"}), "lab.train --name 'a b'");
  EXPECT_EQ(script_line({"uv", "run", "python", "train.py"}), "train.py");
  EXPECT_EQ(script_line({"bash", "/home/someone/run.sh", "x"}), "run.sh x");
  EXPECT_EQ(script_line({"./train.py", "--lr", "0.1"}), "train.py --lr 0.1");
}

TEST(RunTitle, OtherProgramsHaveTheirOwnName) {
  EXPECT_EQ(script_line({"/opt/lab/trainer", "--config", "settings.py"}), "trainer --config settings.py");
  EXPECT_EQ(script_line({"/usr/bin/python3", "-c", "print(1)", "x.py"}), "python3 -c 'print(1)' x.py");
  EXPECT_EQ(script_line({"/bin/sh", "-c", "python train.py"}), "sh -c 'python train.py'");
  EXPECT_EQ(script_line({"python3"}), "python3");
  EXPECT_EQ(script_line({}), "");
}

TEST(RunTitle, ANameThatSomebodyGaveComesFirst) {
  const Words words = {"/usr/bin/python3", "train.py", "--lr", "0.1"};
  EXPECT_EQ(run_title(run_of(words, "baseline")), "baseline");
  EXPECT_EQ(run_title(run_of(words, "python3")), "train.py --lr 0.1");
  EXPECT_EQ(run_title(run_of(words, "")), "train.py --lr 0.1");
  EXPECT_EQ(run_title(run_of({}, "gaudy-snail")), "gaudy-snail");
  EXPECT_EQ(run_title(run_of({}, "")), "3f2a91c0");
}

TEST(RunTitle, ACommandThatCannotBeReadIsNone) {
  store::Run run = run_of({}, "python3");
  for (const char* tag : {"", "python train.py", "[1, 2]", "[\"python\", 3]", "{\"a\": 1}", "[]"}) {
    run.tags["plimsoll.command"] = tag;
    EXPECT_TRUE(command_words(run).empty()) << tag;
    EXPECT_EQ(run_title(run), "python3") << tag;
  }
}

}  // namespace
}  // namespace plimsoll::report
