#include <algorithm>
#include <deque>
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/files.hpp"
#include "base/printable.hpp"
#include "base/text.hpp"
#include "batches.hpp"
#include "command.hpp"
#include "estimate/memory/memory.hpp"
#include "estimate/time/communication.hpp"
#include "estimate/time/time.hpp"
#include "estimate_sweep.hpp"
#include "estimate_target.hpp"
#include "inspect_model.hpp"
#include "job/setting_json.hpp"
#include "json_output.hpp"
#include "link_options.hpp"
#include "program/lowering.hpp"
#include "report/estimate_table.hpp"
#include "report/kernel_page.hpp"
#include "report/memory_report.hpp"
#include "report/paragraph.hpp"
#include "report/time_report.hpp"
#include "report/timeline_page.hpp"
#include "setting_options.hpp"

namespace plimsoll {
namespace {

struct EstimateOptions {
  std::string model;
  InspectOptions inspect;
  LinkOptions links;
  std::vector<std::int64_t> batches;
  std::vector<std::string> devices;
  std::string timeline, kernel_page;
  std::string calibration;
  SweepOptions sweep;
  bool layers = false, kernels = false;
  bool max_batch = false;
  bool advice = false;
  bool compile = false;
  bool json = false;

  [[nodiscard]] bool wants_kernels() const { return kernels || !kernel_page.empty(); }
};

/// What a report looks at; it must outlive the report.
struct Bound {
  network::Shapes shapes;
  program::Counts counts;
};

/// Memory and, where the device has figures for it, time: both of one program.
struct Answer {
  report::MemoryReport memory;
  program::Program program;
  std::optional<estimate::Profile> profile = {};
  std::optional<estimate::ProfileDemand> demand = {};  ///< where it is asked for, of a GPU
  std::optional<estimate::TimeEstimate> time = {};
  std::string no_time = {};  ///< why there is none

