#include "estimate/training.hpp"

#include <cmath>
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/printable.hpp"
#include "base/text.hpp"
#include "command.hpp"
#include "hardware/this_machine.hpp"
#include "json_output.hpp"
#include "quantity.hpp"
#include "report/inspection.hpp"
#include "report/paragraph.hpp"
#include "setting_options.hpp"
#include "step_training.hpp"

namespace plimsoll {
namespace {

using Json = nlohmann::ordered_json;

struct TrainingOptions {
  StepTraining step;
  std::string parameters, tokens, flops, rate, device, price;
  std::string precision, recompute = "none";
  TrainedModel model;
  bool json = false;
};

constexpr double kYear = 365.25 * 86400;

/// Days are what text() ends with; centuries of them say nothing to anybody.
std::string long_text(Seconds time) {
  return time.value() < 2 * kYear ? text(time) : fmt::format("{:.4g} years", time.value() / kYear);
}

/// Hours are few or very many, and are multiplied by a price: no prefixes.
std::string hours_text(double hours) {
  constexpr double kFew = 1000, kMostGrouped = 1e15;
  return hours < kFew || hours > kMostGrouped ? count_text(hours) : report::grouped(std::llround(hours));
}

/// The work of the training, and how it was reckoned.
struct Reckoning {
  Flops work, useful;
  std::string words;
};

Result<Reckoning> reckoning(const TrainingOptions& options) {
  if (!options.flops.empty()) {
    const auto given = parse_amount(options.flops, "--flops");
    PLIMSOLL_TRY(given);
    return Reckoning{Flops(*given), Flops(*given), "as given"};
  }
  if (options.parameters.empty() || options.tokens.empty())
    return std::unexpected(Error{"how much there is to compute is not given",
                                 {},
                                 "Give a MODEL, --step-time, --flops, or --parameters and --tokens."});
  const auto parameters = parse_amount(options.parameters, "--parameters");
  PLIMSOLL_TRY(parameters);
  const auto tokens = parse_amount(options.tokens, "--tokens");
  PLIMSOLL_TRY(tokens);
  const bool again = options.recompute == "full";
  using enum estimate::Recomputation;
  return Reckoning{estimate::training_flops(*parameters, *tokens, again ? full : none),
                   estimate::training_flops(*parameters, *tokens, none),
                   fmt::format("{} x {} parameters x {} tokens{}", again ? 8 : 6, count_text(*parameters),
                               count_text(*tokens), again ? ", activations recomputed" : "")};
}

Result<std::optional<hardware::DeviceFigure>> peak_of(const TrainingOptions& options) {
  if (options.device.empty()) return std::optional<hardware::DeviceFigure>();
  const Result<hardware::Device> device = hardware::device_named(options.device);
  PLIMSOLL_TRY(device);
  const auto arithmetic = hardware::arithmetic_named(options.precision.empty() ? "fp16" : options.precision);
  if (!arithmetic) return fail("--precision: {} has no peak rate", quote(options.precision));
  return device->peak_of(*arithmetic);
}

/// What each device reaches: as given, or its peak, which no training passes.
Result<FlopsPerSecond> rate_of(const TrainingOptions& options,
                               const std::optional<hardware::DeviceFigure>& peak) {
  if (!options.rate.empty()) return parse_flops_rate(options.rate, "--rate");
  if (options.device.empty())
    return std::unexpected(Error{"the rate that each device reaches is not given",
                                 {},
                                 "give --rate, as in 140TFLOP/s, or --device ID, whose peak is taken"});
  if (!peak)
    return fail("{} has no peak rate in {}; give the rate that each device reaches with --rate",
                quote(options.device), options.precision.empty() ? "fp16" : options.precision);
  return FlopsPerSecond(peak->value);
}

Result<int> run_long(const TrainingOptions& options, const report::TextStyle& style) {
  const auto work = reckoning(options);
  PLIMSOLL_TRY(work);
  const auto peak = peak_of(options);
  PLIMSOLL_TRY(peak);
  const auto rate = rate_of(options, *peak);
  PLIMSOLL_TRY(rate);
  const bool at_peak = options.rate.empty();
  const auto devices = parse_amount(options.step.devices, "--devices");
  PLIMSOLL_TRY(devices);
  estimate::LongTraining training{
      .work = work->work, .useful = work->useful, .devices = *devices, .reached = *rate};
  if (*peak && !at_peak) training.peak = FlopsPerSecond((*peak)->value);
  const estimate::LongTrainingTime time = estimate::time_of(training);
  std::optional<Money> money;
  if (!options.price.empty()) {
    const auto price = parse_price(options.price, "--price");
    PLIMSOLL_TRY(price);
    money = Money(price->value() * time.device_hours);
  }
  const auto number = [](const auto& value) { return value ? Json(*value) : Json(nullptr); };
  if (options.json) {
    print_json(Json{{"flops", work->work.value()},
                    {"seconds", time.time.value()},
                    {"device_hours", time.device_hours},
                    {"rate", rate->value()},
                    {"at_peak", at_peak},
                    {"mfu", number(time.model_share)},
                    {"hfu", number(time.hardware_share)},
                    {"dollars", money ? Json(money->value()) : Json(nullptr)}});
    return 0;
  }
  const auto line = [&](std::string_view label, const std::string& value) {
    fmt::print("{}", report::hanging(label, value, style));
  };
  line("work     ", fmt::format("{}: {}", text(work->work), work->words));
  line("time     ", fmt::format("{}{}: on {:g} device{} that reach{} {}{}", at_peak ? "at least " : "",
                                long_text(time.time), *devices, *devices == 1 ? "" : "s",
                                *devices == 1 ? "es" : "", text(*rate), *devices == 1 ? "" : " each"));
  fmt::print("devices  {} device hours{}\n", hours_text(time.device_hours),
             money ? fmt::format(", {}", text(*money)) : "");
  if (at_peak)
    line("rate     ", fmt::format("the peak of {}: {}. Trainings reach less; --rate says how much.",
                                  options.device, (*peak)->source));
  if (time.model_share)
    line("share    ", fmt::format("MFU {:.1f} %, HFU {:.1f} % of {}: {}", 100 * *time.model_share,
                                  100 * *time.hardware_share, text(*training.peak), (*peak)->source));
  return 0;
}

Result<int> run_steps(const TrainingOptions& options, const report::TextStyle& style) {
  StepTraining step = options.step;
  if (!options.tokens.empty()) {
    const auto tokens = parse_amount(options.tokens, "--tokens");
    PLIMSOLL_TRY(tokens);
    step.tokens = *tokens;
  }
  if (options.model.model.empty()) {
    const auto device = step.measured();
    PLIMSOLL_TRY(device);
    return step.print(*device, options.json, style);
  }
  if (step.asked())
    return fail("MODEL and --step-time cannot be given together: both say how long a step takes");
  TrainedModel model = options.model;
  model.device = options.device.empty() ? "this" : options.device;
  if (!options.precision.empty()) {
    const auto precision = network::precision_named(options.precision);
    if (!precision) return fail("--precision: {} is none", quote(options.precision));
    model.inspect.setting.precision = *precision;
  }
  const auto device = estimated_device(model);
  PLIMSOLL_TRY(device);
  if (device->sequence) {
    const auto sequence = static_cast<double>(*device->sequence);
    if (step.sequence != 1 && step.sequence != sequence)
      return fail(
          "--sequence says how long a sample is where --step-time is given; with a MODEL, give --seq");
    step.sequence = sequence;
  }
  return step.print(*device, options.json, style);
}

}  // namespace

void add_training(CommandLine& app, Invocation& invocation) {
  auto options = std::make_shared<TrainingOptions>();
  CommandLine* command = app.add_subcommand(
      "training", "How long a training takes: by its FLOPs, or by its step over many devices");
  command
      ->add_option("model", options->model.model,
                   fmt::format("The network whose step is estimated: {}", kModelWords))
      ->option_text("[MODEL]");
  options->model.inspect.binding.add_shapes_to(*command, options->model.inspect.setting);
  add_optimizer_option(*command, options->model.inspect.setting.optimizer);
  const auto text = [&command](const char* name, std::string& target, const char* help, const char* unit) {
    return command->add_option(name, target, help)->option_text(unit)->group("By all its FLOPs");
  };
  text("--parameters", options->parameters, "Parameters of the network: 175e9", "N");
  text("--tokens", options->tokens, "Tokens that it is trained on: 300e9", "N");
  text("--flops", options->flops, "All FLOPs of the training, instead of parameters and tokens: 3.14e23",
       "N");
  text("--rate", options->rate, "FLOP/s that each device really reaches: 140e12 or 140TFLOP/s", "RATE");
  text("--recompute", options->recompute,
       "Recompute activations in the backward pass: none (default) or full", "HOW")
      ->one_of({"none", "full"});
  text("--device", options->device,
       "The device that steps are estimated for (default: this); with FLOPs, the one whose peak rate is "
       "taken where --rate is not given, and compared",
       "DEVICE");
  text("--precision,-p", options->precision,
       "Precision of the model (default: fp32) or of the peak rate (default: fp16)", "PRECISION");
  text("--price", options->price, "Price of one device for an hour, in $: 1.50/h", "PRICE");
  command
      ->add_option("--devices,-n", options->step.devices,
                   "Devices (default: 1); several, as in 1,2,4,8, with MODEL or --step-time")
      ->option_text("N,…");
  options->step.add_to(*command);
  command->add_flag("--json", options->json, "Print one JSON document");
  command->footer(
      "Examples:\n"
      "  plimsoll training --flops 3.14e23 --rate 28e12 --price 1.50/h\n"
      "  plimsoll training --parameters 175e9 --tokens 300e9 --devices 1024 --rate 140e12 --recompute full\n"
      "  plimsoll training resnet50 --device h200 --batch 128 --dataset-size 1281167 --epochs 90 --devices "
      "1,2,4,8\n"
      "  plimsoll training --step-time 62ms --batch 128 --dataset-size 1281167 --epochs 90 --devices 1,2,4,8 "
      "--gradients 102MB --link 450GB/s --link-latency 5us --overlap full --scaling weak");
  command->callback([options, &invocation] {
    invocation.run = [options, &invocation]() -> Result<int> {
      if (options->model.model.empty() && !options->step.asked())
        return run_long(*options, output_style(invocation));
      return run_steps(*options, output_style(invocation));
    };
  });
}

}  // namespace plimsoll
