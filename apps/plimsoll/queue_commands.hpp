#pragma once
#include "command.hpp"

namespace plimsoll {

// The commands under `plimsoll queue`, one file each.
void add_queue_start(CommandLine& queue, Invocation& invocation);
void add_queue_output(CommandLine& queue, Invocation& invocation);

}  // namespace plimsoll
