// Any bytes, taken for a device's JSON file, must give a Device or one Error.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "hardware/device_file.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace plimsoll;
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): libFuzzer hands bytes, a file holds
  // characters
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const Result<hardware::Device> device = hardware::parse_device(text, "fuzz");
  if (device ? device->id.empty() : device.error().text().empty()) std::abort();
  return 0;
}
