#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "serve/http/response.hpp"

namespace plimsoll::serve {

/// A path below a folder, in its parts: nothing in it leads out of the folder or hides from it.
class ArtifactPath {
 public:
  /// "a/b.txt". Refuses absolute paths, "..", control characters, backslashes and what is too long or deep.
  /// Empty, "." and "/" at the end are the folder itself.
  [[nodiscard]] static Result<ArtifactPath> parse(std::string_view path);
  [[nodiscard]] const std::vector<std::string>& parts() const { return parts_; }
  [[nodiscard]] bool empty() const { return parts_.empty(); }
  [[nodiscard]] std::string text() const;  ///< "a/b.txt"

 private:
  std::vector<std::string> parts_;
};

struct ArtifactEntry {
  std::string name;
  bool folder = false;
  std::int64_t bytes = 0;
  friend bool operator==(const ArtifactEntry&, const ArtifactEntry&) = default;
};

/// What can be done below the folder `root`, which a stranger may have filled: every part of a path is opened
/// from the one before, and no symbolic link is followed.
[[nodiscard]] Result<FileBody> open_artifact(const std::filesystem::path& root, const ArtifactPath& path);
/// In the order of their names; symbolic links and what is neither a file nor a folder are left out. Nothing
/// where the path is a file or is not there.
[[nodiscard]] Result<std::vector<ArtifactEntry>> list_artifacts(const std::filesystem::path& root,
                                                                const ArtifactPath& path);
/// Renames the file, which is on the disk already, to its place, over what is there, and releases it; folders
/// on the way are made.
[[nodiscard]] Status put_artifact(const std::filesystem::path& root, const ArtifactPath& path,
                                  ReceivedFile& file);
/// A file, or a folder with all it holds; not found is an error.
[[nodiscard]] Status remove_artifact(const std::filesystem::path& root, const ArtifactPath& path);

}  // namespace plimsoll::serve
