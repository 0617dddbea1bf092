#pragma once
#include <string>

#include "serve/http/statistics.hpp"
#include "serve/metric_writer.hpp"

namespace plimsoll::serve {

/// What /metrics answers: the server's own figures as Prometheus reads them (text format 0.0.4).
[[nodiscard]] std::string prometheus_text(const Statistics& server, const MetricWriter::Statistics& writer);

}  // namespace plimsoll::serve
