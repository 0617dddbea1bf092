#include <memory>

#include <nlohmann/json.hpp>

#include "command.hpp"
#include "json_output.hpp"
#include "plan/cluster/replay.hpp"
#include "plan_commands.hpp"
#include "report/cluster_report.hpp"

namespace plimsoll {
namespace {

struct PlanClusterOptions {
  std::string pods, nodes;
  std::vector<std::string> policies{"all"};
  std::int64_t seeds = 10, first_seed = 0;
  double fill = 1.3;
  bool json = false;
};

Result<int> run_plan_cluster(const PlanClusterOptions& options, const report::TextStyle& style) {
  auto policies = plan::cluster::policies_named(options.policies);
  if (!policies) return std::unexpected(std::move(policies).error().within("--policy"));
  auto cluster = plan::cluster::read_nodes_file(options.nodes);
  PLIMSOLL_TRY(cluster);
  const auto workload = plan::cluster::read_pods_file(options.pods, *cluster);
  PLIMSOLL_TRY(workload);
  report::ClusterReport report{
      .nodes = cluster->nodes.size(),
      .gpus = static_cast<std::size_t>(cluster->capacity_milli() / plan::cluster::kWholeGpu),
      .pods = workload->pods.size(),
      .kinds = workload->kinds.size(),
      .first_seed = static_cast<std::uint64_t>(options.first_seed),
      .seeds = static_cast<std::uint64_t>(options.seeds),
      .fill = options.fill,
      .rows = {}};
  for (const plan::cluster::Policy& policy : *policies) {
    std::vector<plan::cluster::Replay> replays;
    for (std::uint64_t i = 0; i < report.seeds; ++i) {
      auto replay = plan::cluster::replay(*cluster, *workload, policy, {report.first_seed + i, options.fill});
      if (!replay) return std::unexpected(std::move(replay).error().within(options.pods));
      replay->end = {};  // of no use here, and large
      replays.push_back(*std::move(replay));
    }
    report.rows.push_back({std::string(policy.name), plan::cluster::summary(replays)});
  }
  if (options.json)
    print_json(report::cluster_json(report));
  else
    fmt::print("{}", report::cluster_text(report, style));
  return 0;
}

}  // namespace

void add_plan_cluster(CommandLine& plan, Invocation& invocation) {
  const auto options = std::make_shared<PlanClusterOptions>();
  CommandLine* command =
      plan.add_subcommand("cluster", "Pods that arrive at a cluster: how much of its GPUs each policy fills");
  command->add_option("pods", options->pods, "CSV: name, cpu_milli, memory_mib, num_gpu, gpu_milli, gpu_spec")
      ->required()
      ->option_text("PODS");
  command->add_option("--nodes", options->nodes, "CSV: sn, cpu_milli, memory_mib, gpu, model")
      ->required()
      ->option_text("FILE");
  std::vector<std::string> words{"all"};
  for (const plan::cluster::Policy& policy : plan::cluster::policies()) words.emplace_back(policy.name);
  command
      ->add_option(
          "--policy", options->policies,
          "all (default), random, dot-product, clustering, packing, best-fit, fragmentation, plimsoll")
      ->delimiter(',')
      ->offers(words)
      ->option_text("POLICY,…");
  command->add_option("--seeds", options->seeds, "Orders of arrival to take the mean of (10)")
      ->in_range<std::int64_t>(1, 1000)
      ->option_text("N");
  command->add_option("--first-seed", options->first_seed, "The first of them (0)")
      ->in_range<std::int64_t>(0, 1'000'000'000)
      ->option_text("N");
  command->add_option("--fill", options->fill, "Pods arrive until they ask for so many times all GPUs (1.3)")
      ->in_range(0.01, 10.0)
      ->option_text("X");
  command->add_flag("--json", options->json, "Print one JSON document, with the curves");
  command->footer(
      "Examples:\n"
      "  plimsoll plan cluster pods.csv --nodes nodes.csv\n"
      "  plimsoll plan cluster pods.csv --nodes nodes.csv --policy best-fit,plimsoll --seeds 3");
  command->callback([options, &invocation] {
    invocation.run = [options, style = output_style(invocation)] {
      return run_plan_cluster(*options, style);
    };
  });
}

}  // namespace plimsoll
