#include "measure_options.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <utility>

#include "inspect_model.hpp"
#include "quantity.hpp"
#include "setting_options.hpp"

namespace plimsoll {
namespace {

constexpr double kDay = 24.0 * 3600;
constexpr std::int64_t kSamplesOfMultiStream = 8;  // MLPerf Inference's rules for its edge category

auto between(double least, double most) {
  return [least, most](const std::string& text) {
    double value = 0;
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool fits =
        problem == std::errc() && end == text.data() + text.size() && value >= least && value <= most;
    return fits ? std::string() : fmt::format("'{}' is not a number from {:g} to {:g}", text, least, most);
  };
}

}  // namespace

Result<std::string> engine_device(const std::string& word) {
  if (word == "cpu" || word == "this-cpu") return "cpu";
  if (word == "cuda" || word == "gpu") return "cuda:0";
  unsigned number = 0;
  if (word.starts_with("cuda:")) {
    const std::string_view digits = std::string_view(word).substr(5);
    const auto [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (problem == std::errc() && end == digits.data() + digits.size() && number < 1000)
      return fmt::format("cuda:{}", number);
  }
  return std::unexpected(
      Error{fmt::format("'{}' is not a device that can be measured on", word), "",
            "Use cpu, cuda or cuda:N; `plimsoll estimate` answers for devices that are not here."});
}

void MeasureOptions::add_to(CommandLine& command) {
  command
      .add_option("models", models, "ONNX files, zoo names, folders with a config.json, or FILE.py:function")
      ->required()
      ->option_text("MODEL…");
  binding.add_to(command, setting, batches);
  add_devices_option(command, devices, "cpu, cuda or cuda:N (default: the first GPU, else the CPU)");
  command.get_option("--device")->offers({"cpu", "cuda", "cuda:0"});  // not the catalogue's
  add_run_options(command);
  add_protocol_options(command);
  add_scenario_options(command);
  command.add_flag(
      "--together", together,
      "Load all models in each row's process: weights that they share in one file are held once");
  command.add_flag("--json", json, "Print one JSON document, with all samples");
  command.add_flag("--csv", csv, "Print CSV: one line per model, device and batch");
}

void MeasureOptions::add_run_options(CommandLine& command) {
  add_mode_option(command, setting.mode);
  add_precision_option(command, setting.precision);
  add_optimizer_option(command, setting.optimizer);
  add_loss_option(command, setting.loss);
  add_in_place_option(command, setting.in_place);
  command.add_option("--weights", weights.file, "Take weights from a safetensors file, by name")
      ->option_text("FILE");
  command.add_flag("--random-weights", weights.random,
                   "Draw parameters at random, as is always done for zoo names");
  command.add_option("--seed", execution.seed, "Seed of random weights, inputs and Dropout (default: 0)")
      ->option_text("N");
  add_layout_option(command, setting.layout);
  command.add_flag("--capture", setting.captured,
                   "Run as a CUDA graph: the pass, or the whole training step");
  command.add_flag("--literal", setting.literal,
                   "Run every operator by itself; recognise none that together are one kernel");
  command.add_flag("--fold", setting.fold, "Fold BatchNorm into the convolution before it (inference)");
  add_key_value_cache_option(command, setting.key_value_cache);
  command.add_option("--freeze", setting.frozen, "Do not train parameters whose names begin with this")
      ->delimiter(',')
      ->option_text("PREFIX,…");
  command
      .add_option("--checkpoint", setting.checkpoints,
                  "Compute the activations between these layers again in the backward pass")
      ->delimiter(',')
      ->option_text("NAME,…");
  command.add_option("--threads", execution.threads, "Threads of the CPU (default: 0, all cores)")
      ->check(between(0, 65536))
      ->option_text("N");
}

void MeasureOptions::add_protocol_options(CommandLine& command) {
  command.add_option("--time-limit", protocol.seconds, "Most seconds of hot passes per row (default: 10)")
      ->check(between(0.001, kDay))
      ->option_text("SECONDS");
  command
      .add_option("--width", protocol.relative_width,
                  "Stop when the median's interval is this share of it (default: 0.02)")
      ->check(between(0, 10))
      ->option_text("SHARE");
  command.add_option("--confidence", protocol.confidence, "Confidence of all intervals (default: 0.95)")
      ->check(between(0.5, 0.9999))
      ->option_text("SHARE");
  command.add_flag("--layers", protocol.layers, "Show the time of every layer, too");
  command
      .add_option("--energy", energy_seconds,
                  "Seconds of steady passes to measure energy (default: 3 where there is a counter; 0: none)")
      ->check(between(0, kDay))
      ->option_text("SECONDS");
  command
      .add_option("--trace", protocol.trace,
                  "Write the allocator's events to this file, for one model, device and batch")
      ->option_text("FILE");
  command.add_option("--timeout", timeout, "Seconds that the engine may take for one row (default: 3600)")
      ->check(between(0.1, 30 * kDay))
      ->option_text("SECONDS");
  command
      .add_option("--silence", silence,
                  "Seconds of silence after which the engine counts as hung (default: 300)")
      ->check(between(0.1, 30 * kDay))
      ->option_text("SECONDS");
}

void MeasureOptions::add_scenario_options(CommandLine& command) {
  static const std::map<std::string, job::Arrival> kArrivals = {
      {"single-stream", job::Arrival::single_stream},
      {"multi-stream", job::Arrival::multi_stream},
      {"server", job::Arrival::server},
      {"offline", job::Arrival::offline}};
  command
      .add_choice("--scenario", protocol.scenario.arrival, kArrivals,
                  "Queries as MLPerf Inference sends them: single-stream, multi-stream, server, offline")
      ->option_text("SCENARIO");
  command
      .add_option("--qps", protocol.scenario.queries_per_second,
                  "Queries a second on average, with --scenario server")
      ->check(between(1e-6, 1e9))
      ->option_text("N");
  command
      .add_option("--queries", protocol.scenario.queries,
                  "Queries to send (default: as many as --time-limit allows); with --scenario offline, "
                  "samples (default: 32 batches)")
      ->check(between(1, 1e9))
      ->option_text("N");
  command.add_option("--scene", scene, "Measure one image that is cut into patches: WIDTHxHEIGHT")
      ->option_text("SIZE");
  command.add_option("--patch", patch, "Size of a patch of --scene: 224, or 224x224")->option_text("SIZE");
}

Result<std::vector<std::string>> MeasureOptions::checked_devices(std::string_view otherwise) const {
  std::vector<std::string> out;
  for (const std::string& word : devices) {
    Result<std::string> device = engine_device(word);
    if (!device) return std::unexpected(std::move(device).error());
    if (std::ranges::find(out, *device) == out.end()) out.push_back(std::move(*device));
  }
  if (out.empty()) out.emplace_back(otherwise);
  if (setting.captured && std::ranges::find(out, "cpu") != out.end())
    return fail("--capture makes a CUDA graph, which a CPU cannot run");
  return out;
}

Result<std::optional<measure::Scene>> MeasureOptions::checked_scene() const {
  if (scene.empty() && patch.empty()) return std::nullopt;
  if (scene.empty() || patch.empty()) return fail("--scene and --patch are of use only together");
  const auto whole = parse_size(scene, false, "--scene");
  if (!whole) return std::unexpected(whole.error());
  const auto part = parse_size(patch, true, "--patch");
  if (!part) return std::unexpected(part.error());
  const measure::Scene out{whole->first, whole->second, part->first, part->second};
  if (out.patches() == 0) return fail("a patch of {} is larger than the scene of {}", patch, scene);
  return out;
}

Result<job::Protocol> MeasureOptions::checked_protocol(const std::optional<measure::Scene>& of) const {
  job::Protocol out = protocol;
  job::Scenario& s = out.scenario;
  if (of) {
    if (s.arrival != job::Arrival::none && s.arrival != job::Arrival::offline)
      return fail("--scene is an offline scenario: its patches are all there at once");
    s.arrival = job::Arrival::offline;
    s.samples = of->patches();
  }
  if (s.arrival == job::Arrival::none && (s.queries > 0 || s.queries_per_second > 0))
    return fail("--queries and --qps are of use only with --scenario");
  if (s.arrival == job::Arrival::server && s.queries_per_second <= 0)
    return fail("--scenario server needs --qps, the queries that come in a second on average");
  if (s.arrival != job::Arrival::server && s.queries_per_second > 0)
    return fail("--qps is of use only with --scenario server");
  if (s.arrival != job::Arrival::none && setting.mode == network::Mode::train)
    return fail("--scenario measures inference; it cannot be given with --mode train");
  // Offline is one query; how many samples it has is what can be asked for.
  if (s.arrival == job::Arrival::offline && !of) s.samples = std::exchange(s.queries, 0);
  if (s.arrival == job::Arrival::multi_stream) s.samples_per_query = kSamplesOfMultiStream;
  return out;
}

}  // namespace plimsoll
