#include "plan_schedule.hpp"

#include <algorithm>
#include <charconv>
#include <numeric>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "alone_run.hpp"
#include "base/files.hpp"
#include "base/printable.hpp"
#include "hardware/prices.hpp"
#include "json_output.hpp"
#include "plan/schedule/policies/policies.hpp"
#include "plan_fleet.hpp"
#include "plan_inventory.hpp"
#include "plan_truth.hpp"
#include "quantity.hpp"
#include "report/plan_layouts_report.hpp"
#include "report/policy_report.hpp"
#include "report/schedule_exports.hpp"
#include "report/schedule_report.hpp"
#include "report/schedule_words.hpp"
#include "setting_options.hpp"
#include "sharing_figures_file.hpp"
#include "told_errors.hpp"

namespace plimsoll {
namespace {

namespace schedule = plan::schedule;

constexpr std::size_t kMostJobsFile = std::size_t{64} << 20;
constexpr std::size_t kMostInventoryFile = std::size_t{16} << 20;
constexpr std::size_t kMostPlannedGpus = 100'000;

/// "h200:4": a device and how many of it.
struct WantedDevices {
  std::string device;
  std::size_t count = 1;
};
Result<WantedDevices> read_devices(const std::string& text) {
  WantedDevices out;
  const std::size_t colon = text.find_last_of(':');
  out.device = text.substr(0, colon);
  if (out.device.empty()) out.device = "this";
  if (colon == std::string::npos) return out;
  const std::string_view count = std::string_view(text).substr(colon + 1);
  const auto [end, error] = std::from_chars(count.data(), count.data() + count.size(), out.count);
  if (error != std::errc() || end != count.data() + count.size() || out.count < 1 ||
      out.count > kMostPlannedGpus)
    return std::unexpected(Error{fmt::format("'{}' is no number of devices", printable(count, 40)),
                                 "--devices", "for example h200:4"});
  return out;
}

/// "makespan", or several with weights: "makespan=2 energy=1".
Result<schedule::Aim> read_aim(const std::vector<std::string>& words) {
  if (words.empty()) return schedule::Aim{};
  schedule::Aim out{.makespan = 0};
  for (const std::string& word : words) {
    const std::size_t equals = word.find('=');
    const std::string name = word.substr(0, equals);
    double weight = 1;
    if (equals != std::string::npos) {
      const auto amount = parse_amount(word.substr(equals + 1), "--for");
      PLIMSOLL_TRY(amount);
      weight = *amount;
    }
    if (name == "makespan")
      out.makespan = weight;
    else if (name == "completion" || name == "latency")
      out.completion = weight;
    else if (name == "energy")
      out.energy = weight;
    else if (name == "money")
      out.money = weight;
    else
      return std::unexpected(Error{fmt::format("'{}' is nothing that a plan can be for", printable(name, 40)),
                                   "--for",
                                   "makespan, completion, energy, money or latency, each with =WEIGHT"});
  }
  return out;
}

Result<std::vector<PlanJobRequest>> requests_in(const std::string& file, const std::string& where) {
  const auto text = read_file(file, kMostJobsFile);
  PLIMSOLL_TRY(text);
  auto out = read_plan_jobs(*text, file);
  if (!out) return std::unexpected(all_told(out.error(), file, "planned"));
  std::unique_ptr<store::Store> store;
  for (PlanJobRequest& request : *out) {
    if (!request.workload || request.workload->alone_run.empty()) continue;
    if (!store) {
      auto opened = store::open(where, {.create = false});
      PLIMSOLL_TRY(opened);
      store = *std::move(opened);
    }
    const auto alone = alone_of_run(*store, request.workload->alone_run);
    PLIMSOLL_TRY(alone);
    request.workload->alone = alone->alone;
    if (!request.startup) request.startup = alone->startup;
  }
  return *std::move(out);
}

/// Of an hour of one, as said or as the price lists have it; 0: nobody knows.
Result<double> price_of(const PlanOptions& options, const hardware::Device& device) {
  if (!options.price.empty()) {
    const auto price = parse_price(options.price, "--price");
    PLIMSOLL_TRY(price);
    return price->value();
  }
  const auto& offers = hardware::built_in_prices();
  PLIMSOLL_TRY(offers);
  double best = 0;
  for (const hardware::Offer& offer : *offers) {
    const auto hourly = hardware::hourly(offer);
    if (offer.device != device.id || offer.terms != hardware::Terms::on_demand || !hourly) continue;
    const double each = hourly->value() / static_cast<double>(offer.devices);
    if (best == 0 || each < best) best = each;
  }
  return best;
}

/// All that a plan or a simulation needs; its parts refer to each other, so it stays where it is.
struct Ground {
  WantedDevices wanted;
  std::vector<EstimateTarget> targets = {};
  share::SharingFigures figures = {};
  std::vector<PlanJobRequest> requests = {};
  PlanQuestion question = {};
  schedule::Fleet fleet = {};
  std::optional<schedule::Rates> rates = {};
};

Result<std::unique_ptr<Ground>> ground_of(const PlanOptions& options, const std::string& file) {
  auto out = std::make_unique<Ground>();
  std::vector<PlanMachine> machines;
  if (options.inventory.empty()) {
    const auto wanted = read_devices(options.devices);
    PLIMSOLL_TRY(wanted);
    out->wanted = *wanted;
  } else {
    if (!options.devices.empty() || options.cores > 0)
      return std::unexpected(
          Error{"the inventory says what there is", "--devices, --cores", "leave them out"});
    const auto text = read_file(options.inventory, kMostInventoryFile);
    PLIMSOLL_TRY(text);
    auto read = read_plan_inventory(*text, options.inventory);
    if (!read) return std::unexpected(all_told(read.error(), options.inventory, "planned"));
    machines = *std::move(read);
    out->wanted.device = machines.front().device;
  }
  auto requests = requests_in(file, options.store);
  PLIMSOLL_TRY(requests);
  out->requests = *std::move(requests);
  auto targets = estimate_targets({out->wanted.device}, options.calibration);
  PLIMSOLL_TRY(targets);
  out->targets = *std::move(targets);
  const hardware::Device& device = out->targets.front().device();
  const auto figures = sharing_figures_of(device, options.figures);
  PLIMSOLL_TRY(figures);
  out->figures = *figures;
  auto question = plan_question(out->requests, out->targets.front());
  PLIMSOLL_TRY(question);
  out->question = *std::move(question);
  const auto price = price_of(options, device);
  PLIMSOLL_TRY(price);
  // What runs a plan from such files starts one daemon of MPS for a GPU, not one for each slice.
  const bool clients_in_slices =
      options.jobs_file.empty() && options.sbatch.empty() && options.kubernetes.empty();
  out->fleet = fleet_of(device, out->wanted.count, *price, clients_in_slices);
  if (!machines.empty()) {
    auto fleet = fleet_in(machines, device, std::move(out->fleet), clients_in_slices);
    if (!fleet) return std::unexpected(all_told(fleet.error(), options.inventory, "planned"));
    out->fleet = *std::move(fleet);
    out->wanted.count = out->fleet.gpus;
  } else if (options.cores > 0) {
    out->fleet.cores = {static_cast<int>(options.cores)};
  }
  const auto fewest = std::ranges::min_element(out->fleet.cores);
  share::Conditions conditions{.services_first = !options.simulate.empty()};  // as the queue has it
  if (fewest != out->fleet.cores.end() && *fewest > 0) conditions.cores = *fewest;
  out->rates.emplace(predicted_rates(out->question, out->fleet.setups, device, out->figures, conditions));
  return out;
}

/// "mps", "mps:50": a way that whole GPUs can be set up in.
Result<schedule::Setup> read_setup(const std::string& text, const schedule::Fleet& fleet) {
  std::string all;
  for (const schedule::Setup& setup : fleet.setups) {
    if (setup.way == share::Way::mig) continue;
    std::string name(share::name(setup.way));
    if (setup.cap < 1) name += fmt::format(":{:g}", 100 * setup.cap);
    if (name == text) return setup;
    all += (all.empty() ? "" : ", ") + name;
  }
  return std::unexpected(Error{fmt::format("'{}' is no way of sharing a whole GPU", printable(text, 40)),
                               "--sharing", "there are " + all});
}

/// Whole GPUs, all shared in one way.
schedule::Instance shared_by(const Ground& ground, const schedule::Setup& how) {
  schedule::Instance out{.kinds = ground.question.kinds,
                         .jobs = ground.question.jobs,
                         .setups = ground.fleet.setups,
                         .places = {},
                         .idle_watts = ground.fleet.idle_watts,
                         .shares_bind = ground.question.shares_bind,
                         .cores = ground.fleet.cores};
  for (const schedule::Slot& slot : ground.fleet.slots) out.hosts = std::max(out.hosts, slot.host + 1);
  const auto setup = std::ranges::find(out.setups, how);
  const auto index = static_cast<std::size_t>(setup == out.setups.end() ? 0 : setup - out.setups.begin());
  const Bytes memory = ground.fleet.layouts.front().parts.front().memory;
  const std::vector<schedule::Slot>& slots = ground.fleet.slots;
  for (std::size_t gpu = 0; gpu < ground.fleet.gpus; ++gpu)
    out.places.push_back({.name = slots.empty() ? fmt::format("{}", gpu) : slots[gpu].name,
                          .device = gpu,
                          .setup = index,
                          .memory = memory,
                          .price = ground.fleet.price,
                          .host = slots.empty() ? 0 : slots[gpu].host});
  return out;
}

Result<int> run_simulation(const PlanOptions& options, const report::TextStyle& style) {
  auto ground = ground_of(options, options.simulate);
  PLIMSOLL_TRY(ground);
  Ground& on = **ground;
  const auto is_cut = [&](std::size_t layout) {
    return on.fleet.setups[on.fleet.layouts[layout].parts.front().setup].way == share::Way::mig;
  };
  if (std::ranges::any_of(on.fleet.slots, [&](const schedule::Slot& slot) {
        return std::ranges::all_of(slot.layouts, is_cut);
      }))
    return std::unexpected(Error{"policies are of whole GPUs, which may be set up in each way",
                                 "--simulate with --inventory", "machines without mig"});
  std::vector<const schedule::PolicyRow*> rows;
  for (const schedule::PolicyRow& row : schedule::policy_rows())
    if (options.policies.empty() || std::ranges::find(options.policies, row.name) != options.policies.end())
      rows.push_back(&row);
  for (const std::string& name : options.policies)
    if (schedule::policy_named(name) == nullptr) {
      std::string all;
      for (const schedule::PolicyRow& row : schedule::policy_rows())
        all += fmt::format("{}{}", all.empty() ? "" : ", ", row.name);
      return std::unexpected(Error{fmt::format("there is no policy '{}'", printable(name, 40)), "--policy",
                                   fmt::format("there are {}", all)});
    }
  auto truth = true_rates({options.truth, options.disturbed, static_cast<std::uint64_t>(options.seed)},
                          on.question, on.fleet.setups, *on.rates);
  PLIMSOLL_TRY(truth);
  std::optional<schedule::Setup> sharing;
  if (!options.sharing.empty()) {
    const auto read = read_setup(options.sharing, on.fleet);
    PLIMSOLL_TRY(read);
    sharing = *read;
  }
  report::PolicyReport report{.device = on.targets.front().device().name, .gpus = on.wanted.count};
  for (const schedule::Job& job : on.question.jobs) report.jobs.push_back(job.name);
  for (const schedule::PolicyRow* row : rows) {
    const schedule::Instance instance = shared_by(on, sharing.value_or(schedule::Setup{.way = row->way}));
    const auto policy = row->make(instance);
    report.rows.push_back(
        {std::string(row->name), std::string(row->words),
         schedule::simulate(instance, row->clairvoyant ? *truth : *on.rates, {*truth}, *policy)});
  }
  const schedule::Instance instance =
      shared_by(on, sharing.value_or(schedule::Setup{.way = share::Way::mps}));
  report.bound = schedule::lower_bound(instance, schedule::most_combined(instance, *truth, 2)).seconds();
  if (options.json)
    print_json(report::policy_json(report));
  else
    fmt::print("{}", report::policy_text(report, style));
  return 0;
}

/// Why each job starts where and when it does, in a sentence.
std::vector<std::string> reasons(const schedule::Plan& plan, schedule::Rates& rates) {
  const std::vector<schedule::Ran>& ran = plan.outcome.jobs;
  std::vector<std::size_t> order(ran.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&](std::size_t job) { return ran[job].start; });
  std::vector<std::vector<std::size_t>> on(plan.instance.places.size());  // that still run there
  std::vector<std::string> out(ran.size());
  for (const std::size_t job : order) {
    std::vector<std::size_t>& others = on[ran[job].places.front()];
    std::erase_if(others, [&](std::size_t other) { return ran[other].end <= ran[job].start; });
    schedule::PlaceState there;
    for (const std::size_t other : others)
      there.kinds =
          schedule::with_kind(there.kinds, static_cast<std::uint32_t>(plan.instance.jobs[other].kind));
    for (const std::size_t place : ran[job].places) on[place].push_back(job);
    const auto kind = static_cast<std::uint32_t>(plan.instance.jobs[job].kind);
    if (!plan.instance.kinds[kind].memory) {
      out[job] = "alone, since nobody knows what memory it takes";
    } else if (there.kinds.empty()) {
      out[job] = "nothing else is there";
    } else {
      const auto gain =
          schedule::gain_of(there.kinds, plan.instance.places[ran[job].places.front()], kind, rates);
      out[job] = fmt::format("adds {:.2f} of a job's speed beside {} other{}", gain.value_or(0),
                             there.kinds.size(), there.kinds.size() == 1 ? "" : "s");
    }
    if (const std::int64_t batch = plan.instance.kinds[kind].batch; batch > 0)
      out[job] +=
          fmt::format("; requests in batches of {}, which keep the GPU busy least within its limit", batch);
  }
  return out;
}

/// The arguments by which `plimsoll estimate` knows a job's model.
std::vector<std::string> estimate_arguments(const PlanJobRequest& request, const std::string& device) {
  if (!request.workload) return {};
  const network::Setting& setting = request.workload->setting;
  std::vector<std::string> out = {request.workload->model, "--mode", std::string(network::name(setting.mode)),
                                  "--device", device};
  if (setting.batch) out.insert(out.end(), {"--batch", fmt::format("{}", *setting.batch)});
  if (setting.sequence) out.insert(out.end(), {"--seq", fmt::format("{}", *setting.sequence)});
  if (setting.precision != network::Precision::fp32)
    out.insert(out.end(), {"--precision", std::string(network::name(setting.precision))});
  if (setting.mode == network::Mode::train)
    out.insert(out.end(), {"--optimizer", std::string(network::name(setting.optimizer))});
  return out;
}

Status write_exports(const PlanOptions& options, const Ground& on, const schedule::Plan& plan) {
  std::vector<report::ExportedJob> jobs;
  for (const PlanJobRequest& request : on.requests)
    jobs.push_back({.command = request.command, .estimate = estimate_arguments(request, on.wanted.device)});
  if (!options.jobs_file.empty() && plan.instance.hosts > 1)
    return std::unexpected(
        Error{fmt::format("the plan is for {} machines, and a jobs file is run by one", plan.instance.hosts),
              "--jobs-file", "--sbatch, or a plan for each machine"});
  if (!options.jobs_file.empty()) {
    const auto toml = report::run_jobs_toml(plan, jobs, "plan");
    PLIMSOLL_TRY(toml);
    PLIMSOLL_TRY(write_file(options.jobs_file, *toml));
  }
  if (!options.kubernetes.empty())
    PLIMSOLL_TRY(write_file(options.kubernetes, report::kubernetes_sharing(plan)));
  if (!options.mig_parted.empty()) {
    const hardware::MigTable* table = hardware::mig_table(on.targets.front().device());
    const auto cut = table != nullptr ? report::mig_configuration(plan, *table, "plan") : std::nullopt;
    if (!cut)
      return std::unexpected(Error{"the plan cuts no GPU into instances", "--mig-parted", "leave it out"});
    PLIMSOLL_TRY(write_file(options.mig_parted, report::mig_parted_text(*table, {*cut})));
  }
  if (options.sbatch.empty()) return {};
  const auto scripts = report::sbatch_scripts(plan, jobs);
  PLIMSOLL_TRY(scripts);
  std::error_code failed;
  std::filesystem::create_directories(options.sbatch, failed);
  for (const auto& [name, contents] : *scripts)
    PLIMSOLL_TRY(write_file(std::filesystem::path(options.sbatch) / name, contents));
  return {};
}

/// A plan that keeps not all deadlines is shown, and the answer is no.
int tell_late(const schedule::Plan& plan) {
  if (plan.outcome.late == 0) return 0;
  constexpr int kMostNamed = 10;
  std::string names;
  int named = 0;
  for (std::size_t i = 0; i < plan.outcome.jobs.size(); ++i) {
    const auto& deadline = plan.instance.jobs[i].deadline;
    if (!deadline || plan.outcome.jobs[i].end <= *deadline || ++named > kMostNamed) continue;
    names += fmt::format("{}{} ends at {:.1f} s instead of {:g} s", names.empty() ? "" : "; ",
                         report::scheduled_name(plan, i), plan.outcome.jobs[i].end, *deadline);
  }
  if (named > kMostNamed) names += fmt::format("; and {} more", named - kMostNamed);
  fmt::print(stderr,
             "plimsoll: no plan was found that keeps all deadlines: {}\n  more GPUs, later deadlines, or "
             "--looks for a longer search\n",
             names);
  return 1;
}

Result<int> run_planning(const PlanOptions& options, const report::TextStyle& style) {
  const auto aim = read_aim(options.aims);
  PLIMSOLL_TRY(aim);
  auto ground = ground_of(options, options.jobs);
  PLIMSOLL_TRY(ground);
  Ground& on = **ground;
  if (aim->money > 0 && on.fleet.price == 0)
    return std::unexpected(
        Error{"nobody knows what an hour of this device costs", "--for money", "say it: --price 3.50/h"});
  const auto plan = schedule::make_plan(on.question.kinds, on.question.jobs, on.fleet, *on.rates, *aim,
                                        {.looks = static_cast<std::size_t>(options.looks),
                                         .shares_bind = on.question.shares_bind,
                                         .by_pairs = on.question.is_slow()});
  if (!plan) {
    fmt::print(stderr, "plimsoll: {}\n", plan.error().text());
    if (!plan.error().hint.empty()) fmt::print(stderr, "  {}\n", plan.error().hint);
    return 1;
  }
  report::ScheduleReport report{.plan = &*plan, .device = on.targets.front().device().name};
  schedule::Rates guessed = schedule::from_pairs(*on.rates, on.fleet.idle_watts);
  report.why = reasons(*plan, on.question.is_slow() ? guessed : *on.rates);
  if (!aim->is_makespan() && options.aims.size() == 1 && options.aims.front() != "latency")
    report.aim = options.aims.front().substr(0, options.aims.front().find('='));
  PLIMSOLL_TRY(write_exports(options, on, *plan));
  if (!options.html.empty()) PLIMSOLL_TRY(write_file(options.html, report::schedule_page(report)));
  if (options.json)
    print_json(report::schedule_json(report));
  else
    fmt::print("{}", report::schedule_text(report, style));
  return tell_late(*plan);
}

}  // namespace

