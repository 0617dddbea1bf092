#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/files.hpp"
#include "base/printable.hpp"
#include "calibration.hpp"
#include "command.hpp"
#include "cuda/job.hpp"
#include "hardware/device_file.hpp"
#include "hardware/this_machine.hpp"
#include "interruption.hpp"
#include "measure/engine_program.hpp"
#include "nvml/library.hpp"
#include "probe/cpu_studies.hpp"
#include "probe/gpu_survey.hpp"
#include "progress_line.hpp"
#include "report/probe_charts.hpp"
#include "report/probe_page.hpp"
#include "report/probe_report.hpp"
#include "sharing_probe.hpp"
#include "sharing_refinement.hpp"

namespace plimsoll {
namespace {

using probe::Findings;
using probe::SurveyedDevice;

struct ProbeOptions {
  std::vector<double> millions = {1, 5, 10, 50, 100};
  std::vector<std::int64_t> sizes = {256, 512, 1024, 2048, 4096, 8192};
  int device = 0;
  bool quick = false;
  bool json = false, csv = false;
  std::string svg, html;
  bool calibrate = false, sharing = false, from_runs = false;
  std::string store;
  std::string output, extend;
};

/// What is asked for.
struct Subject {
  bool cpu = true, cuda = true;
  bool vectors = true, products = true, ceilings = true;
};
constexpr Subject kAll{};
constexpr Subject kCpu{.cuda = false};
constexpr Subject kCuda{.cpu = false};
constexpr Subject kVectors{.products = false, .ceilings = false};
constexpr Subject kProducts{.vectors = false, .ceilings = false};

constexpr double kQuick = 0.1;       ///< of the time that a figure may take otherwise
constexpr double kSecondsEach = 20;  ///< for a study; a guess for the progress line
constexpr double kMillion = 1e6;
constexpr double kMostMillions = 20'000;  ///< three arrays of 80 GB

std::vector<std::int64_t> elements_of(const ProbeOptions& options) {
  std::vector<std::int64_t> out;
  for (const double millions : options.millions)
    out.push_back(std::max<std::int64_t>(1, std::llround(millions * kMillion)));
  return out;
}

std::string today() {
  return fmt::format("{:%Y-%m-%d}",
                     fmt::gmtime(std::chrono::system_clock::to_time_t(std::chrono::system_clock::now())));
}

/// One study after the other, each a row of the progress line.
class Studies {
 public:
  explicit Studies(std::int64_t rows) : line_(rows, kSecondsEach) {}

  template <class Study>
  Status add(const std::string& title, Findings& findings, Study study) {
    line_.begin_row(title);
    Result<Findings> found = study(probe::Progress(
        [this](std::string_view what, double done) { line_.show({std::string(what), done, {}}); }));
    if (!found) return std::unexpected(std::move(found).error().within(title));
    line_.end_row();
    append(findings, std::move(*found));
    return {};
  }

