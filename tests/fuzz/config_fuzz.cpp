// Any bytes, taken for a config.json, must give a network or one error; a network that is built must bind,
// infer and count, or say why not.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "huggingface/description.hpp"
#include "network/binding.hpp"
#include "network/inference.hpp"
#include "program/count.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace plimsoll;
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): libFuzzer hands bytes, a file holds
  // characters
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const Result<huggingface::Description> description = huggingface::describe(text);
  if (!description) {
    if (description.error().text().empty()) std::abort();
    return 0;
  }
  for (const network::Mode mode : {network::Mode::infer, network::Mode::train}) {
    const Result<network::Network> built = huggingface::build(*description, "fuzz", mode);
    if (!built) {
      if (built.error().text().empty()) std::abort();
      continue;
    }
    const Result<network::Binding> binding = network::bind(*built, {.batch = 2});
    if (!binding) continue;
    const Result<network::Shapes> shapes = network::infer(*built, *binding);
    if (!shapes) continue;
    const program::Counts counts = program::count(*built, *shapes, {});
    const std::int64_t idle = counts.idle_sizes.bytes(network::Precision::fp32);
    if (counts.parameters < 0 || idle < 0 || idle > counts.weight_sizes.bytes(network::Precision::fp32))
      std::abort();
    if (counts.forward.macs.low > counts.forward.macs.high ||
        counts.forward.bytes_read.low > counts.forward.bytes_read.high)
      std::abort();
  }
  return 0;
}
