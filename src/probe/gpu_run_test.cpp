#include "probe/gpu_run.hpp"

#include <cstdlib>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/files.hpp"
#include "probe/gpu_program.hpp"

namespace plimsoll::probe {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;

constexpr const char* kDevice =
    R"(echo '{"type":"device","name":"X","uuid":"GPU-0","memory":1,"free":1,"sms":1,"l2":1,"capability":"9.0",)"
    R"("driver":"13.0","runtime":"13.0","library":""}')";
constexpr const char* kRate = R"(echo '{"type":"rate","name":"a","unit":"s","amount":1,"samples":[1]}')";
constexpr const char* kDone = R"(echo '{"type":"done"}')";

class CudaRunning : public testing::Test {
 protected:
  void SetUp() override {
    auto made = TemporaryDirectory::make();
    ASSERT_TRUE(made);
    folder_ = std::move(*made);
  }
  void TearDown() override { ::unsetenv("PLIMSOLL_FAKE_CUDA"); }

  /// The stand-in in Python, with what shall go wrong.
  Result<CudaRun> run_fake(const cuda::Job& job, const char* trouble = "") {
    ::setenv("PLIMSOLL_FAKE_CUDA", trouble, 1);
    return run_cuda(fs::path(PLIMSOLL_SOURCE_DIR) / "tests/fixtures/fake_cuda.py", job, limits_, listener_);
  }
  /// A shell script that stands in for it.
  [[nodiscard]] fs::path script(std::initializer_list<std::string_view> lines) const {
    const fs::path path = folder_->path() / "plimsoll-cuda";
    {
      std::ofstream out(path);
      out << "#!/bin/sh\n";
      for (const std::string_view line : lines) out << line << '\n';
    }
    ::chmod(path.c_str(), 0755);
    return path;
  }
  Result<CudaRun> run(std::initializer_list<std::string_view> lines) {
    return run_cuda(script(lines), {.task = cuda::Task::ceilings}, limits_, listener_);
  }
  std::string failure(std::initializer_list<std::string_view> lines) {
    const Result<CudaRun> found = run(lines);
    EXPECT_FALSE(found);
    return found ? "" : found.error().text() + " / " + found.error().hint;
  }

