#include <fmt/format.h>

#include "command.hpp"
#include "run/client_limits.hpp"

namespace plimsoll {

/// What `plimsoll run` starts to prove an MPS client's limits: what CUDA gives a process with this
/// environment.
void add_cuda_facts(CommandLine& app, Invocation& invocation) {
  CommandLine* command =
      app.add_subcommand("cuda-facts", "What CUDA gives a process with the present environment")->group("");
  command->callback([&invocation] {
    invocation.run = []() -> Result<int> {
      const Result<running::CudaFacts> facts = running::read_cuda_facts();
      if (!facts) return std::unexpected(facts.error());
      fmt::print("{}\n", running::to_json(*facts));
      return 0;
    };
  });
}

}  // namespace plimsoll
