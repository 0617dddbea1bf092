#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "network/data_type.hpp"
#include "network/scalar.hpp"
#include "network/shape.hpp"
#include "onnx/model.hpp"

namespace plimsoll::onnx {

/// A TensorProto, decoded but for its contents. Views are into the file.
struct StoredTensor {
  std::string_view name;
  std::string_view message;  ///< the whole TensorProto
  std::string_view raw;      ///< raw_data
  std::string_view location;
  std::int64_t offset = 0;
  std::int64_t length = -1;  ///< as the file says for external data; -1 where it does not
  network::Shape dims;       ///< all exact
  std::int64_t elements = 1;
  std::int64_t bytes = 0;  ///< as raw_data would be; 0 for strings
  network::DataType type = network::DataType::undefined;
  Storage storage = Storage::none;
};

/// Fails on dimensions that are negative or overflow, on contents whose size does not fit them, and on
/// external data outside the model's folder.
[[nodiscard]] Result<StoredTensor> decode_tensor(std::string_view message);
/// A SparseTensorProto: named like its values, with the dense dims.
[[nodiscard]] Result<StoredTensor> decode_sparse_tensor(std::string_view message);

/// The contents of a small tensor: integers and booleans up to network::kMaxValueElements, and floats up to
/// kMaxRealElements. False where they are not to be had; fails where their number does not fit the dims.
[[nodiscard]] Result<bool> decode_values(const StoredTensor& tensor, std::vector<network::Scalar>& out);

/// Real numbers that decide shapes are Resize's scales and regions, two per dimension at most. Longer float
/// tensors are weights, whose bytes are left alone.
inline constexpr std::int64_t kMaxRealElements = 2 * static_cast<std::int64_t>(network::kMaxRank);

/// Fills `out` with the contents as raw_data would hold them, gathered from the typed fields.
[[nodiscard]] Status gather_typed(std::string_view message, Storage storage, network::DataType type,
                                  std::vector<std::byte>& out);

}  // namespace plimsoll::onnx
