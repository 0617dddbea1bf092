#pragma once
#include <filesystem>
#include <optional>

#include "store/store.hpp"

namespace plimsoll::store {

/// Whose files a version's location names: a run's or a logged model's of this store, and where below them.
struct FilesOwner {
  bool of_model = false;
  std::string id;
  std::string rest = {};  ///< a path, or empty: all of them
  friend bool operator==(const FilesOwner&, const FilesOwner&) = default;
};
/// Nothing where the files are elsewhere, or an address would climb. Whether the owner is there is not asked.
[[nodiscard]] std::optional<FilesOwner> files_owner(std::string_view location);

/// Where the files of a version are on this machine, within the store's own folder; nothing where they are
/// elsewhere or gone.
[[nodiscard]] Result<std::optional<std::filesystem::path>> local_files(Store& store,
                                                                       const ModelVersion& version);

/// The file with the model in such a folder, a few folders deep: one that ends in .onnx, else in
/// .safetensors, the largest first. Symbolic links are not followed.
[[nodiscard]] std::optional<std::filesystem::path> model_file(const std::filesystem::path& place);

}  // namespace plimsoll::store
