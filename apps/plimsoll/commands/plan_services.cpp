#include <algorithm>
#include <charconv>
#include <cstdio>
#include <memory>

#include <fmt/format.h>
#include <fmt/ranges.h>
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
#include "served_models.hpp"
#include "setting_options.hpp"
#include "sharing_figures_file.hpp"
#include "told_errors.hpp"

namespace plimsoll {
namespace {

struct ServicesOptions {
  std::string services, profiles;
  std::string device, scenario;
  std::string calibration, figures;
  ServedModels models;
  std::string one_more;
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

/// "resnet50,200,50": MODEL,RATE,LIMIT_MS, where a model's own options may have commas, too.
Result<plan::Service> read_one_more(const std::string& text) {
  constexpr double kMost = 1e9;
  plan::Service out;
  std::string rest = text;
  const auto last_number = [&](double& into) {
    const std::size_t comma = rest.find_last_of(',');
    if (comma == std::string::npos) return false;
    const std::string_view number = std::string_view(rest).substr(comma + 1);
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), into);
    const bool is_number =
        error == std::errc() && end == number.data() + number.size() && into > 0 && into <= kMost;
    rest.resize(comma);
    return is_number;
  };
  double limit_ms = 0;
  if (!last_number(limit_ms) || !last_number(out.rate) || rest.empty())
    return std::unexpected(Error{fmt::format("{} is no MODEL,RATE,LIMIT_MS", quote(text)), "--one-more",
                                 "for example resnet50,200,50: 200 requests a second within 50 ms"});
  out.model = rest;
  out.name = rest;
  out.limit = Seconds(limit_ms * 1e-3);
  return out;
}

/// What models do in instances of the device: as the file has it, or as their kernels tell it.
struct Rows {
  MigDevice on;
  std::vector<plan::ServedProfile> rows = {};
  std::optional<plan::PredictedProfiles> predicted = {};
};

Result<Rows> measured_rows(const ServicesOptions& options) {
  const auto profiles = read_rows(options.profiles, &plan::parse_served_profiles);
  PLIMSOLL_TRY(profiles);
  const auto name = device_asked(options, *profiles);
  PLIMSOLL_TRY(name);
  auto on = mig_device_named(*name);
  PLIMSOLL_TRY(on);
  auto rows = rows_of(on->device, *profiles, options.profiles);
  PLIMSOLL_TRY(rows);
  return Rows{*std::move(on), *std::move(rows)};
}

Result<Rows> predicted_rows(const ServicesOptions& options, const std::vector<plan::Service>& services) {
  const std::string device = options.device.empty() ? "this" : options.device;
  auto on = mig_device_named(device);
  PLIMSOLL_TRY(on);
  const auto targets = estimate_targets({device}, options.calibration);
  PLIMSOLL_TRY(targets);
  const auto figures = sharing_figures_of(on->device, options.figures);
  PLIMSOLL_TRY(figures);
  auto told = predict_served(services, targets->front(), *on->table, *figures, options.models);
  if (!told) return std::unexpected(all_told(told.error(), options.services, "planned"));
  return Rows{*std::move(on), told->rows, *told};
}

Result<int> run_services(const ServicesOptions& options, const report::TextStyle& style) {
  auto services = read_rows(options.services, &plan::parse_services);
  PLIMSOLL_TRY(services);
  auto scenarios = scenarios_asked(options, *std::move(services));
  PLIMSOLL_TRY(scenarios);
  if (!options.mig_parted.empty() && scenarios->size() > 1)
    return std::unexpected(
        Error{"a configuration is of one scenario", "--mig-parted", "name it by --scenario"});
  std::vector<plan::Service> all;
  for (const plan::Scenario& scenario : *scenarios)
    all.insert(all.end(), scenario.services.begin(), scenario.services.end());
  std::optional<plan::Service> more;
  if (!options.one_more.empty()) {
    auto read = read_one_more(options.one_more);
    PLIMSOLL_TRY(read);
    more = *std::move(read);
    all.push_back(*more);
  }
  const auto known = options.profiles.empty() ? predicted_rows(options, all) : measured_rows(options);
  PLIMSOLL_TRY(known);
  const double share_of_limit = options.models.share_of_limit;
  report::ServicesReport report{
      .device = known->on.device, .table = *known->on.table, .share_of_limit = share_of_limit};
  if (known->predicted) report.predicted = {{known->predicted->low, known->predicted->high}};
  for (plan::Scenario& scenario : *scenarios) {
    auto plan = plan::plan_services(report.table, known->rows, scenario.services, share_of_limit);
    if (!plan) return std::unexpected(all_told(plan.error(), options.services, "planned"));
    report.scenarios.push_back({std::move(scenario), *std::move(plan)});
    if (!more) continue;
    report::PlannedScenario& planned = report.scenarios.back();
    std::vector<plan::Service> with = planned.scenario.services;
    with.push_back(*more);
    auto larger = plan::plan_services(report.table, known->rows, with, share_of_limit);
    if (!larger) return std::unexpected(all_told(larger.error(), "--one-more", "planned"));
    planned.one_more = {*more, *std::move(larger)};
  }
  if (!options.mig_parted.empty())
    PLIMSOLL_TRY(write_file(
        options.mig_parted,
        report::mig_parted_text(report.table, {configuration(report.table, report.scenarios.front())})));
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
  CommandLineOption* profiles =
      command
          ->add_option(
              "--profiles", options->profiles,
              "CSV of what was measured: model, mig_compute_slices, batch, processes, "
              "throughput_total_req_s, "
              "latency_s, and gpu; without it models are MODELs as everywhere, and what they do is predicted")
          ->option_text("FILE");
  command
      ->add_option("--device", options->device,
                   "Id from `plimsoll devices` (default: the profiles' own, or this machine's)")
      ->option_text("DEVICE");
  command
      ->add_option("--one-more", options->one_more,
                   "What one more service would need: resnet50,200,50 is 200 requests a second within 50 ms")
      ->option_text("MODEL,RATE,LIMIT_MS");
  add_precision_option(*command, options->models.precision);
  command->get_option("--precision")->excludes(profiles);
  command
      ->add_option("--batches", options->models.batches,
                   "Without --profiles: batches to choose from (default: 1,2,4,8,16,32,64)")
      ->delimiter(',')
      ->in_range<std::int64_t>(1, kMostServedBatch)
      ->excludes(profiles)
      ->option_text("N,…");
  command
      ->add_option(
          "--processes", options->models.processes,
          "Without --profiles: of one service in one instance, under MPS there, at most (default: 3)")
      ->in_range<std::int64_t>(1, kMostServedProcesses)
      ->excludes(profiles)
      ->option_text("N");
  command
      ->add_option("--calibration", options->calibration,
                   "Take the calibration of this device file; `none`: use the datasheet alone")
      ->option_text("FILE");
  command
      ->add_option("--figures", options->figures,
                   "What sharing costs on this GPU, as `plimsoll probe --sharing` writes it")
      ->option_text("FILE");
  command->add_option("--scenario", options->scenario, "Plan this one alone, with all its instances")
      ->option_text("NAME");
  command
      ->add_option(
          "--within", options->models.share_of_limit,
          "Part of a limit that a batch stays below (default: 0.45, half for waiting and a tenth kept)")
      ->in_range(0.001, 1.0)
      ->option_text("SHARE");
  command->add_option("--mig-parted", options->mig_parted, "Write a configuration for NVIDIA's mig-parted")
      ->option_text("FILE");
  command->add_flag("--json", options->json, "Print one JSON document");
  command->footer(
      "Examples:\n"
      "  plimsoll plan services models.csv --device h200 --precision fp16 --one-more resnet50,200,50\n"
      "  plimsoll plan services slo.csv --profiles rows.csv\n"
      "  plimsoll plan services slo.csv --profiles rows.csv --scenario 2 --mig-parted gpus.yaml");
  command->callback([options, &invocation] {
    invocation.run = [options, style = output_style(invocation)] { return run_services(*options, style); };
  });
}

}  // namespace plimsoll
