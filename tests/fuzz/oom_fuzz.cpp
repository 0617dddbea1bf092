// Any bytes, taken for a log, must give a message whose figures can be told and shown, or one Error.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include <nlohmann/json.hpp>

#include "estimate/memory/oom_message.hpp"
#include "report/oom_report.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace plimsoll;
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): libFuzzer hands bytes, a file holds
  // characters
  const std::string_view log(reinterpret_cast<const char*>(data), size);
  const Result<estimate::OutOfMemory> message = estimate::parse_out_of_memory(log);
  if (!message) {
    if (message.error().text().empty()) std::abort();
    return 0;
  }
  const report::OutOfMemoryReport report{*message};
  if (report::out_of_memory_text(report, {.width = 80}).empty() || report::to_json(report).dump().empty())
    std::abort();
  return 0;
}
