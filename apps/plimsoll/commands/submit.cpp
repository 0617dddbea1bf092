#include <chrono>
#include <memory>
#include <thread>

#include <fmt/format.h>

#include "base/shell_word.hpp"
#include "command.hpp"
#include "json_output.hpp"
#include "queue_client.hpp"
#include "queue_report.hpp"
#include "submission.hpp"

namespace plimsoll {
namespace {

      "  plimsoll submit night.toml\n"
      "`plimsoll queue` shows what waits, and why.");
  command->callback([options, &invocation] {
    if (invocation.command) options->command = *invocation.command;
    invocation.run = [options, style = output_style(invocation)] { return submit(*options, style); };
  });
}

}  // namespace plimsoll
