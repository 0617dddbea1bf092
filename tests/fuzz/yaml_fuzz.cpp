// Any bytes, taken for a meta.yaml of MLflow, must give keys with texts or one Error.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "store/mlflow_yaml.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): libFuzzer hands bytes, a file holds
  // characters
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto meta = plimsoll::store::parse_mlflow_yaml(text);
  if (!meta && meta.error().message.empty()) std::abort();
  if (!meta) return 0;
  for (const auto& [key, value] : *meta)
    // An escape of two bytes (\\L) gives three at most.
    if (key.empty() || value.size() > 2 * size) std::abort();
  return 0;
}
