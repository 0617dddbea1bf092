#include "job/answer.hpp"

#include <cmath>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plimsoll::job {
namespace {

using testing::HasSubstr;

class EveryAnswer : public testing::TestWithParam<Answer> {};

TEST_P(EveryAnswer, ComesBackFromItsLine) {
  const std::string line = write(GetParam());
  EXPECT_EQ(line.find('\n'), line.npos);
  const Result<Answer> again = read_answer(line);
  ASSERT_TRUE(again) << again.error().text();
  EXPECT_EQ(*again, GetParam());
}

const double kInfinity = std::numeric_limits<double>::infinity();

INSTANTIATE_TEST_SUITE_P(
    Lines, EveryAnswer,
    testing::Values(
        Answer(Hello{"2.11.0", "cuda:0", "NVIDIA H200", "12.8", "9.1", "GPU-1", 16, 4242}),
        Answer(Hello{"1.13.1", "cpu", "some\nCPU \xff", {}, {}, {}, 2, 1}),
        Answer(Unsupported{{{"STFT", 2, "no kernel"}, {"com.example:Odd", 1, ""}}}),
        Answer(Prepared{120, {{"attention", 12}, {"gelu", 12}}, 3, 4, "oneDNN"}), Answer(Context{{}, 100}),
        Answer(Context{500, 100}), Answer(Loaded{1.25, 97 << 20, 25'557'032, 100 << 20, 5, true}),
        Answer(Loaded{0, 0, 0, {}, 0, false}), Answer(Progress{"warm-up", 0.25, 12.5}),
        Answer(Progress{"cold", 0, {}}), Answer(Window{true, 0, 0}), Answer(Sample{0.25}),
        Answer(Point{{"matrix", "forward", "bf16", {64, 128, 256, 1}}, 1e-5, 0.01, 4096, {}}),
        Answer(Point{{"softmax", "forward", "fp32", {8, 9}}, {}, {}, {}, "out of memory"}),
        Answer(LaidOut{{4096, 12}, {{{{1e-3, {0}}, {2e-3, {0, 1}}}, 512}, {}}, 5.5e10, 7e-6}),
        Answer(Swapped{{{3, 0.25, 0.5}, {1, 0.5, 0.75}}, 8192, 4096, 8192, 4096, 2, 1e-6, 0.75, 0, 99}),
        Answer(Launch{4e-6}), Answer(ChainTime{"bf16", 48, 1e-4, 1.5e-4}), Answer(Window{false, 120, 3.25}),
        Answer(Layers{{{"conv1", "Conv", 1e-5}, {"", "Relu", 0}}, 1e-3, 1.1e-3, 1e-7, 30}),
        Answer(Measured{0.5,
                        {0.1, 0.05},
                        {0.04, 0.0401},
                        4,
                        "narrow",
                        "events",
                        true,
                        {1 << 20, 2 << 20, 3 << 20, 4 << 20, 5 << 20},
                        kInfinity}),
        Answer(Measured{0.5, {}, {}, 1, "time", "host", false, {1, {}, {}, {}, 2}, {}}),
        Answer(Latencies{{0.1, 0.2}, 0.35, 2, 2}),
        Answer(Epoch{3, {2.5, -kInfinity}, 12, 0.88, 1.5, 0.25, 0.5}),
        Answer(Epoch{0, {}, 0, {}, {}, {}, {}}), Answer(Learned{2, 400, {0.5, kInfinity}, 0.01, 128, 0.25}),
        Answer(Saved{400, 2, "out/save.safetensors"}), Answer(WentOn{400, 2}),
        Answer(Tested{50, 0.84, 0.5, 0.25}), Answer(Tested{}),
        Answer(DoesNotFit{"running", 1, 2, 3, 4, 5, "CUDA out of memory."}),
        Answer(DoesNotFit{"loading", {}, {}, {}, {}, {}, ""}),
        Answer(Failure{"no such device", "cuda:9", "see nvidia-smi", "machine-lacks"}), Answer(Done{})));

TEST(Answer, ALossThatIsNoNumberSurvives) {
  Measured measured;
  measured.loss = std::numeric_limits<double>::quiet_NaN();
  const Result<Answer> again = read_answer(write(Answer(measured)));
  ASSERT_TRUE(again) << again.error().text();
  EXPECT_TRUE(std::isnan(*std::get<Measured>(*again).loss));
}

TEST(Answer, ATimeThatIsNoNumberIsRefused) {
  Measured measured;
  measured.samples = {0.1, std::numeric_limits<double>::quiet_NaN()};
  EXPECT_THAT(read_answer(write(Answer(measured))).error().text(), HasSubstr("measured: samples"));
  measured.samples = {-1};
  EXPECT_THAT(read_answer(write(Answer(measured))).error().text(), HasSubstr("measured: samples"));
}

TEST(Answer, UnknownFieldsArePassedOver) {
  const Result<Answer> answer = read_answer(R"({"type": "done", "later": [1, {"a": 2}]})");
  ASSERT_TRUE(answer) << answer.error().text();
  EXPECT_TRUE(std::holds_alternative<Done>(*answer));
}

TEST(Answer, OtherLinesAreRefusedWithTheReason) {
  EXPECT_THAT(read_answer("Loading…").error().text(), HasSubstr("not JSON"));
  EXPECT_THAT(read_answer("").error().text(), HasSubstr("not JSON"));
  EXPECT_THAT(read_answer("[]").error().text(), HasSubstr("is not an object"));
  EXPECT_THAT(read_answer(R"({"type": 3})").error().text(), HasSubstr("type: is not text"));
  EXPECT_THAT(read_answer("{\"type\": \"sudo\\u001b[2J\"}").error().text(), HasSubstr("'sudo\\x1b[2J'"));
  EXPECT_THAT(read_answer(R"({"type": "window", "begin": 1, "passes": 0, "seconds": 0})").error().text(),
              HasSubstr("window: begin: is neither true nor false"));
  EXPECT_THAT(read_answer(R"({"type": "measured"})").error().text(), HasSubstr("is missing"));
  EXPECT_THAT(read_answer(std::string(1000, '{')).error().text(), HasSubstr("nested deeper"));
}

}  // namespace
}  // namespace plimsoll::job
