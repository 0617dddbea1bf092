#include "plan_commands.hpp"
#include "plan_schedule.hpp"

namespace plimsoll {

void add_plan(CommandLine& app, Invocation& invocation) {
  auto options = std::make_shared<PlanOptions>();
  CommandLine* command = app.add_subcommand("plan", "What goes where, in which sharing, with what result");
  add_plan_options(*command, *options);
  command->require_subcommand(0, 1);
  add_plan_layouts(*command, invocation);
  add_plan_services(*command, invocation);
  add_plan_cluster(*command, invocation);
  command->footer(
      "Examples:\n"
      "  plimsoll plan trainings.toml --devices h200:2     who runs where, beside whom, when\n"
      "  plimsoll plan trainings.toml --devices h200:2 --for energy --json\n"
      "  plimsoll plan --simulate trainings.toml --devices h200:4 --policy exclusive,carma,plimsoll\n"
      "  plimsoll plan layouts --device a100-40            how a GPU can be cut into MIG instances\n"
      "  plimsoll plan services slo.csv --profiles rows.csv  services on the fewest GPUs\n"
      "  plimsoll plan cluster pods.csv --nodes nodes.csv  pods on the nodes of a cluster\n"
      "Exit code 1: there is no plan, and why.");
  command->callback([options, command, &invocation] {
    if (command->has_subcommand()) return;
    invocation.run = [options, style = output_style(invocation)] { return run_plan(*options, style); };
  });
}

}  // namespace plimsoll
