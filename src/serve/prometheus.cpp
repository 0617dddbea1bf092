#include "serve/prometheus.hpp"

#include <iterator>
#include <string_view>

#include <fmt/format.h>

namespace plimsoll::serve {
namespace {

class Text {
 public:
  void about(std::string_view name, std::string_view type, std::string_view help) {
    fmt::format_to(std::back_inserter(out_), "# HELP {} {}\n# TYPE {} {}\n", name, help, name, type);
  }
  template <class Value>
  void sample(std::string_view name, Value value) {
    fmt::format_to(std::back_inserter(out_), "{} {}\n", name, value);
  }
  template <class Value>
  void single(std::string_view name, std::string_view type, std::string_view help, Value value) {
    about(name, type, help);
    sample(name, value);
  }
  std::string take() { return std::move(out_); }

 private:
  std::string out_;
};

void latencies(Text& out, const Statistics& server) {
  out.about("plimsoll_http_request_duration_seconds", "histogram",
            "From a request read to its answer at hand.");
  std::uint64_t below = 0;
  for (std::size_t i = 0; i < kLatencyBounds.size(); ++i) {
    below += server.latencies[i];
    out.sample(fmt::format("plimsoll_http_request_duration_seconds_bucket{{le=\"{}\"}}", kLatencyBounds[i]),
               below);
  }
  below += server.latencies.back();
  out.sample("plimsoll_http_request_duration_seconds_bucket{le=\"+Inf\"}", below);
  out.sample("plimsoll_http_request_duration_seconds_sum", server.latency_seconds);
  out.sample("plimsoll_http_request_duration_seconds_count", below);
}

}  // namespace

std::string prometheus_text(const Statistics& server, const MetricWriter::Statistics& writer) {
  Text out;
  out.about("plimsoll_http_responses_total", "counter", "Answers, by class of status.");
  for (std::size_t i = 0; i < server.answers.size(); ++i)
    out.sample(fmt::format("plimsoll_http_responses_total{{class=\"{}xx\"}}", i + 1), server.answers[i]);
  latencies(out, server);
  out.single("plimsoll_http_connections", "gauge", "Connections now open.", server.connections);
  out.single("plimsoll_http_connections_total", "counter", "Connections taken.", server.connections_taken);
  out.single("plimsoll_http_connections_refused_total", "counter",
             "Connections refused because there is no room.", server.connections_refused);
  out.single("plimsoll_http_connections_spared_total", "counter",
             "Idle or slow connections closed to make room for others.", server.connections_spared);
  out.single("plimsoll_http_strangers_refused_total", "counter",
             "Connections of other users of this machine, which were refused.", server.strangers_refused);
  out.single("plimsoll_http_timeouts_total", "counter", "Connections closed because a client was too slow.",
             server.timeouts);
  out.single("plimsoll_http_requests_waiting", "gauge", "Requests that wait for a worker.",
             server.requests_waiting);
  out.single("plimsoll_http_received_bytes_total", "counter", "Bytes received.", server.bytes_received);
  out.single("plimsoll_http_sent_bytes_total", "counter", "Bytes sent.", server.bytes_sent);
  out.single("plimsoll_metric_points_total", "counter", "Points of metrics committed.", writer.points);
  out.single("plimsoll_metric_commits_total", "counter", "Commits that brought them in.", writer.commits);
  out.single("plimsoll_metric_requests_refused_total", "counter", "Requests with metrics that were refused.",
             writer.refused);
  out.single("plimsoll_metric_points_waiting", "gauge", "Points that wait for a commit.", writer.waiting);
  return out.take();
}

}  // namespace plimsoll::serve
