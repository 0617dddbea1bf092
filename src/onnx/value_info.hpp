#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/error.hpp"
#include "network/data_type.hpp"
#include "network/shape.hpp"

namespace plimsoll::onnx {

/// A ValueInfoProto: the declared type of an input, output or intermediate. Views are into the file.
struct ValueInfo {
  struct Extent {
    std::int64_t value = 0;
    std::string_view name;
    bool has_value = false;  ///< neither value nor name: unknown
  };
  enum class Form : std::uint8_t { absent, tensor, sequence, optional, map };

  std::string_view name;
  network::DataType type = network::DataType::undefined;
  Form form = Form::absent;
  bool has_shape = false;
  std::size_t rank = 0;
  std::array<Extent, network::kMaxRank> extents;

  [[nodiscard]] std::span<const Extent> shape() const { return {extents.data(), rank}; }
};

/// The name alone; it is all that is needed of most.
[[nodiscard]] std::string_view decode_value_name(std::string_view message);
/// Fails on negative dimensions, on more than 2^63 elements, and on unknown element types.
[[nodiscard]] Result<ValueInfo> decode_value_info(std::string_view message);

}  // namespace plimsoll::onnx
