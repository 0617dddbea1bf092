#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/mapped_file.hpp"
#include "network/network.hpp"

namespace plimsoll::onnx {

/// Where a weight's bytes are.
enum class Storage : std::uint8_t {
  none,    ///< left out: only type and shape are known
  raw,     ///< raw_data, as in memory
  floats,  ///< float_data …
  int32s,
  int64s,
  uint64s,
  doubles,
  strings,
  external,  ///< in a file of its own beside the model
  sparse,    ///< values and indices; never expanded
};

/// One stored tensor: an initializer, or a tensor in an operator's attribute. Views are into the file.
struct WeightData {
  network::TensorId tensor = network::kNoTensor;
  Storage storage = Storage::none;
  std::span<const std::byte> bytes;  ///< the contents for raw, else the message that holds the typed field
  std::string_view location;         ///< external: relative to the model's folder
  std::int64_t offset = 0;
  std::int64_t length = 0;  ///< of the contents as in memory; 0 for strings
};

/// A weight's contents: `view` is into a mapped file, or into `owned` where they had to be gathered.
struct WeightBytes {
  std::span<const std::byte> view;
  std::vector<std::byte> owned;
};

/// Where in which file a weight's contents lie as in memory.
struct WeightPlace {
  std::filesystem::path file;
  std::int64_t offset = 0;
  std::int64_t length = 0;
  friend bool operator==(const WeightPlace&, const WeightPlace&) = default;
};

/// An ONNX file: its Network, and where the weights' bytes are. Weights are not read until asked for.
class Model {
 public:
  network::Network network;
  std::vector<WeightData> weights;  ///< by TensorId, ascending
  std::int64_t ir_version = 0;
  std::string producer_name;
  std::string producer_version;
  std::int64_t graph_bytes = 0;    ///< of the file less its raw weights
  std::vector<std::string> notes;  ///< what the reader found odd but could live with

  [[nodiscard]] const WeightData* find_weight(network::TensorId id) const;
  /// The contents of one weight; maps the external file on first use. Fails where they were left out, where
  /// the external file is missing or too short, or lies (symbolic links followed) outside the model's folder.
  [[nodiscard]] Result<WeightBytes> bytes_of(network::TensorId id);
  /// For a program that maps the file itself. Nothing where the contents stand in typed fields and must be
  /// gathered (bytes_of), or the model was read from memory. Fails as bytes_of does.
  [[nodiscard]] Result<std::optional<WeightPlace>> place_of(network::TensorId id);

 private:
  friend class ModelReader;
  [[nodiscard]] Result<std::span<const std::byte>> external_bytes(const WeightData& weight);

  MappedFile file_;
  std::filesystem::path path_;                   // empty for a model read from memory
  std::optional<std::filesystem::path> folder_;  // none for a model read from memory
  std::map<std::string, MappedFile, std::less<>> external_files_;
};

}  // namespace plimsoll::onnx
