#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "engine/call.hpp"
#include "onnx/value_info.hpp"

namespace plimsoll {

/// One input or output of an ONNX test case, as its model declares it.
struct Declared {
  std::string name;
  onnx::ValueInfo::Form form = onnx::ValueInfo::Form::absent;
  network::DataType type = network::DataType::undefined;
};
struct Declarations {
  std::vector<Declared> inputs, outputs;
};
[[nodiscard]] Result<Declarations> read_declarations(const std::filesystem::path& model);

/// The value that a file of a case holds. Fails on types that LibTorch has not.
[[nodiscard]] Result<engine::Value> read_value(const std::filesystem::path& file, const Declared& declared);

}  // namespace plimsoll
