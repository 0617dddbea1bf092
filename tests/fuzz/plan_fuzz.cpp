// Any bytes, taken for jobs to plan (JSON, TOML), for machines, for what was measured of groups, and for
// nodes, pods and services in CSV, must give what they say, or errors that say where.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "plan/cluster/nodes.hpp"
#include "plan/mig/service_files.hpp"
#include "plan_inventory.hpp"
#include "plan_jobs.hpp"
#include "plan_measured.hpp"

using namespace plimsoll;

namespace {

void check_jobs(std::string_view text, const char* name) {
  const auto jobs = read_plan_jobs(text, name);
  if (!jobs) {
    if (jobs.error().empty()) std::abort();
    return;
  }
  for (const PlanJobRequest& job : *jobs) {
    if (job.job.name.empty() || job.job.gpus < 1 || !(job.job.seconds >= 0)) std::abort();
    for (const std::size_t before : job.job.after)
      if (before >= jobs->size()) std::abort();
  }
}

void check_machines(std::string_view text, const char* name) {
  const auto machines = read_plan_inventory(text, name);
  if (!machines && machines.error().empty()) std::abort();
  if (machines)
    for (const PlanMachine& machine : *machines)
      if (machine.device.empty() || machine.gpus < 1 || machine.cores < 0) std::abort();
}

void check_groups(std::string_view text) {
  const auto groups = read_measured_groups(text);
  if (!groups && groups.error().empty()) std::abort();
  if (groups)
    for (const auto& [of, speeds] : *groups)
      if (of.second.size() != speeds.size() || speeds.empty()) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): libFuzzer hands bytes, a file holds
  // characters
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const char* name : {"jobs.json", "jobs.toml"}) {
    check_jobs(text, name);
    check_machines(text, name);
  }
  check_groups(text);
  if (auto cluster = plan::cluster::read_nodes(text))
    static_cast<void>(plan::cluster::read_pods(text, *cluster));
  plan::cluster::Cluster none;
  static_cast<void>(plan::cluster::read_pods(text, none));
  if (const auto profiles = plan::parse_served_profiles(text); !profiles && profiles.error().empty())
    std::abort();
  if (const auto services = plan::parse_services(text); !services && services.error().empty()) std::abort();
  return 0;
}
