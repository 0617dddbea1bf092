#include "probe/sharing_run.hpp"

#include <cstdlib>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.hpp"

namespace plimsoll::probe {
namespace {

namespace fs = std::filesystem;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

class SharingRun : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(folder_);
    path_ = std::getenv("PATH");
    const fs::path fakes = fs::path(PLIMSOLL_SOURCE_DIR) / "tests/fixtures/fake_mps";
    ASSERT_EQ(::setenv("PATH", (fakes.string() + ":" + path_).c_str(), 1), 0);
    ASSERT_EQ(::setenv("PLIMSOLL_FAKE_MPS_LOG", log().c_str(), 1), 0);
  }
  void TearDown() override {
    ::setenv("PATH", path_.c_str(), 1);
    for (const char* name : {"PLIMSOLL_FAKE_CUDA", "PLIMSOLL_FAKE_MPS", "PLIMSOLL_FAKE_MPS_LOG"})
      ::unsetenv(name);
  }
  [[nodiscard]] fs::path log() const { return folder_->path() / "told"; }
  [[nodiscard]] std::string told() const { return read_file(log(), 4096).value_or(""); }
  Result<SharingStudy> study() {
    return study_sharing(
        fs::path(PLIMSOLL_SOURCE_DIR) / "tests/fixtures/fake_cuda.py", 0,
        [](std::string_view, double done) { EXPECT_LE(done, 1); }, [this] { return interrupted_; });
  }
  static std::optional<double> figure(const SharingStudy& study, std::string_view name) {
    for (const SharingFigure& figure : study.findings.figures)
      if (figure.name == name) return figure.value;
    return std::nullopt;
  }

  Result<TemporaryDirectory> folder_ = TemporaryDirectory::make();
  std::string path_;
  bool interrupted_ = false;
};

TEST_F(SharingRun, MeasuresTurnsAndMpsAndEndsIt) {
  const Result<SharingStudy> found = study();
  ASSERT_TRUE(found) << found.error().text();
  EXPECT_FALSE(found->interrupted);
  EXPECT_EQ(found->device.name, "NVIDIA H200");
  ASSERT_EQ(found->findings.figures.size(), 6U) << testing::PrintToString(found->findings.remarks);
  EXPECT_NEAR(*figure(*found, "slice"), 2e-3, 1e-9);
  EXPECT_NEAR(*figure(*found, "change"), 1.5e-4, 1e-9);
  EXPECT_NEAR(*figure(*found, "client_launch"), 0.5e-6, 1e-9);
  EXPECT_NEAR(*figure(*found, "crowded_launch"), 0, 1e-12);
  EXPECT_EQ(told(), "start GPU-0\nquit\n");
  // The stand-in's watcher takes turns even when it is alone.
  EXPECT_THAT(found->findings.remarks, Contains(HasSubstr("another process uses the GPU")));
}

TEST_F(SharingRun, WithoutMpsItsFiguresAreLeftOutAndSaid) {
  ::setenv("PLIMSOLL_FAKE_MPS", "refuses", 1);
  const Result<SharingStudy> found = study();
  ASSERT_TRUE(found) << found.error().text();
  EXPECT_EQ(found->findings.figures.size(), 2U);
  EXPECT_THAT(found->findings.remarks, Contains(HasSubstr("no permission to start")));
}

TEST_F(SharingRun, WithoutAGpuTheMachineLacksOne) {
  ::setenv("PLIMSOLL_FAKE_CUDA", "no-device", 1);
  const Result<SharingStudy> found = study();
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().kind, Error::Kind::machine_lacks);
  EXPECT_EQ(told(), "");
}

TEST_F(SharingRun, MayBeInterrupted) {
  interrupted_ = true;
  const Result<SharingStudy> found = study();
  ASSERT_TRUE(found) << found.error().text();
  EXPECT_TRUE(found->interrupted);
  EXPECT_THAT(found->findings.figures, IsEmpty());
}

}  // namespace
}  // namespace plimsoll::probe