  [[nodiscard]] report::TimeReport time_report() const {
    return {.network = &memory.inspection.network,
            .estimate = &*time,
            .batch = memory.batch,
            .training = memory.setting.mode == network::Mode::train};
  }
  [[nodiscard]] report::KernelReport kernel_report() const {
    return {.network = &memory.inspection.network,
            .program = &program,
            .profile = &*profile,
            .demand = demand ? &*demand : nullptr,
            .captured = true};
  }
};

Result<estimate::TimeEstimate> time_at(std::int64_t batch, const Batches& batches,
                                       const network::Setting& setting, const estimate::Target& target) {
  const Result<network::Shapes> shapes = batches.shapes(batch);
  PLIMSOLL_TRY(shapes);
  const Result<program::Program> program =
      program::lower(batches.network(), *shapes, setting, target.platform(setting));
  PLIMSOLL_TRY(program);
  return estimate::estimate_time(*program, setting, target);
}

/// Says what images with the channels fastest in memory would gain, where that is worth it.
void advise_layout(std::int64_t batch, const Batches& batches, network::Setting setting,
                   const estimate::Target& target, estimate::TimeEstimate& time) {
  constexpr double kWorthIt = 0.95;
  if (setting.layout == network::Layout::channels_last || target.device->kind != hardware::DeviceKind::gpu)
    return;
  setting.layout = network::Layout::channels_last;
  const Result<estimate::TimeEstimate> other = time_at(batch, batches, setting, target);
  if (!other || other->seconds >= time.seconds * kWorthIt) return;
  time.notes.push_back(fmt::format("--channels-last would take {} instead of {} ({:.0f} %)",
                                   text(other->seconds), text(time.seconds),
                                   100 * (other->seconds / time.seconds - 1)));
}

Result<Answer> one_answer(const EstimateOptions& options, const Batches& batches, const EstimateTarget& on,
                          std::int64_t batch, std::deque<Bound>& kept) {
  const estimate::Target target = on.place();
  network::Setting setting = options.inspect.setting;
  Result<network::Shapes> shapes = batches.shapes(batch);
  if (!shapes) return std::unexpected(std::move(shapes).error());
  const std::int64_t actual = batches.batch_in(*shapes);
  setting.batch = actual;
  const auto named = [&](Error error) { return std::unexpected(std::move(error).within(options.model)); };
  Result<program::Program> program =
      program::lower(batches.network(), *shapes, setting, target.platform(setting));
  if (!program) return named(std::move(program).error());
  Result<estimate::MemoryEstimate> estimate =
      estimate::estimate_memory(batches.network(), *program, setting, on.device());
  if (!estimate) return named(std::move(estimate).error());
  program::Counts counts = batches.count(*shapes);
  const Bound& bound = kept.emplace_back(std::move(*shapes), std::move(counts));
  Answer answer{.memory = {.inspection = batches.inspection(bound.shapes, bound.counts),
                           .setting = setting,
                           .batch = actual,
                           .device = on.device(),
                           .estimate = std::move(*estimate),
                           .others = on.others},
                .program = *std::move(program)};
  if (Result<estimate::Profile> profile = estimate::profile(answer.program, setting, target)) {
    if (Result<estimate::TimeEstimate> time = with_communication(
            estimate::estimate_time(answer.program, *profile, target), answer.program, setting, on.device()))
      answer.time = *std::move(time);
    else
      answer.no_time = time.error().text() + (time.error().hint.empty() ? "" : ". " + time.error().hint);
    if (options.wants_kernels()) answer.demand = estimate::demand_of(*profile, answer.program, on.device());
    answer.profile = std::move(*profile);
  } else {
    answer.no_time = profile.error().text();
  }
  if (options.advice && answer.time) advise_layout(batch, batches, setting, target, *answer.time);
  report::MemoryReport& report = answer.memory;
  if (answer.time)
    for (const std::string& note : answer.time->notes) report.estimate.notes.push_back(note);
  const auto again = [&](std::int64_t n) { return batches.shapes(n == actual ? batch : n); };
  if (options.max_batch) {
    Result<estimate::LargestBatch> largest =
        estimate::largest_batch(batches.network(), again, setting, target);
    if (!largest) return std::unexpected(std::move(largest).error());
    report.largest = *largest;
    if (largest->batch > 0 && answer.time) {
      const std::int64_t found = largest->batch == actual ? batch : largest->batch;
      Result<estimate::TimeEstimate> time = time_at(found, batches, setting, target);
      PLIMSOLL_TRY(time);
      report.largest_time = *std::move(time);
    }
  }
  if (options.advice || (!options.json && !report.estimate.fits.value_or(true))) {
    Result<std::vector<estimate::Remedy>> remedies =
        estimate::remedies(batches.network(), again, actual, setting, target);
    if (!remedies) return std::unexpected(std::move(remedies).error());
    report.remedies = std::move(*remedies);
  }
  return answer;
}

nlohmann::ordered_json to_json(const Answer& answer, const EstimateOptions& options) {
  const report::MemoryReport& report = answer.memory;
  nlohmann::ordered_json out;
  out["model"] = report.inspection.model;
  out["device"] = report.device.id;
  out["mode"] = network::name(report.setting.mode);
  out["batch"] = report.batch;
  out["precision"] = network::name(report.setting.precision);
  out["setting"] = job::setting_json(report.setting);
  out["load"] = {{"seconds", nullptr}, {"bytes", report.estimate.weights.count()}};
  if (answer.time && answer.time->load) out["load"]["seconds"] = answer.time->load->value();
  out["memory"] = report::to_json(report);
  out["time"] = nullptr;
  out["energy"] = nullptr;
  if (answer.time) {
    out["time"] = report::time_json(answer.time_report());
    out["energy"] = report::energy_json(answer.time_report());
    if (options.layers) out["layers"] = report::layer_times_json(answer.time_report());
  } else {
    out["no_time"] = printable(answer.no_time);
  }
  if (options.kernels && answer.profile) {
    out["activity"] = report::activity_json(answer.kernel_report());
    out["kernels"] = report::kernels_json(answer.kernel_report());
  }
  return out;
}

void print_text(const Answer& answer, const EstimateOptions& options, const report::TextStyle& style) {
  fmt::print("{}", report::memory_text(answer.memory, style));
  if (answer.time)
    fmt::print("\n{}", report::time_text(answer.time_report(), style));
  else
    fmt::print(
        "\n{}",
        report::hanging("time     ",
                        fmt::format("unknown: {}{}", printable(answer.no_time),
                                    answer.profile ? ""
                                                   : "; `plimsoll probe --calibrate`, of a CPU `plimsoll "
                                                     "probe cpu --calibrate`, measures them on the machine "
                                                     "itself"),
                        style));
  if (options.layers && answer.time)
    fmt::print("\n{}", report::layer_times_text(answer.time_report(), style));
  if (options.kernels && answer.profile)
    fmt::print("\n{}", report::kernels_text(answer.kernel_report(), style));
}

void print_table(const std::vector<Answer>& answers, const report::TextStyle& style) {
  std::vector<report::EstimateRow> rows;
  std::vector<std::string> notes;
  for (const Answer& answer : answers) {
    rows.push_back({&answer.memory, answer.time ? &*answer.time : nullptr});
    if (std::ranges::find(notes, answer.no_time) == notes.end()) notes.push_back(answer.no_time);
  }
  fmt::print("{}", report::estimate_table(rows, style));
  for (const std::string& note : notes)
    if (!note.empty())
      fmt::print("{}", report::wrap("note: " + printable(note), report::text_width(style), ""));
}

Status write_timeline(const std::string& file, const Answer& answer) {
  const report::MemoryReport& report = answer.memory;
  const estimate::Timeline timeline =
      estimate::memory_timeline(report.inspection.network, answer.program, report.setting, report.device);
  const std::string title = fmt::format("{}, batch {}, {}", report.inspection.model, report.batch,
                                        network::name(report.setting.mode));
  return write_file(file, report::timeline_page(timeline, title, report.estimate.capacity));
}

Status write_kernel_page(const std::string& file, const Answer& answer) {
  const report::MemoryReport& report = answer.memory;
  if (!answer.profile) return fail("there are no times to draw: {}", answer.no_time);
  const std::string title = fmt::format("{}, batch {}, {} in {} on {}", report.inspection.model, report.batch,
                                        network::name(report.setting.mode),
                                        network::name(report.setting.precision), report.device.name);
  return write_file(file, report::kernel_page(answer.kernel_report(), title));
}

Result<int> run(EstimateOptions options, const report::TextStyle& style) {
  if (options.compile)
    return std::unexpected(Error{
        "torch.compile is not modelled", "--compile",
        "Leave it out: the answer is for PyTorch's own kernels, launched one by one or as a CUDA graph."});
  PLIMSOLL_TRY(options.links.read(options.inspect.setting.interconnect));
  const Result<std::vector<EstimateTarget>> targets = estimate_targets(options.devices, options.calibration);
  PLIMSOLL_TRY(targets);
  const Result<Batches> batches = Batches::load(options.model, options.inspect);
  if (!batches) return std::unexpected(batches.error());
  if (!options.sweep.what.empty()) {
    return run_sweep(options.sweep, *batches, options.inspect.setting, *targets, options.model,
                     {.max_batch = options.max_batch, .json = options.json, .style = style});
  }
  std::deque<Bound> kept;
  std::vector<Answer> answers;
  for (const EstimateTarget& target : *targets)
    for (const std::int64_t batch :
         options.batches.empty() ? std::vector<std::int64_t>{0} : options.batches) {
      Result<Answer> answer = one_answer(options, *batches, target, batch, kept);
      if (!answer) return std::unexpected(std::move(answer).error());
      answers.push_back(std::move(*answer));
    }
  if (!options.timeline.empty()) {
    PLIMSOLL_TRY(write_timeline(options.timeline, answers.front()));
  }
  if (!options.kernel_page.empty()) PLIMSOLL_TRY(write_kernel_page(options.kernel_page, answers.front()));
  if (options.json && answers.size() == 1) {
    print_json(to_json(answers.front(), options));
  } else if (options.json) {
    nlohmann::ordered_json rows = nlohmann::ordered_json::array();
    for (const Answer& answer : answers) rows.push_back(to_json(answer, options));
    print_json(nlohmann::ordered_json{{"estimates", std::move(rows)}});
  } else if (answers.size() == 1) {
    print_text(answers.front(), options, style);
  } else {
    print_table(answers, style);
  }
  const bool nowhere =
      std::ranges::none_of(answers, [](const Answer& a) { return a.memory.estimate.fits.value_or(true); });
  return nowhere ? 1 : 0;
}

}  // namespace

void add_estimate(CommandLine& app, Invocation& invocation) {
  auto options = std::make_shared<EstimateOptions>();
  CommandLine* command = app.add_subcommand(
      "estimate", "Will it fit, and how long does it take: memory, time and energy on a device, and why");
  command->add_option("model", options->model, kModelWords)->required()->option_text("MODEL");
  options->inspect.binding.add_to(*command, options->inspect.setting, options->batches);
  add_mode_option(*command, options->inspect.setting.mode);
  command->add_flag("--allow-unknown", options->inspect.allow_unknown,
                    "Go on without operators that are unknown");
  add_devices_option(*command, options->devices,
                     "Ids from `plimsoll devices`, `this` (default), `cpu`, or a device file");
  add_setting_options(*command, options->inspect.setting);
  options->links.add_to(*command, options->inspect.setting.interconnect);
  command->add_flag("--max-batch", options->max_batch, "Find the largest batch that fits");
  command->add_flag("--advice", options->advice,
                    "Say what would lower the memory, and by how much (default where it does not fit)");
  command->add_option("--timeline", options->timeline, "Write a page with the memory over one iteration")
      ->option_text("FILE");
  command
      ->add_option("--calibration", options->calibration,
                   "Take the calibration of this device file; `none`: use the datasheet alone (default: the "
                   "device's own calibration)")
      ->option_text("FILE");
  command->add_flag("--layers", options->layers, "Show the time of every layer, too");
  command->add_flag("--kernels", options->kernels,
                    "Show every kernel in the order in which they run, and what it asks of the GPU");
  command
      ->add_option("--kernel-page", options->kernel_page,
                   "Write a page with the kernels of one pass over time, coloured by what binds them")
      ->option_text("FILE");
  command->add_flag("--compile", options->compile, "Refused: torch.compile is not modelled");
  options->sweep.add_to(*command);
  command->add_flag("--json", options->json, "Print one JSON document");
  command->footer(
      "Examples:\n"
      "  plimsoll estimate resnet50 --mode train --batch 256 --optimizer adam --device t4\n"
      "  plimsoll estimate gpt2 --seq 1024 --mode train --batch 8,16,32 --device a100-80-sxm,h200\n"
      "  plimsoll estimate model.onnx --mode train --device h200 --max-batch\n"
      "  plimsoll estimate resnet50 --device h200,l4,t4 --sweep batch=1..256 --html sweep.html\n"
      "  plimsoll estimate bert-base --device h200 --batch 8 --kernels --kernel-page kernels.html\n"
      "Exit code 1: it fits on none of the devices.");
  command->callback([options, &invocation] {
    invocation.run = [options, &invocation] { return run(*options, output_style(invocation)); };
  });
}

}  // namespace plimsoll
