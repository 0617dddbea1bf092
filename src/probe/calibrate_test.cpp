#include "probe/calibrate.hpp"

#include <algorithm>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/files.hpp"
#include "hardware/device_file.hpp"
#include "probe/operator_names.hpp"

namespace plimsoll::probe {
namespace {

namespace fs = std::filesystem;
using hardware::OperatorCase;
using testing::HasSubstr;

/// Answers every case with a time that follows from its first extent. Dies of the first whose first extent is
/// in the file "fatal", once "crashes" allows it; gives no time for extent 13; is a hundred times slower with
/// the extent in "disturbed" the first time; says that it runs on what "machine" says.
constexpr const char* kEngine = R"(#!/usr/bin/env python3
import json, os, sys
folder = os.path.dirname(os.path.abspath(sys.argv[0]))
job = json.load(open(sys.argv[1]))
def read(name, otherwise):
    path = os.path.join(folder, name)
    return open(path).read().strip() if os.path.exists(path) else otherwise
with open(os.path.join(folder, 'starts'), 'a') as file:
    file.write('%d\n' % len(job['cases']))
def say(**answer):
    print(json.dumps(answer), flush=True)
say(type='hello', torch='9.9', device='cpu', device_name=read('machine', 'Imagined CPU'), threads=2, process=1)
fatal = int(read('fatal', '-1'))
disturbed = int(read('disturbed', '-1')) if not read('again', '') else -1
open(os.path.join(folder, 'again'), 'w').write('1')
for case in job['cases']:
    first = case['extents'][0]
    if first == fatal:
        os.abort()
    if first == 13:
        say(type='point', failure='out of memory', **case)
    else:
        say(type='point', seconds=1e-6 * first * (100 if first == disturbed else 1), spread=0.01, **case)
if fatal == 0:
    say(type='error', message='the device is gone', where='', hint='', kind='machine-lacks')
else:
    say(type='done')
)";

class Calibrate : public testing::Test {
 protected:
  void SetUp() override {
    auto made = TemporaryDirectory::make();
    ASSERT_TRUE(made);
    folder_ = std::move(*made);
    request_.engine = put("plimsoll-engine", kEngine);
    ::chmod(request_.engine.c_str(), 0755);
    request_.device.id = "own";
    request_.device.name = "Own";
    request_.device.vendor = "me";
    request_.output = folder_->path() / "own.json";
    request_.date = "2026-11-15";
    for (std::int64_t n = 1; n <= 20; ++n)
      request_.cases.push_back(
          {hardware::OperatorClass::unary, hardware::Direction::forward, hardware::Arithmetic::fp32, {n}});
  }
  fs::path put(const std::string& name, std::string_view text) const {
    const fs::path path = folder_->path() / name;
    std::ofstream(path) << text;
    return path;
  }
  [[nodiscard]] std::string read(const std::string& name) const {
    return read_file(folder_->path() / name, 1 << 20).value_or("");
  }
  [[nodiscard]] fs::path partial() const { return folder_->path() / "own.json.partial"; }

