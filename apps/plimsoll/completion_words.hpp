#pragma once
#include <string>
#include <vector>

#include "command_line.hpp"

namespace plimsoll {

/// What the last of `words`, those after "plimsoll" on a command line that is being written, may become:
/// commands, options, and values. An option's words are its values; else what the help calls its value
/// decides: MODEL is a name of the zoo or a file, DEVICE an id, RUN a run of the store, REGISTERED a
/// registered model of it, JOB a job of the queue, COUNTRY a country. Nothing where any text may stand, of
/// which the shell completes files. What fails gives nothing, and quietly.
[[nodiscard]] std::vector<std::string> complete(const CommandLine& program,
                                                const std::vector<std::string>& words);

}  // namespace plimsoll
