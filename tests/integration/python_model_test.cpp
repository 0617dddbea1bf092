// A person's own PyTorch module, handed to the program as FILE.py:function.
#include <cstdlib>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/process.hpp"

namespace plimsoll {
namespace {

const char* python() {
  const char* given = std::getenv("PLIMSOLL_PYTHON");
  return given != nullptr && *given != '\0' ? given : "/usr/bin/python3";
}

ProcessOutput start(std::vector<std::string> argv) {
  ProcessOptions options;
  options.argv = std::move(argv);
  options.environment = {{"PLIMSOLL_PYTHON", python()}};
  options.timeout = std::chrono::minutes(4);
  const Result<ProcessOutput> output = run(options);
  if (output) return *output;
  ProcessOutput failed;
  failed.error = output.error().text();
  failed.exit_code = 127;
  return failed;
}

const std::string kModel = PLIMSOLL_SOURCE_DIR "/tests/fixtures/two_layers.py:make_model";

class PythonModel : public testing::Test {
 protected:
  void SetUp() override {
    if (!start({python(), "-c", "import torch"}).succeeded()) GTEST_SKIP() << python() << " has no PyTorch";
  }
};

TEST_F(PythonModel, IsWeighed) {
  const ProcessOutput got =
      start({PLIMSOLL_PROGRAM, "weigh", kModel, "--input", "3x32x32", "--device", "t4"});
  EXPECT_TRUE(got.succeeded()) << got.outcome() << got.error;
  // 3 x 8 x 9 weights and 8 biases; 8 x 10 and 10
  EXPECT_NE(got.output.find("314 parameters"), std::string::npos) << got.output;
}

TEST_F(PythonModel, IsCounted) {
  const ProcessOutput got = start({PLIMSOLL_PROGRAM, "inspect", kModel, "--input", "3x32x32", "--json"});
  ASSERT_TRUE(got.succeeded()) << got.outcome() << got.error;
  const auto json = nlohmann::json::parse(got.output);
  EXPECT_EQ(json.at("parameters"), 314);
  EXPECT_EQ(json.at("macs"), 8 * 32 * 32 * 27 + 80);
  EXPECT_EQ(json.at("coverage").at("nodes"), json.at("coverage").at("counted"));
}

TEST_F(PythonModel, ThatIsNotThereIsBadInput) {
  const ProcessOutput got =
      start({PLIMSOLL_PROGRAM, "weigh", PLIMSOLL_SOURCE_DIR "/tests/fixtures/two_layers.py:absent", "--input",
             "3x32x32", "--device", "t4"});
  EXPECT_EQ(got.exit_code, 2) << got.error;
  EXPECT_EQ(got.output, "");
  EXPECT_NE(got.error.find("absent"), std::string::npos) << got.error;
}

}  // namespace
}  // namespace plimsoll