  std::optional<TemporaryDirectory> folder_;
  CalibrationRequest request_;
  CalibrationListener listener_;
};

TEST_F(Calibrate, WritesADeviceFileWithAllPoints) {
  request_.ceilings = {{"launch-kernel", hardware::DeviceFigure{2e-6}, "s"}};
  std::size_t told = 0;
  listener_.on_progress = [&](const CalibrationProgress& p) {
    EXPECT_EQ(p.done, ++told);
    EXPECT_EQ(p.of, 20u);
  };
  const auto outcome = calibrate(request_, listener_);
  ASSERT_TRUE(outcome && *outcome) << outcome.error().text();
  EXPECT_EQ((*outcome)->calibration.points.size(), 19u);
  EXPECT_EQ((*outcome)->failed, 1u);
  EXPECT_EQ(told, 20u);
  EXPECT_FALSE(fs::exists(partial()));
  const auto device = hardware::load_file(request_.output);
  ASSERT_TRUE(device) << device.error().text();
  ASSERT_TRUE(device->calibration);
  const auto& written = device->calibration->points;
  ASSERT_EQ(written.size(), 19u);
  for (std::size_t i = 0; i < written.size(); ++i) {
    EXPECT_EQ(written[i].what, (*outcome)->calibration.points[i].what);
    EXPECT_DOUBLE_EQ(written[i].seconds, 1e-6 * static_cast<double>(written[i].what.extents[0]));
  }
  EXPECT_EQ(device->calibration->ceilings.size(), 1u);
  EXPECT_THAT(device->calibration->versions, testing::Contains("PyTorch 9.9"));
  EXPECT_EQ(device->calibration->fits.size(), 1u);
}

TEST_F(Calibrate, APointOfACpuThatStandsOutIsTakenAgain) {
  put("disturbed", "9");
  const auto outcome = calibrate(request_, listener_);
  ASSERT_TRUE(outcome && *outcome) << outcome.error().text();
  for (const hardware::OperatorPoint& point : (*outcome)->calibration.points)
    EXPECT_DOUBLE_EQ(point.seconds, 1e-6 * static_cast<double>(point.what.extents[0]));
  EXPECT_GT(std::ranges::count(read("starts"), '\n'), 1) << "another engine was asked";
}

TEST_F(Calibrate, GoesOnAfterACrashWithoutTheCaseItDiedOf) {
  put("fatal", "7");
  const auto outcome = calibrate(request_, listener_);
  ASSERT_TRUE(outcome && *outcome) << outcome.error().text();
  EXPECT_EQ((*outcome)->calibration.points.size(), 18u);
  EXPECT_EQ((*outcome)->failed, 2u);
  EXPECT_EQ(read("starts"), "20\n13\n");
}

TEST_F(Calibrate, InterruptedAndContinuedLosesNothing) {
  int points = 0;
  listener_.on_progress = [&](const CalibrationProgress&) { ++points; };
  listener_.interrupted = [&] { return points >= 1; };
  put("plimsoll-engine", std::string(kEngine).replace(std::string_view(kEngine).find("    if first == 13"), 0,
                                                      "    import time; time.sleep(0.03)\n"));
  const auto first = calibrate(request_, listener_);
  ASSERT_TRUE(first) << first.error().text();
  EXPECT_FALSE(*first);
  EXPECT_FALSE(fs::exists(request_.output));
  std::ofstream(partial(), std::ios::app) << R"({"type":"point","cla)";  // torn by a power cut
  const int before = points;
  ASSERT_GE(before, 1);
  ASSERT_LT(before, 20);
  listener_.interrupted = {};
  const auto second = calibrate(request_, listener_);
  ASSERT_TRUE(second && *second) << second.error().text();
  EXPECT_GE((*second)->continued, static_cast<std::size_t>(before));
  EXPECT_EQ((*second)->calibration.points.size(), 19u);
}

TEST_F(Calibrate, IsNotContinuedOnAnotherMachine) {
  put("own.json.partial",
      R"({"type":"hello","torch":"9.9","device":"cpu","device_name":"Another CPU","threads":2,"process":1})"
      "\n");
  const auto outcome = calibrate(request_, listener_);
  ASSERT_FALSE(outcome);
  EXPECT_THAT(outcome.error().text(), HasSubstr("begun on Another CPU; this is Imagined CPU"));
}

TEST_F(Calibrate, ADamagedJournalIsRefusedWithItsLine) {
  put("own.json.partial", "{\"type\":\"done\"}\nnonsense\n");
  const auto outcome = calibrate(request_, listener_);
  ASSERT_FALSE(outcome);
  EXPECT_THAT(outcome.error().text(), HasSubstr("own.json.partial: line 2"));
}

TEST_F(Calibrate, AnEngineThatNeverGivesAPointIsGivenUp) {
  put("plimsoll-engine", R"(#!/bin/sh
echo '{"type":"hello","torch":"9","device":"cpu","device_name":"x","threads":1,"process":1}'
echo '{"type":"error","message":"the device is gone","where":"","hint":"","kind":"machine-lacks"}')");
  const auto outcome = calibrate(request_, listener_);
  ASSERT_FALSE(outcome);
  EXPECT_THAT(outcome.error().text(), HasSubstr("the device is gone"));
  EXPECT_EQ(outcome.error().kind, Error::Kind::machine_lacks);
}

TEST_F(Calibrate, AnEngineThatCannotStartIsAnErrorAtOnce) {
  put("plimsoll-engine", "#!/bin/sh\nexit 5\n");
  const auto outcome = calibrate(request_, listener_);
  ASSERT_FALSE(outcome);
  EXPECT_THAT(outcome.error().text(), HasSubstr("exited with code 5"));
}

TEST(Journal, PointsOfNoClassAreRefused) {
  std::size_t whole = 0;
  const auto gathered = read_journal(
      R"({"type":"point","class":"magic","direction":"forward","arithmetic":"fp32","extents":[1],"seconds":1})"
      "\n",
      whole);
  ASSERT_FALSE(gathered);
  EXPECT_THAT(gathered.error().text(), HasSubstr("line 1"));
}

}  // namespace
}  // namespace plimsoll::probe
