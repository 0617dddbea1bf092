#pragma once
#include <filesystem>
#include <optional>

#include "store/store.hpp"

namespace plimsoll::store {

/// Where the files of a version are on this machine, within the store's own folder; nothing where they are
/// elsewhere or gone.
[[nodiscard]] Result<std::optional<std::filesystem::path>> local_files(Store& store,
                                                                       const ModelVersion& version);

/// The file with the model in such a folder, a few folders deep: one that ends in .onnx, else in
/// .safetensors, the largest first. Symbolic links are not followed.
[[nodiscard]] std::optional<std::filesystem::path> model_file(const std::filesystem::path& place);

}  // namespace plimsoll::store
