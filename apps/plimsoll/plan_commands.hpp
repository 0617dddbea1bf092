#pragma once
#include "command.hpp"

namespace plimsoll {

// The commands under `plimsoll plan`, one file each.
void add_plan_layouts(CommandLine& plan, Invocation& invocation);
void add_plan_cluster(CommandLine& plan, Invocation& invocation);
void add_plan_services(CommandLine& plan, Invocation& invocation);

}  // namespace plimsoll
