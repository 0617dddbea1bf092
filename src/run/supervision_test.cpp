#include "run/supervision.hpp"

#include <gtest/gtest.h>

namespace plimsoll::running {
namespace {

TEST(Supervision, AnOrderComesOverWhole) {
  Order order;
  JobSpec job;
  job.command = {"sh", "-c", "a\xff"};
  job.environment = {{"A", "b"}};
  job.time_limit = Seconds(1.5);
  order.jobs = {job, JobSpec{.command = {"true"}}};
  order.options.store = "postgresql://me:secret@host/db";
  order.options.rate = 2.5;
  order.options.watch = {.grace = std::chrono::milliseconds(1234),
                         .orphans = Orphans::leave,
                         .if_killed = IfKilled::leave,
                         .log_limit = 7};
  order.options.retry_out_of_memory = true;
  order.options.wait = false;
  order.options.show_output = order.options.output_to_error = order.options.inherit_input = true;
  order.options.profiler = Profiler::torch;
  order.options.recorded_variables = {"HOME"};
  order.mlflow_uri = "http://host";
  order.no_mlflow = order.quiet = true;
  const std::string line = line_of(order_json(order));
  ASSERT_TRUE(line.ends_with('\n'));
  const auto message = read_message(std::string_view(line).substr(0, line.size() - 1));
  ASSERT_TRUE(message);
  EXPECT_EQ(type_of(*message), "order");
  const auto read = read_order(*message);
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(read->jobs, order.jobs);
  EXPECT_EQ(order_json(*read), order_json(order));
}

TEST(Supervision, AnEndComesOverWhole) {
  Ended ended{.job = 3,
              .run = "0123",
              .outcome = Outcome::cuda_out_of_memory,
              .reason = "last\nlines \xfe",
              .exit_code = 1,
              .elapsed = Seconds(2.25),
              .retried = true,
              .metrics_lost = 5,
              .stopped = StopCause::lease,
              .gpu_fault = true,
              .peak_gpu_bytes = Bytes(1 << 30)};
  ended.unkept = Error{"full", "disk", "make room", Error::Kind::unavailable};
  const auto read = read_ended(ended_json(ended));
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(ended_json(*read), ended_json(ended));
  EXPECT_EQ(read->unkept->kind, Error::Kind::unavailable);
  EXPECT_EQ(read->reason, ended.reason);
}

TEST(Supervision, ProgressComesOverWhole) {
  for (const Progress& progress : {Progress{.run = "a"}, Progress{.run = "b",
                                                                  .step = 7,
                                                                  .at = 1.5e9,
                                                                  .epoch = 2,
                                                                  .gpu_bytes = Bytes(5),
                                                                  .sm_activity = 0.5,
                                                                  .gpu_sm_activity = 0.75,
                                                                  .gpu_dram_activity = 0.25,
                                                                  .gpu_watts = 300}}) {
    const auto read = read_progress(progress_json(progress));
    ASSERT_TRUE(read) << read.error().text();
    EXPECT_EQ(*read, progress);
  }
  EXPECT_FALSE(read_progress({{"type", "progress"}, {"run", "a"}, {"gpu_watts", -1}}));
}

TEST(Supervision, WhatIsNoMessageIsRefused) {
  for (const char* text : {"", "{", "[]", "3", "{\"type\":\"order\"}"}) {
    const auto message = read_message(text);
    EXPECT_FALSE(message && read_order(*message)) << text;
  }
  EXPECT_FALSE(read_ended({{"type", "ended"}, {"job", -1}}));
  EXPECT_EQ(type_of({{"type", 3}}), "");
}

}  // namespace
}  // namespace plimsoll::running
