#include "step_training.hpp"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/printable.hpp"
#include "base/text.hpp"
#include "json_output.hpp"
#include "quantity.hpp"
#include "report/paragraph.hpp"
#include "report/scaling.hpp"

namespace plimsoll {
namespace {

using estimate::ParallelStep;
using Json = nlohmann::ordered_json;

struct Length {
  std::optional<Seconds> epoch;
  std::optional<Seconds> all;
  double steps = 0;
};

/// Of the whole training with steps like that one.
Result<Length> length_of(const StepTraining& training, const ParallelStep& step) {
  estimate::TrainingData data{
      .epochs = training.epochs, .batch = step.global_batch, .sequence = training.sequence};
  if (training.dataset > 0) data.samples = training.dataset;
  if (training.tokens > 0) data.tokens = training.tokens;
  if (!data.samples && !data.tokens) return Length{};
  const Result<estimate::Steps> steps = estimate::steps_of(data);
  PLIMSOLL_TRY(steps);
  Length out{.epoch = {}, .all = step.step * steps->all, .steps = steps->all};
  if (steps->per_epoch) out.epoch = step.step * *steps->per_epoch;
  return out;
}

Result<double> overlap_of(const std::string& text) {
  if (text == "none") return 0;
  if (text == "full") return 1;
  Result<double> share = parse_share(text, "--overlap");
  if (!share)
    share.error().hint =
        "Write none, full, or the share of the backward pass behind which it hides, as in 0.5.";
  return share;
}

}  // namespace

Result<std::vector<std::int64_t>> StepTraining::counts() const {
  std::vector<std::int64_t> out;
  for (std::string_view rest = devices; !rest.empty();) {
    const auto comma = std::min(rest.find(','), rest.size());
    const std::string_view word = rest.substr(0, comma);
    std::int64_t count = 0;
    const auto [end, code] = std::from_chars(word.data(), word.data() + word.size(), count);
    if (code != std::errc{} || end != word.data() + word.size() || count < 1 || count > (1 << 24))
      return std::unexpected(Error{fmt::format("{} is not a list of numbers of devices", quote(devices)),
                                   "--devices", "Write it as 1,2,4,8."});
    out.push_back(count);
    rest.remove_prefix(std::min(comma + 1, rest.size()));
  }
  return out;
}

Result<estimate::ParallelSetting> StepTraining::setting(const OneDevice& device, bool several) const {
  estimate::ParallelSetting out;
  out.communication = *estimate::communication_named(communication);
  out.servers = servers;
  out.split = split;
  const Result<double> hidden = overlap_of(overlap);
  PLIMSOLL_TRY(hidden);
  out.overlap = *hidden;
  if (!several) return out;
  if ((gradients.empty() && !device.gradients) || (link.empty() && !device.link))
    return fail("several devices need --gradients, the bytes to sum, and --link, what each link carries");
  const auto size = gradients.empty() ? *device.gradients : parse_bytes(gradients, "--gradients");
  PLIMSOLL_TRY(size);
  out.gradients = *size;
  const auto bandwidth = link.empty() ? *device.link : parse_bandwidth(link, "--link");
  PLIMSOLL_TRY(bandwidth);
  out.link.bandwidth = *bandwidth;
  if (!link_latency.empty()) {
    const auto latency = parse_seconds(link_latency, "--link-latency");
    PLIMSOLL_TRY(latency);
    out.link.latency = *latency;
  }
  for (const auto& [text, option, target] :
       {std::tuple(&tensor_sums, "--tensor-sums", &out.split.tensor_sums_per_sample),
        std::tuple(&between_stages, "--between-stages", &out.split.between_stages_per_sample)})
    if (!text->empty()) {
      const auto bytes = parse_bytes(*text, option);
      PLIMSOLL_TRY(bytes);
      *target = *bytes;
    }
  return out;
}

Result<OneDevice> StepTraining::measured() const {
  const auto step = parse_seconds(step_time, "--step-time");
  PLIMSOLL_TRY(step);
  return measured_device(*step, batch, backward_share);
}

Result<int> StepTraining::print(const OneDevice& device, bool json, const report::TextStyle& style) const {
  const auto numbers = counts();
  PLIMSOLL_TRY(numbers);
  const bool several = std::ranges::any_of(*numbers, [](std::int64_t n) { return n > 1; });
  const auto parallel = setting(device, several);
  PLIMSOLL_TRY(parallel);
  const auto kind = scaling == "weak" ? estimate::Scaling::weak : estimate::Scaling::strong;
  const auto rows = estimate::scaling(*parallel, kind, batch, *numbers, device.step_of);
  PLIMSOLL_TRY(rows);
  std::vector<Length> lengths;
  for (const ParallelStep& row : *rows) {
    const Result<Length> length = length_of(*this, row);
    PLIMSOLL_TRY(length);
    lengths.push_back(*length);
  }
  const auto seconds = [](const std::optional<Seconds>& t) { return t ? Json(t->value()) : Json(nullptr); };
  if (json) {
    Json out = report::scaling_json(*rows);
    for (std::size_t i = 0; i < lengths.size(); ++i) {
      out[i]["epoch_seconds"] = seconds(lengths[i].epoch);
      out[i]["training_seconds"] = seconds(lengths[i].all);
    }
    print_json(Json{{"scaling", scaling},
                    {"communication", communication},
                    {"overlap", parallel->overlap},
                    {"rows", std::move(out)}});
    return 0;
  }
  report::Table table = report::scaling_table(*rows);
  const bool whole = lengths.front().all.has_value();
  if (whole) {
    table.columns.push_back({"Epoch", report::Align::right});
    table.columns.push_back({"Training", report::Align::right, false, report::Importance::always});
    for (std::size_t i = 0; i < lengths.size(); ++i) {
      table.rows[i].push_back(lengths[i].epoch ? text(*lengths[i].epoch) : "-");
      table.rows[i].push_back(text(*lengths[i].all));
    }
  }
  std::string words = fmt::format("{}; {} scaling.", device.words, scaling);
  if (several)
    words +=
        fmt::format(" Gradients summed by {}, {} overlap{}.", communication,
                    overlap == "none"   ? "no"
                    : overlap == "full" ? "full"
                                        : overlap + " of backward for",
                    link_latency.empty() ? "; the latency of messages is left out (--link-latency)" : "");
  fmt::print("{}\n{}", report::to_text(table, style), report::paragraph(words, style));
  if (const std::string notes = report::scaling_notes(table); !notes.empty())
    fmt::print("{}", report::paragraph(notes, style));
  return 0;
}

void StepTraining::add_to(CommandLine& command) {
  const auto text = [&command](const char* name, std::string& target, const char* help, const char* unit) {
    return command.add_option(name, target, help)->option_text(unit)->group("By the time of a step");
  };
  const auto number = [&command](const char* name, auto& target, const char* help, double least,
                                 double most) {
    command.add_option(name, target, help)
        ->in_range(least, most)
        ->option_text("N")
        ->group("By the time of a step");
  };
  text("--step-time", step_time, "Time of a step of one device at --batch, measured or estimated: 62ms",
       "TIME");
  number("--batch,-b", batch, "Samples in a step: of all devices together, or of each with --scaling weak", 1,
         1e9);
  number("--dataset-size", dataset, "Samples in an epoch", 1, 1e18);
  number("--epochs", epochs, "Epochs (default: 1)", 1e-3, 1e9);
  number("--sequence", sequence, "Tokens in a sample, with --tokens (default: 1, or --seq of a MODEL)", 1,
         1e9);
  number("--backward-share", backward_share,
         "Share of the step that the backward pass takes (default: 0.667, twice the forward pass)", 0.01,
         0.99);
  text("--gradients", gradients, "Bytes to sum over all devices: 102MB", "BYTES");
  text("--link", link, "Rate of each device's link in one direction: 450GB/s", "RATE");
  text("--link-latency", link_latency, "Latency of one message: 5us", "TIME");
  text("--communication", communication,
       "ring (default), tree, butterfly, halving-doubling, parameter-server", "HOW")
      ->one_of({"ring", "tree", "butterfly", "halving-doubling", "parameter-server"});
  number("--servers", servers, "Parameter servers (default: 1)", 1, 1 << 24);
  text("--overlap", overlap,
       "How much of the communication hides behind the backward pass: none (default), full, or a share of it",
       "SHARE");
  text("--scaling", scaling,
       "strong (default): the whole batch stays the same; weak: the batch of each device does", "HOW")
      ->one_of({"strong", "weak"});
  number("--tensor", split.tensor, "Devices that share every layer, tensor-parallel (default: 1)", 1,
         1 << 20);
  number("--pipeline", split.pipeline, "Stages of a pipeline (default: 1)", 1, 1 << 20);
  number("--micro-batches", split.micro_batches,
         "Micro-batches that a batch is cut into for the pipeline (default: 1)", 1, 1 << 20);
  text("--tensor-sums", tensor_sums,
       "Bytes that tensor-parallel devices sum for a sample, forward and backward", "BYTES");
  text("--between-stages", between_stages, "Bytes of a sample's activations between two stages", "BYTES");
}

}  // namespace plimsoll
