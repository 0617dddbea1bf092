#include <algorithm>
#include <map>
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "alone_run.hpp"
#include "base/files.hpp"
#include "base/printable.hpp"
#include "command.hpp"
#include "json_output.hpp"
#include "report/beside_report.hpp"
#include "report/matrix_report.hpp"
#include "setting_options.hpp"
#include "share/choice.hpp"
#include "sharing_figures_file.hpp"
#include "workload_source.hpp"

namespace plimsoll {
namespace {

constexpr std::size_t kMostFile = std::size_t{4} << 20;

struct BesideOptions {
  std::vector<std::string> workloads;
  std::string file;
  std::vector<std::string> devices;
  std::string calibration;
  std::string sharing, figures, store;
  share::Goal goal = share::Goal::fairness;
  std::vector<std::string> keep;
  std::int64_t cores = 0;
  bool services_first = false;
  bool matrix = false;
  std::string html;
  bool json = false;
};

/// Names that come again get a number, so that each can be told from the others.
void number_alike(std::vector<WorkloadRequest>& requests) {
  std::map<std::string, int> seen;
  for (WorkloadRequest& request : requests)
    if (const int count = ++seen[request.name]; count > 1) request.name += fmt::format(" #{}", count);
}

Result<std::vector<WorkloadRequest>> requests_of(const BesideOptions& options) {
  std::vector<WorkloadRequest> out;
  if (!options.file.empty()) {
    const auto text = read_file(options.file, kMostFile);
    PLIMSOLL_TRY(text);
    auto read = read_workloads(*text, options.file);
    PLIMSOLL_TRY(read);
    out = *std::move(read);
  }
  for (const std::string& text : options.workloads) {
    auto read = read_workload(text);
    PLIMSOLL_TRY(read);
    out.push_back(*std::move(read));
  }
  if (out.size() > kMostWorkloads)
    return std::unexpected(Error{fmt::format("there are {} workloads", out.size()), "",
                                 fmt::format("at most {} are put beside each other", kMostWorkloads)});
  number_alike(out);
  if (out.empty())
    return std::unexpected(
        Error{"there is no workload", "",
              "for example: plimsoll beside resnet50,mode=train,batch=32 gpt2,captured=true"});
  return out;
}

/// What recorded runs tell of those that name one.
Status add_recorded(std::vector<WorkloadRequest>& requests, const std::string& where) {
  std::unique_ptr<store::Store> store;
  for (WorkloadRequest& request : requests) {
    if (request.alone_run.empty()) continue;
    if (!store) {
      auto opened = store::open(where, {.create = false});
      PLIMSOLL_TRY(opened);
      store = *std::move(opened);
    }
    const auto alone = alone_of_run(*store, request.alone_run);
    PLIMSOLL_TRY(alone);
    request.alone = alone->alone;
  }
  return {};
}

Result<std::vector<share::Keep>> keeps_of(const BesideOptions& options,
                                          const std::vector<WorkloadRequest>& all) {
  std::vector<share::Keep> out;
  for (const std::string& text : options.keep) {
    const std::size_t equals = text.find_last_of('=');
    char* end = nullptr;
    const double speed = equals == std::string::npos ? 0 : std::strtod(text.c_str() + equals + 1, &end);
    const bool number = end != nullptr && *end == '\0' && speed > 0 && speed <= 1;
    const auto found = std::ranges::find(all, text.substr(0, equals), &WorkloadRequest::name);
    if (!number || found == all.end())
      return std::unexpected(Error{fmt::format("'{}' is no NAME=SHARE", printable(text, 60)), "--keep",
                                   fmt::format("the name of a workload ({}, …) and a share up to 1: "
                                               "name it in the workload, as in resnet50,name=web",
                                               printable(all.front().name, 40))});
    out.push_back({static_cast<std::size_t>(found - all.begin()), speed});
  }
  return out;
}

Result<int> print_matrix(const BesideOptions& options, const std::vector<const share::Workload*>& workloads,
                         const hardware::Device& device, const share::SharingFigures& figures,
                         const report::TextStyle& style) {
  const auto sharing = share::read_sharing(options.sharing.empty() ? "mps" : options.sharing, 2);
  PLIMSOLL_TRY(sharing);
  auto matrix = share::matrix(workloads, device, *sharing, figures);
  PLIMSOLL_TRY(matrix);
  report::MatrixReport report{.device = device.name, .names = {}, .matrix = *std::move(matrix)};
  for (const share::Workload* workload : workloads) report.names.push_back(workload->name);
  if (!options.html.empty()) PLIMSOLL_TRY(write_file(options.html, report::matrix_page(report)));
  if (options.json)
    print_json(report::matrix_json(report));
  else
    fmt::print("{}", report::matrix_text(report, style));
  return 0;
}

Result<int> run(const BesideOptions& options, const report::TextStyle& style) {
  auto requests = requests_of(options);
  PLIMSOLL_TRY(requests);
  PLIMSOLL_TRY(add_recorded(*requests, options.store));
  if (!options.html.empty() && !options.matrix)
    return std::unexpected(Error{"a page is drawn of all pairs", "--html", "add --matrix"});
  const auto keeps = keeps_of(options, *requests);
  PLIMSOLL_TRY(keeps);
  const auto targets = estimate_targets(options.devices, options.calibration);
  PLIMSOLL_TRY(targets);
  if (targets->size() != 1)
    return std::unexpected(
        Error{"workloads are put beside each other on one device", "--device", "name one"});
  if (options.matrix && (!options.keep.empty() || options.cores > 0 || options.services_first))
    return std::unexpected(
        Error{"--keep, --cores and --services-first are not for pairs", "--matrix", "leave them out"});
  const EstimateTarget& on = targets->front();
  const hardware::Device& device = on.device();

  report::BesideReport report{.device = device.name};
  const auto placed = place_workloads(*requests, on);
  PLIMSOLL_TRY(placed);
  for (const share::Workload& workload : *placed) {
    report.workloads.push_back({workload.name, workload.step, workload.memory, workload.measured});
    report.minimum += workload.memory;
  }
  report.capacity = share::memory_of(device);
  std::vector<const share::Workload*> workloads;
  for (const share::Workload& workload : *placed) workloads.push_back(&workload);

  const auto figures = sharing_figures_of(device, options.figures);
  PLIMSOLL_TRY(figures);
  share::Conditions conditions{.services_first = options.services_first};
  if (options.cores > 0) conditions.cores = static_cast<int>(options.cores);
  if (options.matrix) return print_matrix(options, workloads, device, *figures, style);
  bool kept = true;
  if (!options.sharing.empty()) {
    const auto sharing = share::read_sharing(options.sharing, workloads.size());
    PLIMSOLL_TRY(sharing);
    auto way = share::beside(workloads, device, *sharing, *figures, conditions);
    PLIMSOLL_TRY(way);
    kept = share::keeps(*way, *keeps);
    for (const share::Keep& keep : *keeps)
      if (const double speed = way->members[keep.workload].speed; speed < keep.speed)
        report.why = fmt::format("{} keeps {:.2f} of its speed, and {:.2f} were asked for.",
                                 printable(report.workloads[keep.workload].name), speed, keep.speed);
    report.ways.push_back(*std::move(way));
  } else {
    auto choice = share::choose(workloads, device, *figures, conditions, options.goal, *keeps);
    PLIMSOLL_TRY(choice);
    kept = choice->kept;
    report.why = choice->why;
    report.ways = std::move(choice->ways);
  }
  if (report.capacity || report.ways.front().sharing.way == share::Way::mig)
    report.fits = share::has_room(report.ways.front(), workloads, device);
  if (options.json)
    print_json(report::beside_json(report));
  else
    fmt::print("{}", report::beside_text(report, style));
  return report.fits.value_or(true) && kept ? 0 : 1;
}

}  // namespace

void add_beside(CommandLine& app, Invocation& invocation) {
  auto options = std::make_shared<BesideOptions>();
  CommandLine* command = app.add_subcommand(
      "beside", "What several on one GPU do to each other, before it happens: speeds and why");
  command
      ->add_option("workloads", options->workloads,
                   "MODEL,KEY=VALUE,…: mode, batch, seq, precision, optimizer, captured, arrivals, name")
      ->option_text("WORKLOAD…");
  command->add_option("--workloads", options->file, "A list of workloads, in JSON or TOML")
      ->option_text("FILE");
  add_devices_option(*command, options->devices,
                     "Id from `plimsoll devices`, `this` (default), or a device file");
  command
      ->add_option("--sharing", options->sharing,
                   "naive, mps, mps:75,25 (percent of the SMs), mig:3g.71gb,4g.71gb, mig+mps:4g.71gb (all in "
                   "one slice); "
                   "without it all but this last one are compared")
      ->option_text("WAY");
  static const std::map<std::string, share::Goal> kGoals = {{"throughput", share::Goal::throughput},
                                                            {"fairness", share::Goal::fairness},
                                                            {"latency", share::Goal::latency},
                                                            {"energy", share::Goal::energy}};
  command
      ->add_choice("--for", options->goal, kGoals,
                   "What counts: fairness (default: the slowest), throughput, latency, energy")
      ->option_text("GOAL");
  command->add_option("--keep", options->keep, "NAME=0.8: this one keeps at least so much of its speed")
      ->option_text("NAME=SHARE");
  command->add_flag("--services-first", options->services_first,
                    "Under MPS, services come before the others, as in the queue");
  command->add_option("--cores", options->cores, "Cores of the host, where there are few")
      ->in_range(1, 4096)
      ->option_text("N");
  command
      ->add_option("--calibration", options->calibration,
                   "Take the calibration of this device file; `none`: use the datasheet alone")
      ->option_text("FILE");
  command
      ->add_option("--figures", options->figures,
                   "What sharing costs on this GPU, as `plimsoll probe --sharing` writes it")
      ->option_text("FILE");
  command->add_flag("--matrix", options->matrix,
                    "Every pair of the workloads, under MPS or as --sharing says");
  command->add_option("--html", options->html, "With --matrix: write a page with all pairs in colours")
      ->option_text("FILE");
  command
      ->add_option("--store", options->store,
                   "Where runs are kept, for alone=run:ID (default: PLIMSOLL_STORE)")
      ->option_text("STORE");
  command->add_flag("--json", options->json, "Print one JSON document");
  command->footer(
      "Examples:\n"
      "  plimsoll beside resnet50,mode=train,batch=32 gpt2,mode=train,batch=8,seq=512 --device h200\n"
      "  plimsoll beside vgg16,mode=train,batch=32 resnet50,captured=true --device h200 --sharing mps:75,25\n"
      "  plimsoll beside resnet50,captured=true --device h200 --sharing mps\n"
      "Exit code 1: they do not fit together, or one keeps less than it should.");
  command->callback([options, &invocation] {
    invocation.run = [options, style = output_style(invocation)] { return run(*options, style); };
  });
}

}  // namespace plimsoll
