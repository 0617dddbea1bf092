#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "network/data_type.hpp"

namespace plimsoll::gguf {

/// How a tensor's values are stored: in blocks of `values`, each of `bytes`, scales included.
struct TensorType {
  std::uint32_t number = 0;  ///< in the file
  std::string_view name;
  std::int64_t values = 1;
  std::int64_t bytes = 0;
  /// What plain numbers are (blocks of one value); undefined for quantised ones.
  network::DataType plain = network::DataType::undefined;

  [[nodiscard]] bool quantised() const { return plain == network::DataType::undefined; }
};

/// All that a file of today may hold, by number.
[[nodiscard]] std::span<const TensorType> tensor_types();
[[nodiscard]] const TensorType* find_tensor_type(std::uint32_t number);
/// Why a number that was one once is none any more; empty where it never was.
[[nodiscard]] std::string_view removed_tensor_type(std::uint32_t number);

}  // namespace plimsoll::gguf