void add_plan_options(CommandLine& command, PlanOptions& options) {
  command
      .add_option(
          "jobs", options.jobs,
          "Jobs, in JSON or as [[job]] tables in TOML: model with steps, a service's rate and limit_ms, or a "
          "command with seconds, share and need")
      ->option_text("JOBS");
  command.add_option("--devices", options.devices, "What there is to run on: h200:4, this (default)")
      ->option_text("DEVICE[:N]");
  command
      .add_option(
          "--inventory", options.inventory,
          "What there is to run on: machines with GPUs, cores, allowed sharing and MIG slices, in JSON or as "
          "[[machine]] tables in TOML")
      ->option_text("FILE");
  command
      .add_option(
          "--for", options.aims,
          "makespan (default), completion, energy, money, latency; several with weights: makespan=2,energy=1")
      ->delimiter(',')
      ->option_text("AIM");
  command.add_option("--simulate", options.simulate, "Let these jobs arrive, and compare policies")
      ->option_text("JOBS");
  command.add_option("--policy", options.policies, "With --simulate: which ones (default: all)")
      ->delimiter(',')
      ->option_text("NAME,…");
  command
      .add_option(
          "--truth", options.truth,
          "With --simulate: measured groups, a JSON object a line; what they do not have is predicted")
      ->option_text("FILE");
  command
      .add_option("--disturb", options.disturbed,
                  "With --simulate: what is predicted is off by up to this share")
      ->in_range(0.0, 0.9)
      ->option_text("SHARE");
  command.add_option("--seed", options.seed, "With --disturb: other numbers (default: 0)")
      ->in_range(0, 1'000'000'000)
      ->option_text("N");
  command
      .add_option("--looks", options.looks, "How many orders are tried beyond what is greedy (default: 400)")
      ->in_range(0, 10'000'000)
      ->option_text("N");
  command
      .add_option(
          "--sharing", options.sharing,
          "With --simulate: share GPUs so under every policy: naive, mps, mps:50 (default: its own way)")
      ->option_text("WAY");
  command
      .add_option("--cores", options.cores,
                  "Of a machine that the devices are in, where programs that start may need more (default: "
                  "there are enough)")
      ->in_range(1, 100'000)
      ->option_text("N");
  command
      .add_option("--price", options.price,
                  "Of an hour of one device (default: the lowest of the price lists)")
      ->option_text("PRICE");
  command
      .add_option("--calibration", options.calibration,
                  "Take the calibration of this device file; `none`: use the datasheet alone")
      ->option_text("FILE");
  command
      .add_option("--figures", options.figures,
                  "What sharing costs on this GPU, as `plimsoll probe --sharing` writes it")
      ->option_text("FILE");
  command
      .add_option("--store", options.store, "Where runs are kept, for alone=run:ID (default: PLIMSOLL_STORE)")
      ->option_text("STORE");
  command.add_option("--html", options.html, "Write a page with lanes, memory and activity")
      ->option_text("FILE");
  command
      .add_option("--jobs-file", options.jobs_file, "Write the plan as a jobs file, for `plimsoll run FILE`")
      ->option_text("FILE");
  command.add_option("--mig-parted", options.mig_parted, "Write its MIG instances for mig-parted")
      ->option_text("FILE");
  command
      .add_option("--kubernetes", options.kubernetes,
                  "Write a configuration of NVIDIA's device plugin for Kubernetes")
      ->option_text("FILE");
  command
      .add_option("--sbatch", options.sbatch, "Write a batch script for Slurm for each GPU into this folder")
      ->option_text("FOLDER");
  command.add_flag("--json", options.json, "Print one JSON document");
}

Result<int> run_plan(const PlanOptions& options, const report::TextStyle& style) {
  if (options.jobs.empty() == options.simulate.empty())
    return std::unexpected(
        Error{options.jobs.empty() ? "there is nothing to plan" : "a plan or a simulation, not both", "",
              "plimsoll plan JOBS.toml --devices h200:4, or --simulate JOBS.json"});
  return options.simulate.empty() ? run_planning(options, style) : run_simulation(options, style);
}

}  // namespace plimsoll
