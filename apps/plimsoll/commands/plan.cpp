#include "command.hpp"
#include "plan_commands.hpp"

namespace plimsoll {

void add_plan(CommandLine& app, Invocation& invocation) {
  CommandLine* command = app.add_subcommand("plan", "What goes where, in which sharing, with what result");
  command->require_subcommand(1);
  add_plan_layouts(*command, invocation);
  add_plan_services(*command, invocation);
  add_plan_cluster(*command, invocation);
  command->footer(
      "Examples:\n"
      "  plimsoll plan layouts --device a100-40            how a GPU can be cut into MIG instances\n"
      "  plimsoll plan services slo.csv --profiles rows.csv  services on the fewest GPUs\n"
      "  plimsoll plan cluster pods.csv --nodes nodes.csv  pods on the nodes of a cluster\n"
      "`plimsoll plan COMMAND --help` explains each.");
}

}  // namespace plimsoll
