#include "swap_simulation.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "base/files.hpp"
#include "base/printable.hpp"
#include "plan/swap/host_link.hpp"
#include "quantity.hpp"
#include "swap_merged.hpp"
#include "told_errors.hpp"

namespace plimsoll {
namespace {

using report::SwapReport;

constexpr std::size_t kMostModelsFile = std::size_t{16} << 20, kMostRequestsFile = std::size_t{64} << 20;
constexpr Bytes kLeastBlock{std::int64_t{64} << 10};
constexpr std::int64_t kMostFramesAsked = 100'000;
constexpr double kMostSteps = 2e9;  // chunks times frames: some minutes

Result<SwapModels> models_in(const std::string& file) {
  const auto text = read_file(file, kMostModelsFile);
  PLIMSOLL_TRY(text);
  auto models = read_swap_models(*text, file);
  if (!models) return std::unexpected(all_told(models.error(), file, "simulated"));
  return *std::move(models);
}

Result<swapping::HostLink> link_asked(const SwapOptions& options, const hardware::Device& device) {
  auto known = swapping::host_link(device);
  if (!known && options.link.empty()) return known;
  swapping::HostLink out = known ? *known : swapping::HostLink{{}, Seconds(10e-6), Provenance::assumed, ""};
  if (!options.link.empty()) {
    const auto bandwidth = parse_bandwidth(options.link, "--link");
    PLIMSOLL_TRY(bandwidth);
    out.bandwidth = *bandwidth;
  }
  if (!options.latency.empty()) {
    const auto latency = parse_seconds(options.latency, "--link-latency");
    PLIMSOLL_TRY(latency);
    out.latency = *latency;
  }
  if (!options.link.empty() || !options.latency.empty()) {
    out.provenance = Provenance::assumed;
    out.source = options.latency.empty() ? "--link" : options.link.empty() ? "--link-latency" : "as given";
  }
  return out;
}

/// "largest", "50%" of all weights, or a size that activations are part of.
Result<Bytes> memory_asked(const std::string& word, const SwapGround& ground) {
  const swapping::Packed& all = ground.separate;
  const auto with_activations = [&](std::int64_t blocks) { return all.bytes(blocks) + all.activations; };
  if (word == "largest")
    return with_activations(std::max(all.largest_model(), ground.together.largest_model()));
  if (!word.ends_with('%')) return parse_bytes(word, "--memory");
  const auto share = parse_share(word, "--memory");
  PLIMSOLL_TRY(share);
  return with_activations(static_cast<std::int64_t>(std::ceil(*share * static_cast<double>(all.blocks))));
}

/// Of a model, each once.
std::vector<std::size_t> tensors_of(const swapping::Model& model) {
  std::vector<std::size_t> out;
  for (const swapping::Layer& layer : model.layers)
    out.insert(out.end(), layer.tensors.begin(), layer.tensors.end());
  std::ranges::sort(out);
  out.erase(std::ranges::unique(out).begin(), out.end());
  return out;
}

std::vector<SwapReport::ModelRow> rows_of(const swapping::Models& models) {
  std::vector<std::size_t> users(models.tensors.size());
  for (const swapping::Model& model : models.models)
    for (const std::size_t tensor : tensors_of(model)) ++users[tensor];
  std::vector<SwapReport::ModelRow> out;
  for (const swapping::Model& model : models.models) {
    SwapReport::ModelRow& row = out.emplace_back();
    row.name = model.name;
    row.layers = model.layers.size();
    for (const swapping::Layer& layer : model.layers) row.seconds += layer.seconds;
    for (const std::size_t tensor : tensors_of(model)) {
      row.weights += models.tensors[tensor];
      if (users[tensor] > 1) row.shared += models.tensors[tensor];
    }
  }
  return out;
}

Status weigh_models(const SwapOptions& options, SwapGround& ground) {
  const auto targets = estimate_targets({options.device}, options.calibration);
  PLIMSOLL_TRY(targets);
  const hardware::Device& device = targets->front().device();
  for (const SwapModelRequest& model : ground.asked.models) {
    auto of = weigh_swap_model(model.workload, targets->front(),
                               options.run ? LayerTimes::if_known : LayerTimes::needed);
    PLIMSOLL_TRY(of);
    ground.weighed.push_back(*std::move(of));
  }
  auto merged = shared_by_merges(ground.asked.models, ground.weighed);
  PLIMSOLL_TRY(merged);
  for (swapping::SharedGroup& group : *merged) ground.asked.shared.push_back(std::move(group));
  auto models = swapping::joined(ground.weighed, ground.asked.shared);
  if (!models) return std::unexpected(all_told(models.error(), options.models, "simulated"));
  ground.models = *std::move(models);
  const auto block = parse_bytes(options.block, "--block");
  PLIMSOLL_TRY(block);
  if (*block < kLeastBlock)
    return std::unexpected(Error{fmt::format("{} is too small for a block", quote(options.block)), "--block",
                                 "64KiB is the least, 2MiB what CUDA maps at once"});
  const swapping::Models separate = swapping::apart(ground.models);
  ground.separate = swapping::pack(separate, *block, swapping::kTensorAlignment);
  ground.together = swapping::pack(ground.models, *block, swapping::kTensorAlignment);
  SwapReport& report = ground.report;
  const auto takes_time = [](const swapping::Model& model) {
    return std::ranges::any_of(model.layers, [](const swapping::Layer& l) { return l.seconds > Seconds(); });
  };
  auto link = link_asked(options, device);
  report.estimated = link && std::ranges::all_of(ground.models.models, takes_time);
  if (!link && options.run) link = swapping::HostLink{};
  PLIMSOLL_TRY(link);
  report.device = device.name;
  report.block = *block;
  report.activations = ground.separate.activations;
  report.link = *std::move(link);
  report.separate = swapping::weights_of(separate);
  if (!ground.asked.shared.empty()) report.together = swapping::weights_of(ground.models);
  report.models = rows_of(ground.models);
  return {};
}

Status set_requests(const SwapOptions& options, SwapGround& ground) {
  const auto limit = parse_seconds(options.deadline, "--deadline");
  PLIMSOLL_TRY(limit);
  SwapReport& report = ground.report;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < ground.asked.models.size(); ++i) {
    const SwapModelRequest& model = ground.asked.models[i];
    ground.streams.push_back({model.rate.value_or(options.fps), model.limit.value_or(*limit)});
    ground.accuracies.push_back(model.accuracy);
    names.push_back(model.workload.name);
    report.models[i].limit = ground.streams.back().limit;
    report.models[i].rate = options.requests.empty() ? ground.streams.back().rate : 0;
  }
  report.given = swapping::given_round(ground.together);
  report.order = options.order == "best" ? swapping::best_round(ground.together) : report.given;
  report.pattern = options.pattern;
  const auto frames = static_cast<std::size_t>(options.seconds > 0 ? kMostFramesAsked : options.frames);
  if (!options.requests.empty()) {
    const auto text = read_file(options.requests, kMostRequestsFile);
    PLIMSOLL_TRY(text);
    auto read = read_swap_requests(*text, names);
    if (!read) return std::unexpected(all_told(read.error(), options.requests, "simulated"));
    ground.requests = *std::move(read);
    for (swapping::Request& request : ground.requests)
      request.deadline = request.arrival + ground.streams[request.model].limit;
    swapping::sort_requests(ground.requests, report.order.order);
    report.pattern = options.requests;
    ground.foreseen = false;
  } else if (options.pattern == "steady") {
    ground.requests = swapping::steady_requests(ground.streams, report.order.order, frames);
  } else {
    report.seed = static_cast<std::uint64_t>(options.seed);
    ground.requests = swapping::bursty_requests(ground.streams, report.order.order, frames, *report.seed);
    ground.foreseen = false;
  }
  if (options.seconds > 0)
    std::erase_if(ground.requests, [&](const swapping::Request& request) {
      return request.arrival >= Seconds(options.seconds);
    });
  if (ground.requests.empty()) return fail("no frame comes within {:g} s", options.seconds);
  report.frames = ground.requests.size();
  report.drops_late = options.late == "drop";
  return {};
}

swapping::Question question_of(const SwapGround& ground, const swapping::Policy& policy, bool merged) {
  return {.packed = merged ? ground.together : ground.separate,
          .policy = policy,
          .link = ground.report.link,
          .capacity = ground.capacity(),
          .late = ground.report.drops_late ? swapping::Late::dropped : swapping::Late::run,
          .foreseen = ground.foreseen};
}

void simulate_policy(SwapGround& ground, const swapping::Policy& policy, bool merged) {
  const swapping::Question question = question_of(ground, policy, merged);
  SwapReport::Row row{.policy = std::string(policy.name),
                      .about = std::string(policy.about),
                      .told_ahead = policy.told_ahead,
                      .merged = merged};
  const std::int64_t least = swapping::least_capacity(question.packed, policy);
  if (question.capacity < least) {
    row.needs = question.packed.bytes(least) + question.packed.activations;
  } else if (ground.report.estimated) {
    const auto outcome = swapping::simulate(question, ground.requests);
    const auto anyway = swapping::without_swapping(question, ground.requests);
    row.of = swapping::summary(question.packed, ground.requests, outcome, ground.accuracies);
    row.missed = swapping::misses(
        row.of, swapping::summary(question.packed, ground.requests, anyway, ground.accuracies));
  }
  ground.report.rows.push_back(std::move(row));
}

SwapReport::RoundRun round_run(const SwapGround& ground, const swapping::Packed& packed,
                               const swapping::ModelRun& run) {
  SwapReport::RoundRun out{.model = packed.models[run.model].name,
                           .arrival = ground.requests[run.request].arrival,
                           .begin = run.begins.front(),
                           .finish = run.finish(),
                           .moved = packed.bytes(run.decision.moved())};
  if (!run.copies.empty()) out.copies = {run.copies.front().begin, run.copies.back().end};
  std::map<std::size_t, std::int64_t> gone;  // by the first of the models that need it
  for (const swapping::Load& load : run.decision.loads)
    for (const swapping::Eviction& eviction : load.evictions)
      gone[packed.chunks[eviction.chunk].uses.front().model] += eviction.blocks;
  for (const auto& [model, blocks] : gone)
    out.gone.push_back({packed.models[model].name, packed.bytes(blocks)});
  return out;
}

/// As many runs as there are models, from the middle of what the best policy does.
void show_round(SwapGround& ground, std::span<const swapping::Policy> policies) {
  SwapReport& report = ground.report;
  if (!report.estimated) return;
  for (std::size_t i = 0; i < report.rows.size(); ++i)
    if (!report.rows[i].needs &&
        (!report.best || swapping::is_better(report.rows[i].of, report.rows[*report.best].of)))
      report.best = i;
  if (!report.best) return;
  const SwapReport::Row& best = report.rows[*report.best];
  const auto policy = std::ranges::find(policies, best.policy, &swapping::Policy::name);
  const swapping::Question question = question_of(ground, *policy, best.merged);
  constexpr std::size_t kMostShown = 16;
  const std::size_t shown = std::min(kMostShown, report.models.size());
  const std::size_t first = best.of.all.ran > shown ? (best.of.all.ran - shown) / 2 : 0;
  std::size_t at = 0;
  static_cast<void>(swapping::simulate(question, ground.requests, [&](const swapping::ModelRun& run) {
    if (at >= first && at < first + shown) report.round.push_back(round_run(ground, question.packed, run));
    ++at;
  }));
}

}  // namespace

