#include <algorithm>
#include <cstdio>
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/files.hpp"
#include "base/printable.hpp"
#include "hardware/catalogue.hpp"
#include "json_output.hpp"
#include "mig_device.hpp"
#include "plan/mig/layouts.hpp"
#include "plan/mig/service_files.hpp"
#include "plan_commands.hpp"
#include "report/plan_layouts_report.hpp"
#include "report/plan_services_report.hpp"
#include "told_errors.hpp"

namespace plimsoll {
namespace {

struct ServicesOptions {
  std::string services, profiles;
  std::string device, scenario;
  double share_of_limit = plan::kBatchShareOfLimit;
  std::string mig_parted;
  bool json = false;
};

template <class T>
Result<T> read_rows(const std::string& path, AllErrors<T> (*parse)(std::string_view)) {
  const auto text = read_file(path, plan::kLargestServiceFile);
  PLIMSOLL_TRY(text);
  auto parsed = parse(*text);
  if (!parsed) return std::unexpected(all_told(parsed.error(), path, "planned"));
  return *std::move(parsed);
}

/// Which of the file's GPUs is meant; where the file names one alone, it need not be said.
Result<std::string> device_asked(const ServicesOptions& options,
                                 const std::vector<plan::GpuProfiles>& profiles) {
  if (!options.device.empty()) return options.device;
  if (profiles.size() == 1 && !profiles.front().gpu.empty()) return profiles.front().gpu;
  return std::unexpected(Error{"the profiles do not say which GPU is meant", "", "name it by --device"});
}

/// The rows of that device; rows that name no GPU are taken at the person's word.
Result<std::vector<plan::ServedProfile>> rows_of(const hardware::Device& device,
                                                 const std::vector<plan::GpuProfiles>& profiles,
                                                 const std::string& path) {
  const auto& catalogue = hardware::built_in_catalogue();
  PLIMSOLL_TRY(catalogue);
  std::vector<plan::ServedProfile> out;
  std::vector<std::string> others;
  for (const plan::GpuProfiles& group : profiles) {
    const auto found = catalogue->find(group.gpu);
    if (group.gpu.empty() || (found && (*found)->id == device.id))
      out.insert(out.end(), group.rows.begin(), group.rows.end());
    else if (others.size() < 8)
      others.push_back(printable(group.gpu, 40));
  }
  if (out.empty())
    return std::unexpected(Error{fmt::format("there are no profiles of {} in it", device.name), path,
                                 fmt::format("they are of {}", fmt::join(others, ", "))});
  return out;
}

Result<std::vector<plan::Scenario>> scenarios_asked(const ServicesOptions& options,
                                                    std::vector<plan::Scenario> all) {
  if (options.scenario.empty()) return all;
  std::vector<std::string> names;
  for (plan::Scenario& scenario : all) {
    if (scenario.name == options.scenario || "S" + scenario.name == options.scenario)
      return std::vector{std::move(scenario)};
    if (names.size() < 20) names.push_back(printable(scenario.name, 40));
  }
  return std::unexpected(Error{fmt::format("there is no scenario {}", quote(options.scenario)),
                               options.services, fmt::format("there are {}", fmt::join(names, ", "))});
}

report::MigConfiguration configuration(const hardware::MigTable& table,
                                       const report::PlannedScenario& planned) {
  report::MigConfiguration out{.name = "plimsoll"};
  for (const plan::ServedGpu& gpu : planned.plan.gpus) {
    plan::ProfileCounts counts(table.profiles.size());
    for (const plan::PlacedSegment& segment : gpu) ++counts[segment.placement.profile];
    out.gpus.push_back(std::move(counts));
  }
  return out;
}

Result<int> run_services(const ServicesOptions& options, const report::TextStyle& style) {
  const auto profiles = read_rows(options.profiles, &plan::parse_served_profiles);
  PLIMSOLL_TRY(profiles);
  auto services = read_rows(options.services, &plan::parse_services);
  PLIMSOLL_TRY(services);
  auto scenarios = scenarios_asked(options, *std::move(services));
  PLIMSOLL_TRY(scenarios);
  if (!options.mig_parted.empty() && scenarios->size() > 1)
    return std::unexpected(
        Error{"a configuration is of one scenario", "--mig-parted", "name it by --scenario"});
  const auto name = device_asked(options, *profiles);
  PLIMSOLL_TRY(name);
  const auto on = mig_device_named(*name);
  PLIMSOLL_TRY(on);
  const auto rows = rows_of(on->device, *profiles, options.profiles);
  PLIMSOLL_TRY(rows);
  report::ServicesReport report{
      .device = on->device, .table = *on->table, .share_of_limit = options.share_of_limit};
  for (plan::Scenario& scenario : *scenarios) {
    auto plan = plan::plan_services(*on->table, *rows, scenario.services, options.share_of_limit);
    if (!plan) return std::unexpected(all_told(plan.error(), options.services, "planned"));
    report.scenarios.push_back({std::move(scenario), *std::move(plan)});
  }
  if (!options.mig_parted.empty())
    PLIMSOLL_TRY(write_file(
        options.mig_parted,
        report::mig_parted_text(*on->table, {configuration(*on->table, report.scenarios.front())})));
  if (options.json)
    print_json(report::services_json(report));
  else
    fmt::print("{}", report::services_text(report, style));
  return 0;
}

}  // namespace

void add_plan_services(CommandLine& plan, Invocation& invocation) {
  auto options = std::make_shared<ServicesOptions>();
  CommandLine* command =
      plan.add_subcommand("services", "Services with rates and limits on the fewest GPUs in MIG instances");
  command
      ->add_option(
          "services", options->services,
          "CSV: model, request_rate_req_s, latency_slo_ms, and service or scenario where there are several")
      ->required()
      ->option_text("SERVICES.csv");
  command
      ->add_option(
          "--profiles", options->profiles,
          "CSV of what was measured: model, mig_compute_slices, batch, processes, throughput_total_req_s, "
          "latency_s, and gpu")
      ->required()
      ->option_text("FILE");
  command->add_option("--device", options->device, "Id from `plimsoll devices` (default: the profiles' own)")
      ->option_text("DEVICE");
  command->add_option("--scenario", options->scenario, "Plan this one alone, with all its instances")
      ->option_text("NAME");
  command
      ->add_option(
          "--within", options->share_of_limit,
          "Part of a limit that a batch stays below (default: 0.45, half for waiting and a tenth kept)")
      ->in_range(0.001, 1.0)
      ->option_text("SHARE");
  command->add_option("--mig-parted", options->mig_parted, "Write a configuration for NVIDIA's mig-parted")
      ->option_text("FILE");
  command->add_flag("--json", options->json, "Print one JSON document");
  command->footer(
      "Examples:\n"
      "  plimsoll plan services slo.csv --profiles rows.csv\n"
      "  plimsoll plan services slo.csv --profiles rows.csv --scenario 2 --mig-parted gpus.yaml");
  command->callback([options, &invocation] {
    invocation.run = [options, style = output_style(invocation)] { return run_services(*options, style); };
  });
}

}  // namespace plimsoll
