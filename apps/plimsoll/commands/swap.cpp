#include <algorithm>
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/printable.hpp"
#include "command.hpp"
#include "json_output.hpp"
#include "swap_running.hpp"
#include "swap_simulation.hpp"
#include "swapping/policy.hpp"

namespace plimsoll {
namespace {

Result<int> run_swap(const SwapOptions& options, const report::TextStyle& style) {
  auto ground = simulate_swapping(options);
  PLIMSOLL_TRY(ground);
  SwapEnd end = SwapEnd::done;
  if (options.run) {
    const auto ran = run_swapping(options, *ground);
    PLIMSOLL_TRY(ran);
    end = *ran;
  }
  if (end == SwapEnd::interrupted) {
    fmt::print(stderr, "plimsoll: interrupted; the engine was ended\n");
    return 130;
  }
  const report::SwapReport& report = ground->report;
  if (end == SwapEnd::does_not_fit) {
    fmt::print(stderr, "plimsoll: does not fit: {}\n", printable(report.did_not_fit));
    return 1;
  }
  if (options.json)
    print_json(report::swap_json(report));
  else
    fmt::print("{}", report::swap_text(report, style));
  const auto differs = [](const report::SwapRun& run) { return run.outputs_differing > 0; };
  if (std::ranges::any_of(report.runs, differs)) return 4;
  const auto is_possible = [](const report::SwapReport::Row& row) { return !row.needs; };
  return std::ranges::any_of(report.rows, is_possible) ? 0 : 1;
}

void add_request_options(CommandLine& command, SwapOptions& options) {
  CommandLineOption* fps = command.add_option("--fps", options.fps, "Of models that name no rate (30)")
                               ->in_range(1e-3, 1e4)
                               ->option_text("N");
  command
      .add_option("--deadline", options.deadline,
                  "From a frame to its answer, where a model names none (100ms)")
      ->option_text("TIME");
  CommandLineOption* frames = command.add_option("--frames", options.frames, "Of all models together (3000)")
                                  ->in_range<std::int64_t>(1, 100'000)
                                  ->option_text("N");
  CommandLineOption* pattern = command.add_option("--pattern", options.pattern, "steady (default) or bursty")
                                   ->one_of({"steady", "bursty"})
                                   ->option_text("PATTERN");
  command.add_option("--seconds", options.seconds, "Instead of --frames: all that come until then")
      ->in_range(1e-3, 1e6)
      ->option_text("N")
      ->excludes(frames);
  command.add_option("--seed", options.seed, "Other bursts (0)")
      ->in_range<std::int64_t>(0, 1'000'000'000)
      ->option_text("N");
  command.add_option("--requests", options.requests, "CSV with columns seconds,model: when frames come")
      ->option_text("FILE")
      ->excludes(fps)
      ->excludes(frames)
      ->excludes(pattern);
  command.add_option("--late", options.late, "A frame that cannot be in time: drop (default) or run")
      ->one_of({"drop", "run"})
      ->option_text("WAY");
  command
      .add_option("--order", options.order,
                  "Of models whose frames come together: best (default; moves least) or given")
      ->one_of({"best", "given"})
      ->option_text("ORDER");
}

}  // namespace

void add_swap(CommandLine& app, Invocation& invocation) {
  const auto options = std::make_shared<SwapOptions>();
  CommandLine* command =
      app.add_subcommand("swap", "Several models in less memory than they need: what stays, what moves when");
  command
      ->add_option("models", options->models,
                   "[[model]] tables in TOML, and [[shared]] where some share weights")
      ->required()
      ->option_text("MODELS");
  command
      ->add_option("--memory", options->memory,
                   "For weights and activations: 2GiB; or room for the largest model, `largest`, or for a "
                   "share of all weights, 50%")
      ->required()
      ->option_text("SIZE");
  command->add_option("--device", options->device, "Id from `plimsoll devices`, or `this` (default)")
      ->option_text("DEVICE");
  std::vector<std::string> words{"all"};
  for (const swapping::Policy& policy : swapping::policies()) words.emplace_back(policy.name);
  command
      ->add_option("--policy", options->policies,
                   "all (default), lru, mru, belady-model, expected-block, belady-block")
      ->delimiter(',')
      ->offers(words)
      ->option_text("POLICY,…");
  CommandLineOption* simulate =
      command->add_flag("--simulate", options->simulate, "Simulate, as it does without");
  CommandLineOption* run = command
                               ->add_flag("--run", options->run,
                                          "Simulate, then run it for real on this machine: the policies that "
                                          "are named, else the best one")
                               ->excludes(simulate);
  command
      ->add_flag("--as-fast-as-possible", options->in_sequence,
                 "Run frames one after the other, each as soon as the one before it is served")
      ->needs(run);
  command->add_option("--threads", options->threads, "Threads of the CPU in a run (default: 0, all cores)")
      ->in_range<std::int64_t>(0, 65536)
      ->needs(run)
      ->option_text("N");
  command
      ->add_option("--outputs", options->outputs,
                   "Write what each model's last run gave to this file (safetensors)")
      ->needs(run)
      ->option_text("FILE");
  add_request_options(*command, *options);
  command->add_option("--block", options->block, "What is moved and what memory is counted in (2MiB)")
      ->option_text("SIZE");
  command->add_option("--link", options->link, "From the host to the device: 12GB/s (default: as measured)")
      ->option_text("RATE");
  command->add_option("--link-latency", options->latency, "Of each copy: 8us (default: as measured)")
      ->option_text("TIME");
  command
      ->add_option("--calibration", options->calibration,
                   "Take the calibration of this device file; `none`: use the datasheet alone")
      ->option_text("FILE");
  command->add_flag("--json", options->json, "Print one JSON document");
  command->footer(
      "Examples:\n"
      "  plimsoll swap cameras.toml --memory 1GiB --device h200\n"
      "  plimsoll swap cameras.toml --memory 50% --device h200 --policy lru,belady-block --pattern bursty\n"
      "  plimsoll swap cameras.toml --memory largest --device l4 --link 20GB/s --fps 10 --json\n"
      "  plimsoll swap cameras.toml --memory 50% --link 8GB/s --run --seconds 20\n"
      "Exit code 1: no policy can run the models in so little memory. --run needs plimsoll-engine (`make "
      "engine`).");
  command->callback([options, &invocation] {
    invocation.run = [options, style = output_style(invocation)] { return run_swap(*options, style); };
  });
}

}  // namespace plimsoll
