#include "run/outcome.hpp"

#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plimsoll::running {
namespace {

using testing::HasSubstr;

constexpr const char* kTorchMessage =
    "Traceback (most recent call last):\n  File \"t.py\", line 3\ntorch.OutOfMemoryError: CUDA out of "
    "memory. Tried to "
    "allocate 20.00 MiB. GPU 0 has a total capacity of 139.80 GiB of which 3.00 MiB is free.\n";

TEST(Outcome, OutOfMemoryIsReadFromTheMessageNotFromTheCode) {
  const Ending ending = judge({.exit_code = 1, .output_tail = kTorchMessage});
  EXPECT_EQ(ending.outcome, Outcome::cuda_out_of_memory);
  EXPECT_THAT(ending.reason, HasSubstr("Tried to allocate 20.00 MiB"));
  EXPECT_EQ(judge({.exit_code = 1, .output_tail = "E CUDA_ERROR_OUT_OF_MEMORY: x\n"}).outcome,
            Outcome::cuda_out_of_memory);
  EXPECT_EQ(judge({.exit_code = 0, .output_tail = kTorchMessage}).outcome, Outcome::finished)
      << "it caught the error and went on";
  EXPECT_EQ(judge({.exit_code = 1, .output_tail = "ValueError: x\n"}).outcome, Outcome::failed)
      << "any other failure is not one of memory";
}

TEST(Outcome, TheKernelsKillIsToldFromAnyOther) {
  EXPECT_EQ(judge({.signal = SIGKILL, .kernel_killed = true}).outcome, Outcome::killed_for_memory);
  EXPECT_EQ(judge({.exit_code = 137, .kernel_killed = true}).outcome, Outcome::killed_for_memory);
  EXPECT_EQ(judge({.signal = SIGKILL}).outcome, Outcome::failed);
  EXPECT_EQ(judge({.exit_code = 1, .kernel_killed = true}).outcome, Outcome::failed);
}

TEST(Outcome, WhatPlimsollEndedSaysSo) {
  EXPECT_EQ(judge({.signal = SIGTERM, .stopped = StopCause::time_limit}).outcome, Outcome::time_limit);
  EXPECT_EQ(judge({.exit_code = 0, .stopped = StopCause::epoch_limit}).outcome, Outcome::epoch_limit);
  EXPECT_EQ(judge({.signal = SIGINT, .stopped = StopCause::interrupted}).outcome, Outcome::interrupted);
  EXPECT_EQ(status_of(Outcome::epoch_limit), store::RunStatus::finished);
  EXPECT_EQ(status_of(Outcome::time_limit), store::RunStatus::killed);
}

TEST(Outcome, ReasonsAreTheLastLinesThatMatter) {
  const Ending ending =
      judge({.exit_code = 3, .output_tail = "a\n\nb\nplimsoll: metric loss 1\nValueError: no\n"});
  EXPECT_EQ(ending.reason, "exited with code 3\na\nb\nValueError: no");
  EXPECT_THAT(judge({.signal = SIGSEGV}).reason, HasSubstr("signal 11"));
  EXPECT_THAT(judge({.exit_code = 1, .mps_daemon_ended = true}).reason, HasSubstr("MPS daemon"));
}

TEST(Outcome, AFaultOnTheGpuIsToldBesideTheFailure) {
  for (const char* const message :
       {"RuntimeError: CUDA error: an illegal memory access was encountered\nCUDA kernel errors might be "
        "asynchronously reported at some other API call\n",
        "torch.AcceleratorError: CUDA error: unspecified launch failure\n",
        "../aten/src/ATen/native/cuda/Indexing.cu:1284: indexSelectLargeIndex: block: [0,0,0], thread: "
        "[0,0,0] "
        "Assertion `srcIndex < srcSelectDimSize` failed.\nRuntimeError: CUDA error: device-side assert "
        "triggered\n",
        "RuntimeError: CUDA error: the remote procedural call between the MPS server and the MPS client "
        "failed\n",
        "CUDA driver error 810: the MPS client has been terminated by the server\n",
        "F external/xla: CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory access was encountered\n",
        "kernel: NVRM: Xid (PCI:0000:19:00): 31, pid=4242, name=python3, Ch 00000008\n"}) {
    const Ending ending = judge({.exit_code = 1, .output_tail = message});
    EXPECT_EQ(ending.outcome, Outcome::failed) << message;
    EXPECT_TRUE(ending.gpu_fault) << message;
    EXPECT_FALSE(judge({.exit_code = 0, .output_tail = message}).gpu_fault) << "it caught that";
  }
  EXPECT_TRUE(judge({.signal = SIGABRT, .output_tail = "an illegal memory access\n"}).gpu_fault);
  EXPECT_TRUE(judge({.exit_code = 1, .mps_daemon_ended = true}).gpu_fault);
  EXPECT_FALSE(judge({.exit_code = 1, .output_tail = kTorchMessage}).gpu_fault) << "no memory is no fault";
  EXPECT_FALSE(judge({.exit_code = 1, .output_tail = "Segmentation fault (core dumped)\n"}).gpu_fault);
  EXPECT_FALSE(judge({.signal = SIGSEGV}).gpu_fault);
}

TEST(Outcome, ALeaseThatRanOutSaysSo) {
  const Ending ending = judge({.signal = SIGTERM, .stopped = StopCause::lease});
  EXPECT_EQ(ending.outcome, Outcome::interrupted);
  EXPECT_THAT(ending.reason, HasSubstr("lease"));
}

TEST(Outcome, NamesGoBothWays) {
  for (const StopCause cause :
       {StopCause::time_limit, StopCause::epoch_limit, StopCause::interrupted, StopCause::lease})
    EXPECT_EQ(stop_cause_named(name(cause)), cause);
  for (const Outcome outcome :
       {Outcome::finished, Outcome::cuda_out_of_memory, Outcome::lost, Outcome::refused})
    EXPECT_EQ(outcome_named(name(outcome)), outcome);
  EXPECT_EQ(outcome_named("dancing"), std::nullopt);
}

}  // namespace
}  // namespace plimsoll::running
