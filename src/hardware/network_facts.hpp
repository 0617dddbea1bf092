#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/embedded.hpp"
#include "base/error.hpp"
#include "hardware/device.hpp"

namespace plimsoll {
/// data/networks/*.json as they were when the program was built.
[[nodiscard]] std::span<const EmbeddedFile> embedded_networks();
}  // namespace plimsoll

namespace plimsoll::hardware {

/// How often a network was right, on some data and in some arithmetic.
struct Accuracy {
  Arithmetic arithmetic = Arithmetic::fp32;
  DeviceFigure share;  ///< 0 to 1
  std::string data = {};
  std::optional<double> low = {}, high = {};  ///< of a 95 % interval, where somebody tells one
  friend bool operator==(const Accuracy&, const Accuracy&) = default;
};

/// What a microcontroller's runtime needs to execute it.
struct MemoryNeed {
  Arithmetic arithmetic = Arithmetic::int8;
  DeviceFigure ram;  ///< B in all, with the runtime's own
  friend bool operator==(const MemoryNeed&, const MemoryNeed&) = default;
};

/// What others measured of a network that no formula gives.
struct NetworkFacts {
  std::string network;  ///< as latencies name it: "mobilenet_v1_0.25"
  double depth = 1;     ///< the depth multiplier, "alpha" of the zoo
  std::vector<Accuracy> accuracies = {};
  std::vector<MemoryNeed> memories = {};
  friend bool operator==(const NetworkFacts&, const NetworkFacts&) = default;
};

[[nodiscard]] Result<std::vector<NetworkFacts>> parse_network_facts(std::string_view text,
                                                                    std::string_view where);
[[nodiscard]] const Result<std::vector<NetworkFacts>>& built_in_network_facts();

}  // namespace plimsoll::hardware
