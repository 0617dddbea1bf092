// Any bytes, taken for a file of jobs (CSV, TOML), a job as JSON, a metric's line and a metric's pattern,
// must give jobs, or errors that say where; and what was read must survive being written and read again.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/csv.hpp"
#include "run/job_json.hpp"
#include "run/jobs_file.hpp"
#include "run/metric_line.hpp"

using namespace plimsoll;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): libFuzzer hands bytes, a file holds
  // characters
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto csv = running::parse_csv_jobs(text);
  if (!csv && csv.error().empty()) std::abort();
  if (csv)
    for (const running::JobRow& job : csv->jobs)
      if (job.spec.command.empty()) std::abort();
  if (const auto rows = read_csv(text)) {
    const auto again = read_csv(write_csv(*rows));
    if (!again || again->size() > rows->size()) std::abort();
  }
  const auto toml = running::parse_toml_jobs(text);
  if (!toml && toml.error().empty()) std::abort();
  if (const auto job = running::job_spec_from_json(text)) {
    if (running::job_spec_from_json(running::to_json(*job)) != *job) std::abort();
  } else if (job.error().text().empty()) {
    std::abort();
  }
  static_cast<void>(running::statement_in(text));
  const std::size_t end = text.find('\n');
  if (const auto pattern = running::MetricPattern::make(text.substr(0, end)); pattern && end != text.npos)
    static_cast<void>(pattern->match(text.substr(end + 1)));
  return 0;
}
