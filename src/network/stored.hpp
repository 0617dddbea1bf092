#pragma once
#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "network/network.hpp"
#include "network/setting.hpp"

namespace plimsoll::network {

/// How a weight lies in the file that a Network was read from, to be given to the Network. The view need only
/// live during the call.
struct StoredAs {
  TensorId tensor = kNoTensor;
  std::string_view format;  ///< "Q4_K", "F8_E4M3"
  std::int64_t bytes = 0;
  bool kept = false;  ///< it stays so in memory, whatever precision is asked for
};
/// Replaces what was said of the network's weights before.
void set_stored(Network& network, std::vector<StoredAs> weights);

/// The type in which a run of that precision keeps floating-point numbers that the model has in `type`. fp16,
/// bf16 and int8 convert the whole network; fp32 and its kin, and autocast, convert nothing: what is stored
/// in half precision stays there.
[[nodiscard]] DataType kept_type(DataType type, Precision precision);

/// What stored tensors take, by the precision of the run.
struct WeightSizes {
  std::array<std::int64_t, kDataTypes> elements{};  ///< by type, of those that are kept in a type
  std::int64_t kept = 0;                            ///< B of those that stay as they are stored

  void add(DataType type, std::int64_t count);
  [[nodiscard]] std::int64_t bytes(Precision precision) const;
  friend bool operator==(const WeightSizes&, const WeightSizes&) = default;
};

}  // namespace plimsoll::network