  std::optional<TemporaryDirectory> folder_;
  CudaLimits limits_;
  CudaListener listener_;
  const cuda::Job vecadd_{.task = cuda::Task::vecadd, .elements = {1'000'000}};
};

TEST_F(CudaRunning, AVectorAddBecomesFindings) {
  std::vector<std::string> phases;
  std::string device;
  listener_.on_progress = [&](const cuda::Progress& progress) { phases.push_back(progress.phase); };
  listener_.on_device = [&](const cuda::Device& found) { device = found.uuid; };
  const Result<CudaRun> run = run_fake(vecadd_);
  ASSERT_TRUE(run) << run.error().text();
  EXPECT_FALSE(run->failure);
  EXPECT_FALSE(run->interrupted);
  EXPECT_EQ(device, "GPU-0");
  EXPECT_EQ(run->device->multiprocessors, 132);
  EXPECT_EQ(phases.size(), 9U);
  const auto& adds = run->findings.vector_adds;
  ASSERT_EQ(adds.size(), 9U);
  EXPECT_EQ(adds[0].place, Place::gpu_copies);
  EXPECT_EQ(adds[0].workers, Workers::one_thread);
  EXPECT_EQ(adds[4].place, Place::gpu_managed);
  EXPECT_EQ(adds[4].workers, Workers::one_block);
  EXPECT_EQ(adds[8].place, Place::gpu_managed_prefetch);
  EXPECT_EQ(adds[8].workers, Workers::many_blocks);
  EXPECT_EQ(adds[8].elements, 1'000'000);
  EXPECT_TRUE(adds[8].right);
  EXPECT_EQ(adds[8].device, "NVIDIA H200");
  ASSERT_EQ(adds[0].parts.size(), 5U);
  EXPECT_EQ(adds[0].parts[1].name, "copy in");
  EXPECT_EQ(adds[0].parts[1].samples.size(), 7U);
  EXPECT_EQ(adds[4].parts.size(), 4U);  // nothing is copied in
  ASSERT_EQ(run->findings.rates.size(), 2U);
  EXPECT_EQ(run->findings.rates[0].name, "memory-device-copy");
  EXPECT_DOUBLE_EQ(*run->findings.rates[0].at, 8e6);
  EXPECT_THAT(run->findings.remarks, testing::ElementsAre("figures are made up"));
}

TEST_F(CudaRunning, MatrixProductsAndCeilingsBecomeFindings) {
  const Result<CudaRun> matmul = run_fake({.task = cuda::Task::matmul, .sizes = {512}});
  ASSERT_TRUE(matmul) << matmul.error().text();
  ASSERT_EQ(matmul->findings.products.size(), 3U);
  const MatrixProduct& library = matmul->findings.products[2];
  EXPECT_TRUE(library.gpu);
  EXPECT_TRUE(library.right);
  EXPECT_EQ(library.method, Method::library);
  EXPECT_EQ(library.size, 512);
  EXPECT_EQ(library.library, "cuBLASLt 13.1");
  EXPECT_DOUBLE_EQ(library.moved_bytes, 12.0 * 512 * 512);
  EXPECT_DOUBLE_EQ(library.largest_error, 3e-7);

  const Result<CudaRun> ceilings = run_fake({.task = cuda::Task::ceilings});
  ASSERT_TRUE(ceilings) << ceilings.error().text();
  EXPECT_EQ(ceilings->findings.rates.size(), 6U * 17 + 4 * 10 + 3 + 7 * 5);
}

TEST_F(CudaRunning, AWrongSumIsNoFailure) {
  const Result<CudaRun> run = run_fake(vecadd_, "wrong");
  ASSERT_TRUE(run);
  EXPECT_FALSE(run->findings.vector_adds[0].right);
}

TEST_F(CudaRunning, WithoutAGpuItFailsAsTheMachineLacksOne) {
  const Result<CudaRun> run = run_fake(vecadd_, "no-device");
  ASSERT_FALSE(run);
  EXPECT_EQ(run.error().kind, Error::Kind::machine_lacks);
  EXPECT_THAT(run.error().text(), HasSubstr("there is no NVIDIA driver"));
  EXPECT_THAT(run.error().hint, HasSubstr("nvidia-smi"));
}

TEST_F(CudaRunning, WhatWasFoundBeforeItBrokeStands) {
  for (const char* trouble : {"failure", "crash", "garbage"}) {
    const Result<CudaRun> run = run_fake(vecadd_, trouble);
    ASSERT_TRUE(run) << trouble << run.error().text();
    EXPECT_EQ(run->findings.vector_adds.size(), 1U) << trouble;
    ASSERT_TRUE(run->failure) << trouble;
    EXPECT_EQ(run->failure->kind, Error::Kind::internal);
    EXPECT_EQ(run->failure->where, "plimsoll-cuda");
  }
  EXPECT_THAT(run_fake(vecadd_, "failure")->failure->message, HasSubstr("illegal memory access"));
  const auto crash = run_fake(vecadd_, "crash");
  EXPECT_THAT(crash->failure->message, AllOf(HasSubstr("signal 11"), HasSubstr("one-thread")));
  EXPECT_THAT(crash->failure->hint, HasSubstr("something broke"));
  EXPECT_THAT(run_fake(vecadd_, "garbage")->failure->message, HasSubstr(R"(\x1b[2J)"));
}

TEST_F(CudaRunning, WhatItDoesAfterItsLastWordDoesNotMatter) {
  EXPECT_FALSE(run({kDevice, kRate, kDone, "kill -SEGV $$"})->failure);
  limits_.leave = std::chrono::milliseconds(100);
  const Result<CudaRun> run = run_fake({.task = cuda::Task::matmul, .sizes = {256}}, "linger");
  ASSERT_TRUE(run) << run.error().text();
  EXPECT_FALSE(run->failure);
}

TEST_F(CudaRunning, NonsenseBeforeTheFirstFigureIsAnError) {
  EXPECT_THAT(failure({"echo hello", "sleep 60"}), HasSubstr("not an answer: 'hello'"));
  EXPECT_THAT(failure({kRate, "sleep 60"}), HasSubstr("which GPU"));
  EXPECT_THAT(failure({kDevice}), HasSubstr("exited with code 0 before it was done"));
  EXPECT_THAT(failure({"exit 127"}), HasSubstr("exited with code 127"));
}

TEST_F(CudaRunning, AnswersWithoutEndAreEnded) {
  const Result<CudaRun> found =
      run({kDevice, fmt::format("yes \"{}\"", R"({\"type\":\"remark\",\"text\":\"x\"})")});
  ASSERT_FALSE(found);
  EXPECT_THAT(found.error().text(), HasSubstr("more than 20000 answers"));
}

TEST_F(CudaRunning, SilenceAndSlownessHaveLimits) {
  limits_.silence = std::chrono::milliseconds(200);
  EXPECT_THAT(failure({kDevice, "sleep 60"}), HasSubstr("said nothing for 200 ms"));
  limits_.silence = std::chrono::seconds(300);
  limits_.whole = std::chrono::milliseconds(200);
  EXPECT_THAT(failure({kDevice, "sleep 60"}), HasSubstr("was not done after 200 ms"));
}

TEST_F(CudaRunning, MayBeInterruptedAndKeepsWhatItHas) {
  bool begun = false;
  listener_.on_device = [&](const cuda::Device&) { begun = true; };
  listener_.interrupted = [&] { return begun; };
  const Result<CudaRun> found = run({kDevice, "sleep 60"});
  ASSERT_TRUE(found) << found.error().text();
  EXPECT_TRUE(found->interrupted);
  EXPECT_FALSE(found->failure);
}

TEST_F(CudaRunning, DevicesAreNumberedAsNvmlDoes) {
  EXPECT_TRUE(run({"test \"$CUDA_DEVICE_ORDER\" = PCI_BUS_ID || exit 3", kDevice, kRate, kDone}));
}

TEST_F(CudaRunning, TheProgramIsFoundByNameBesideOrInPath) {
  const fs::path path = script({"exit 0"});
  EXPECT_EQ(*find_cuda_program({.named = path.string()}), path);
  EXPECT_EQ(*find_cuda_program({.beside = folder_->path(), .search_path = "/nonexistent"}), path);
  EXPECT_EQ(*find_cuda_program({.beside = "/nonexistent", .search_path = folder_->path().string()}), path);
  const auto missing = find_cuda_program({.beside = "/nonexistent", .search_path = "/nonexistent"});
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().kind, Error::Kind::machine_lacks);
  EXPECT_THAT(missing.error().hint, HasSubstr("make cuda"));
  const Result<CudaRun> run = run_cuda("/nonexistent/plimsoll-cuda", vecadd_, limits_, listener_);
  ASSERT_FALSE(run);
  EXPECT_EQ(run.error().kind, Error::Kind::machine_lacks);
}

}  // namespace
}  // namespace plimsoll::probe