 private:
  ProgressLine line_;
};

Result<SurveyedDevice> survey_cpu(const ProbeOptions& options, const Subject& subject,
                                  const hardware::Device& described) {
  probe::CpuHost host = probe::cpu_host(described.name);
  if (options.quick) host.patience = kQuick;
  SurveyedDevice out{
      .device = described,
      .setup = fmt::format("{} thread{}", host.cores.threads, host.cores.threads == 1 ? "" : "s")};
  Findings& all = out.findings;
  const auto elements = elements_of(options);
  Studies studies((subject.ceilings ? 3 : 0) + (subject.vectors ? 1 : 0) + (subject.products ? 1 : 0));
  probe::CpuWatch watch;
  // Idle power first, while nothing has warmed the processor up.
  if (subject.ceilings) {
    PLIMSOLL_TRY(studies.add("CPU power", all, [&](const auto& p) { return power_rates(host, p); }));
    PLIMSOLL_TRY(studies.add("CPU memory", all, [&](const auto& p) { return memory_rates(host, p); }));
    PLIMSOLL_TRY(studies.add("CPU products", all, [&](const auto& p) { return product_rates(host, p); }));
  }
  if (subject.vectors)
    PLIMSOLL_TRY(studies.add("CPU sums", all, [&](const auto& p) { return add_vectors(host, elements, p); }));
  if (subject.products)
    PLIMSOLL_TRY(studies.add("CPU matrices", all,
                             [&](const auto& p) { return multiply_matrices(host, options.sizes, p); }));
  out.doubts = watch.doubts();
  return out;
}

Result<SurveyedDevice> survey_gpu(const ProbeOptions& options, const Subject& subject,
                                  const hardware::ThisMachine* machine, const std::string& date,
                                  Interruption& interruption) {
  probe::GpuStudies studies{.power = subject.ceilings};
  const auto job = [&](cuda::Task task) -> cuda::Job& {
    studies.jobs.push_back({.task = task, .device = options.device});
    return studies.jobs.back();
  };
  if (subject.ceilings) job(cuda::Task::ceilings);
  if (subject.vectors) job(cuda::Task::vecadd).elements = elements_of(options);
  if (subject.products) job(cuda::Task::matmul).sizes = options.sizes;
  const Result<std::unique_ptr<nvml::Library>> nvml = nvml::open();
  const probe::GpuHost host{.library = nvml ? nvml->get() : nullptr,
                            .machine = machine,
                            .no_driver = nvml ? "" : nvml.error().text(),
                            .date = date};
  ProgressLine line(1, kSecondsEach * static_cast<double>(studies.jobs.size()));
  line.begin_row("GPU");
  return probe::survey_gpu(
      host, studies, [&](std::string_view what, double done) { line.show({std::string(what), done, {}}); },
      [&] { return interruption.came(); });
}

/// A name for every chart in a folder that is made where it is not there.
Status write_charts(const std::filesystem::path& folder, const probe::Survey& survey) {
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  if (failed)
    return std::unexpected(
        Error{fmt::format("cannot make the folder: {}", failed.message()), folder.string()});
  for (const report::LogChart& chart : report::survey_charts(survey)) {
    const std::filesystem::path file = folder / (chart.name + ".svg");
    PLIMSOLL_TRY(write_file(file, to_svg(chart, report::SvgUse::file)));
    fmt::print(stderr, "a chart is in {}\n", printable(file.string()));
  }
  return {};
}

Status print(const probe::Survey& survey, const ProbeOptions& options, const report::TextStyle& style) {
  if (!options.svg.empty()) PLIMSOLL_TRY(write_charts(options.svg, survey));
  if (!options.html.empty()) {
    PLIMSOLL_TRY(write_file(options.html, report::survey_page(survey)));
    fmt::print(stderr, "the page is in {}\n", printable(options.html));
  }
  if (options.json)
    fmt::print("{}\n", report::to_json(survey).dump());
  else if (options.csv)
    fmt::print("{}", to_csv(report::survey_csv(survey)));
  else
    fmt::print("{}", report::survey_text(survey, style));
  return {};
}

/// What of a calibration needs no engine: the device's ceilings; and how to get one.
Result<int> ceilings_alone(const ProbeOptions& options, bool gpu, const hardware::Device& described,
                           const hardware::ThisMachine& machine, const Error& lacking,
                           const report::TextStyle& style) {
  // Before the minutes that they take, too.
  fmt::print(stderr,
             "plimsoll: there is no engine to time operators with; ceilings are measured, no calibration is "
             "written\n");
  probe::Survey survey{.date = today()};
  const Subject ceilings{.vectors = false, .products = false};
  if (gpu) {
    Result<running::SignalSource> signals = running::SignalSource::open();
    PLIMSOLL_TRY(signals);
    Interruption interruption(std::move(*signals));
    Result<SurveyedDevice> found = survey_gpu(options, ceilings, &machine, survey.date, interruption);
    if (interruption.came()) return 128 + interruption.signal();
    PLIMSOLL_TRY(found);
    complete_ceilings(*found, survey.date);
    survey.gpu = *std::move(found);
  } else {
    Result<SurveyedDevice> found = survey_cpu(options, ceilings, described);
    PLIMSOLL_TRY(found);
    complete_ceilings(*found, survey.date);
    survey.cpu = *std::move(found);
  }
  PLIMSOLL_TRY(print(survey, options, style));
  fmt::print(stderr, "plimsoll: only ceilings were measured, and no calibration was written: {}\n  {}\n",
             printable(lacking.text()), lacking.hint);
  return 3;
}

/// Only what an earlier calibration of the same device lacks.
Result<int> extend_calibration(const ProbeOptions& options, const hardware::Device& described,
                               const std::filesystem::path& engine, const std::string& engine_device,
                               const report::TextStyle& style) {
  Result<hardware::Device> before = hardware::load_file(options.extend);
  PLIMSOLL_TRY(before);
  if (!before->calibration) return std::unexpected(Error{"has no calibration to extend", options.extend});
  if (before->kind != described.kind || before->id != described.id)
    return std::unexpected(
        Error{fmt::format("is the calibration of {}; this is {}", before->name, described.name),
              options.extend, "Extend a calibration on the device that it is of."});
  const Result<std::filesystem::path> output = calibration_file(options.output, *before);
  PLIMSOLL_TRY(output);
  Result<running::SignalSource> signals = running::SignalSource::open();
  PLIMSOLL_TRY(signals);
  Interruption interruption(std::move(*signals));
  const Result<std::unique_ptr<nvml::Library>> nvml = nvml::open();
  std::optional<hardware::Calibration> extended = std::exchange(before->calibration, std::nullopt);
  return run_calibration({.engine = engine,
                          .engine_device = engine_device,
                          .ceilings = {.device = *std::move(before)},
                          .extended = std::move(extended),
                          .output = *output,
                          .date = today(),
                          .nvml = nvml ? nvml->get() : nullptr,
                          .json = options.json},
                         interruption, style);
}

/// The ceilings of one device, then its operators through the engine.
Result<int> calibrate(const ProbeOptions& options, const Subject& asked, const hardware::ThisMachine& machine,
                      const report::TextStyle& style) {
  const bool gpu = asked.cuda && (!machine.gpus.empty() || !asked.cpu);
  const auto number = static_cast<std::size_t>(options.device);
  if (gpu && number >= machine.gpus.size())
    return std::unexpected(Error{fmt::format("there is no GPU {} on this machine", number),
                                 {},
                                 "`plimsoll probe cpu --calibrate` calibrates the CPU.",
                                 Error::Kind::machine_lacks});
  const hardware::Device& described = gpu ? machine.gpus[number] : machine.cpu;
  const Result<std::filesystem::path> engine = measure::find_engine(measure::EngineSearch::of_this_process());
  if (!engine && !options.extend.empty()) return std::unexpected(engine.error());
  if (!engine) return ceilings_alone(options, gpu, described, machine, engine.error(), style);
  const std::string engine_device = gpu ? fmt::format("cuda:{}", number) : "cpu";
  if (!options.extend.empty()) return extend_calibration(options, described, *engine, engine_device, style);
  const Result<std::filesystem::path> output = calibration_file(options.output, described);
  PLIMSOLL_TRY(output);
  const std::string date = today();
  const Subject ceilings{.vectors = false, .products = false};
  std::optional<Result<SurveyedDevice>> found;
  if (!gpu) found = survey_cpu(options, ceilings, described);
  // Only now: the studies of the CPU end by Ctrl-C like any program.
  Result<running::SignalSource> signals = running::SignalSource::open();
  PLIMSOLL_TRY(signals);
  Interruption interruption(std::move(*signals));
  if (gpu) found = survey_gpu(options, ceilings, &machine, date, interruption);
  if (interruption.came()) {
    fmt::print(stderr, "plimsoll: interrupted before any operator was timed\n");
    return 128 + interruption.signal();
  }
  SurveyedDevice measured{.device = described};
  if (*found) {
    measured = std::move(**found);
    complete_ceilings(measured, date);
  } else {
    // Operators can be timed all the same.
    measured.findings.remarks.push_back(fmt::format("no ceilings: {}", found->error().text()));
  }
  measured.device = described;
  const Result<std::unique_ptr<nvml::Library>> nvml = nvml::open();
  return run_calibration({.engine = *engine,
                          .engine_device = engine_device,
                          .ceilings = std::move(measured),
                          .output = *output,
                          .date = date,
                          .nvml = nvml ? nvml->get() : nullptr,
                          .json = options.json},
                         interruption, style);
}

Status check(const ProbeOptions& options) {
  if (options.json && options.csv) return fail("--json and --csv cannot be given together");
  if (!options.output.empty() && !options.calibrate && !options.sharing)
    return fail("-o is of use only with --calibrate or --sharing, whose file it names");
  if (options.sharing && options.calibrate) return fail("--sharing and --calibrate cannot be given together");
  if (options.sharing && (options.csv || !options.svg.empty() || !options.html.empty()))
    return fail("--sharing prints a table or --json; --csv, --svg and --html cannot be given with it");
  if (!options.extend.empty() && !options.calibrate) return fail("--extend is of use only with --calibrate");
  if (options.calibrate && (options.csv || !options.svg.empty() || !options.html.empty()))
    return fail("--calibrate writes a device file; --csv, --svg and --html cannot be given with it");
  return {};
}

bool all_right(const probe::Survey& survey) {
  const auto right = [](const std::optional<SurveyedDevice>& device) {
    return !device || (std::ranges::all_of(device->findings.vector_adds, &probe::VectorAdd::right) &&
                       std::ranges::all_of(device->findings.products, &probe::MatrixProduct::right));
  };
  return right(survey.cpu) && right(survey.gpu);
}

Result<int> run(const ProbeOptions& options, const Subject& subject, const report::TextStyle& style) {
  PLIMSOLL_TRY(check(options));
  if (options.sharing && !(subject.cpu && subject.cuda && subject.ceilings))
    return fail("--sharing is a study of its own: `plimsoll probe --sharing`");
  if (options.from_runs && !options.sharing) return fail("--from-runs goes with --sharing");
  if (options.from_runs) return refine_sharing({options.store, options.output, today(), options.json}, style);
  if (options.sharing) return probe_sharing({options.device, options.output, today(), options.json}, style);
  const Result<hardware::ThisMachine> machine = hardware::this_machine();
  PLIMSOLL_TRY(machine);
  if (options.calibrate) return calibrate(options, subject, *machine, style);
  probe::Survey survey{.date = today()};
  if (subject.cpu) {
    Result<SurveyedDevice> cpu = survey_cpu(options, subject, machine->cpu);
    PLIMSOLL_TRY(cpu);
    survey.cpu = std::move(*cpu);
  }
  if (subject.cuda) {
    // Only now: the studies of the CPU end by Ctrl-C like any program.
    Result<running::SignalSource> signals = running::SignalSource::open();
    PLIMSOLL_TRY(signals);
    Interruption interruption(std::move(*signals));
    Result<SurveyedDevice> gpu = survey_gpu(options, subject, &*machine, survey.date, interruption);
    if (interruption.signal() != 0) {
      fmt::print(stderr, "plimsoll: interrupted; plimsoll-cuda was ended\n");
      return 128 + interruption.signal();
    }
    if (gpu)
      survey.gpu = std::move(*gpu);
    else if (!subject.cpu)
      return std::unexpected(std::move(gpu).error());
    else
      survey.no_gpu = std::move(gpu).error();
  }
  if (survey.cpu) complete_ceilings(*survey.cpu, survey.date);
  if (survey.gpu) complete_ceilings(*survey.gpu, survey.date);
  PLIMSOLL_TRY(print(survey, options, style));
  if (all_right(survey)) return 0;
  fmt::print(stderr, "plimsoll: some results are wrong: this machine cannot be trusted\n");
  return 1;
}

using SharedProbe = std::shared_ptr<ProbeOptions>;

void add_common(CommandLine& command, ProbeOptions& options) {
  command.add_option("--device", options.device, "The GPU, by its number (default: 0)")
      ->in_range(0, cuda::kMostDevices - 1)
      ->option_text("N");
  command.add_flag("--quick", options.quick, "Measure the CPU in a tenth of the time, less exactly");
  command.add_option("--svg", options.svg, "Write every chart as SVG into this folder")
      ->option_text("FOLDER");
  command.add_option("--html", options.html, "Write one page that opens without a network")
      ->option_text("FILE");
  command.add_flag("--json", options.json, "Print one JSON document, with all samples");
  command.add_flag("--csv", options.csv, "Print CSV: one line per figure");
}

void add_calibrate(CommandLine& command, ProbeOptions& options, const char* other_output = "") {
  command.add_flag(
      "--calibrate", options.calibrate,
      "Time real operators through the engine and write a device file; it can be interrupted and continued; "
      "needs `make engine`, without which the ceilings alone are measured");
  command
      .add_option("-o,--output", options.output,
                  fmt::format("The file that --calibrate writes (default: where estimates look for it, "
                              "calibrations/ID.json in your data folder){}",
                              other_output))
      ->option_text("FILE");
  command
      .add_option("--extend", options.extend,
                  "With --calibrate: keep what this device file has measured, and time only what it lacks")
      ->option_text("FILE");
}

void add_sharing(CommandLine& command, ProbeOptions& options) {
  command.add_flag("--sharing", options.sharing,
                   "Measure what sharing the GPU costs, without MPS and under one of its own, in about a "
                   "minute; `plimsoll beside` reads what it finds");
  command.add_flag(
      "--from-runs", options.from_runs,
      "With --sharing: measure nothing, and refine the figures by recorded runs that were predicted "
      "beside others");
  command
      .add_option("--store", options.store, "With --from-runs: where runs are kept (default: PLIMSOLL_STORE)")
      ->option_text("STORE");
}

void add_millions(CommandLine& command, ProbeOptions& options) {
  command
      .add_option("--millions", options.millions, "Millions of floats in each array (default: 1,5,10,50,100)")
      ->delimiter(',')
      ->in_range(1e-6, kMostMillions)
      ->option_text("K,…");
}

void add_sizes(CommandLine& command, ProbeOptions& options) {
  command.add_option("--sizes", options.sizes, "Rows and columns of the matrices (default: 256 to 8192)")
      ->delimiter(',')
      ->in_range(std::int64_t{1}, cuda::kMostSize)
      ->option_text("N,…");
}

void add_study(CommandLine& command, const SharedProbe& options, Invocation& invocation, const char* name,
               const char* description, const Subject& subject, const char* example) {
  CommandLine* study = command.add_subcommand(name, description);
  add_common(*study, *options);
  if (subject.ceilings) add_calibrate(*study, *options);
  if (subject.vectors) add_millions(*study, *options);
  if (subject.products) add_sizes(*study, *options);
  study->footer(fmt::format("Example:\n  plimsoll probe {}", example));
  study->callback([options, subject, &invocation] {
    invocation.run = [options, subject, &invocation] {
      return run(*options, subject, output_style(invocation));
    };
  });
}

}  // namespace

void add_probe(CommandLine& app, Invocation& invocation) {
  auto options = std::make_shared<ProbeOptions>();
  CommandLine* command =
      app.add_subcommand("probe", "Measure what this machine can really do, beside its datasheet");
  add_common(*command, *options);
  add_calibrate(*command, *options, ", or --sharing (default: ID.sharing.json there)");
  add_sharing(*command, *options);
  add_millions(*command, *options);
  add_sizes(*command, *options);
  command->require_subcommand(0, 1);
  add_study(*command, options, invocation, "cpu", "Measure the CPU alone", kCpu, "cpu --html machine.html");
  add_study(*command, options, invocation, "cuda", "Measure the GPU alone, with plimsoll-cuda", kCuda,
            "cuda --device 1 --json");
  add_study(*command, options, invocation, "vecadd",
            "Time sums of two arrays: on the CPU, copied to the GPU, in unified memory", kVectors,
            "vecadd --millions 1,5,10,50,100 --svg charts");
  add_study(*command, options, invocation, "matmul",
            "Time products of two matrices: naive, blocked, by a library", kProducts,
            "matmul --sizes 256,1024,4096 --csv");
  command->footer(
      "Examples:\n"
      "  plimsoll probe                                   all of it, a few minutes\n"
      "  plimsoll probe cpu --html machine.html           the CPU's ceilings, with charts\n"
      "  plimsoll probe vecadd --millions 1,5,10,50,100 --svg charts\n"
      "  plimsoll probe matmul --sizes 256,1024,4096 --csv\n"
      "  plimsoll probe --calibrate                       what estimates for this machine read, some "
      "minutes\n"
      "  plimsoll probe --sharing                         what sharing the GPU costs, a minute\n"
      "  plimsoll probe --sharing --from-runs             the same, better, from runs that shared it\n"
      "Without a GPU the CPU's part runs, and the answer says why the rest did not.");
  command->callback([options, command, &invocation] {
    if (command->has_subcommand()) return;
    invocation.run = [options, &invocation] { return run(*options, kAll, output_style(invocation)); };
  });
}

}  // namespace plimsoll