Result<SwapGround> simulate_swapping(const SwapOptions& options) {
  const auto policies =
      swapping::policies_named(options.policies.empty() ? std::vector<std::string>{"all"} : options.policies);
  if (!policies) return std::unexpected(Error(policies.error()).within("--policy"));
  auto asked = models_in(options.models);
  PLIMSOLL_TRY(asked);
  SwapGround ground;
  ground.asked = *std::move(asked);
  PLIMSOLL_TRY(weigh_models(options, ground));
  PLIMSOLL_TRY(set_requests(options, ground));
  const auto memory = memory_asked(options.memory, ground);
  PLIMSOLL_TRY(memory);
  SwapReport& report = ground.report;
  report.memory = *memory;
  const std::int64_t blocks =
      std::clamp<std::int64_t>((*memory - report.activations).count() / report.block.count(), 0,
                               std::max(ground.separate.blocks, ground.together.blocks));
  report.for_weights = report.block * blocks;
  if (static_cast<double>(ground.separate.chunks.size()) * static_cast<double>(report.frames) > kMostSteps)
    return std::unexpected(Error{"these are too many layers and frames to simulate", options.models,
                                 "ask for fewer --frames, or a larger --block"});
  for (const bool merged : {false, true})
    for (const swapping::Policy& policy : *policies)
      if (!merged || report.together) simulate_policy(ground, policy, merged);
  show_round(ground, *policies);
  return ground;
}

}  // namespace plimsoll
