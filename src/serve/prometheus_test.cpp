#include "serve/prometheus.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plimsoll::serve {
namespace {

using testing::HasSubstr;

TEST(Prometheus, BucketsAreCumulative) {
  Statistics server;
  server.answers = {0, 7, 0, 2, 1};
  server.latencies[0] = 3;
  server.latencies[2] = 4;
  server.latencies.back() = 1;
  server.latency_seconds = 0.25;
  const std::string text = prometheus_text(server, {.points = 12, .commits = 5});
  EXPECT_THAT(text, HasSubstr("plimsoll_http_responses_total{class=\"2xx\"} 7\n"));
  EXPECT_THAT(text, HasSubstr("_bucket{le=\"0.0001\"} 3\n"));
  EXPECT_THAT(text, HasSubstr("_bucket{le=\"0.0005\"} 7\n"));
  EXPECT_THAT(text, HasSubstr("_bucket{le=\"5\"} 7\n"));
  EXPECT_THAT(text, HasSubstr("_bucket{le=\"+Inf\"} 8\n"));
  EXPECT_THAT(text, HasSubstr("_seconds_sum 0.25\n"));
  EXPECT_THAT(text, HasSubstr("_seconds_count 8\n"));
  EXPECT_THAT(text,
              HasSubstr("# TYPE plimsoll_metric_points_total counter\nplimsoll_metric_points_total 12\n"));
}

}  // namespace
}  // namespace plimsoll::serve
