#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "network/data_type.hpp"
#include "network/scalar.hpp"

namespace plimsoll::onnx {

/// Whether elements of this type are understood one by one: integers, booleans, and floats of 16 bits and
/// more. The 4- and 8-bit floats are only ever weights.
[[nodiscard]] bool has_scalars(network::DataType type);

/// Appends `count` elements stored as ONNX's raw_data (little endian, 4-bit types two to a byte).
/// `raw` must be as long as packed_bytes(type, count), and has_scalars(type).
void decode_raw(network::DataType type, std::string_view raw, std::size_t count,
                std::vector<network::Scalar>& out);

/// The values as raw_data; the inverse of decode_raw.
[[nodiscard]] std::string encode_raw(network::DataType type, std::span<const network::Scalar> values);

/// The bytes that one entry of a typed field has in raw_data, little endian.
void append_little_endian(std::vector<std::byte>& out, std::uint64_t bits, int bytes);

}  // namespace plimsoll::onnx
