#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/units.hpp"

namespace plimsoll::plan::merge {

/// The name of a merge's manifest in its folder, and of the weights beside it.
inline constexpr const char* kManifestFile = "manifest.json";
inline constexpr const char* kWeightsFile = "weights.bin";

/// What stands in a folder of merged models: ONNX files that keep their weights in one file beside them, and
/// which of them are the same bytes of it.
struct Manifest {
  struct Model {
    std::string name;  ///< as it was given
    std::string file;  ///< of the folder, without a path
    Bytes bytes = {};  ///< of all its tensors, shared ones included
    friend bool operator==(const Model&, const Model&) = default;
  };
  struct Tensor {
    std::size_t model = 0;  ///< in models
    std::string name;       ///< of the initializer
    friend bool operator==(const Tensor&, const Tensor&) = default;
  };
  /// Tensors that are one.
  struct Shared {
    std::int64_t offset = 0;  ///< in the file of weights
    Bytes bytes = {};
    std::vector<Tensor> tensors;
    friend bool operator==(const Shared&, const Shared&) = default;
  };
  std::string weights = kWeightsFile;  ///< a file of the folder
  Bytes weight_bytes = {};             ///< of that file
  bool trained =
      true;  ///< false: shared layers have the first model's weights and are to be trained together yet
  std::vector<Model> models = {};
  std::vector<Shared> shared = {};
  friend bool operator==(const Manifest&, const Manifest&) = default;

  /// Of the models' tensors, each once.
  [[nodiscard]] Bytes union_bytes() const;
};

inline constexpr std::size_t kLargestManifest = std::size_t{64} << 20;
inline constexpr std::size_t kMostModels = 64;

/// Text may be any bytes, as names in an ONNX file are; what is no UTF-8 stands as {"hex": "ff00"}.
[[nodiscard]] std::string write_manifest(const Manifest& manifest);
/// Fails, and says where, unless files are plain names, shared bytes lie in the file of weights and on no
/// others, and each tensor is in one set.
[[nodiscard]] Result<Manifest> read_manifest(std::string_view text);

}  // namespace plimsoll::plan::merge
