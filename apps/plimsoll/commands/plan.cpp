#include "command.hpp"

namespace plimsoll {

void add_plan(CommandLine& app, Invocation& invocation) {
  CommandLine* command = app.add_subcommand("plan", "What goes where");
  command->require_subcommand(1);
  command->footer(
      "Example:\n"
      "  plimsoll plan cluster pods.csv --nodes nodes.csv\n"
      "`plimsoll plan cluster --help` explains it.");
  add_plan_cluster(*command, invocation);
}

}  // namespace plimsoll
