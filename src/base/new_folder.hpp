#pragma once
#include <cstddef>
#include <filesystem>
#include <span>
#include <string_view>
#include <utility>

#include "base/error.hpp"
#include "base/file_descriptor.hpp"

namespace plimsoll {

/// A folder that appears under its name only when it is complete: it is filled as "PATH.part" beside it,
/// brought to disk and renamed. What an interrupted program left of it, the next one throws away. One writer
/// at a time.
class NewFolder {
 public:
  /// Fails where PATH is there and not an empty folder, where another program is at it, and where "PATH.part"
  /// holds what no such program left.
  [[nodiscard]] static Result<NewFolder> begin(const std::filesystem::path& path);

  NewFolder(NewFolder&& other) noexcept = default;
  NewFolder& operator=(NewFolder&&) = delete;
  NewFolder(const NewFolder&) = delete;
  NewFolder& operator=(const NewFolder&) = delete;
  /// Removes what is not finished.
  ~NewFolder();

  /// Where its files are to be written. No folders in it.
  [[nodiscard]] const std::filesystem::path& part() const { return part_; }
  /// A file of it, written in pieces; its end is on disk when `finish` returns.
  class File {
   public:
    [[nodiscard]] Status write(std::span<const std::byte> bytes);
    [[nodiscard]] Status finish();

   private:
    friend class NewFolder;
    File(FileDescriptor descriptor, std::filesystem::path path)
        : descriptor_(std::move(descriptor)), path_(std::move(path)) {}
    FileDescriptor descriptor_;
    std::filesystem::path path_;
  };
  [[nodiscard]] Result<File> create(std::string_view name) const;

  /// Gives it its name. The files that others wrote into it must be on disk.
  [[nodiscard]] Status finish();

 private:
  NewFolder(std::filesystem::path path, std::filesystem::path part, FileDescriptor descriptor)
      : path_(std::move(path)), part_(std::move(part)), descriptor_(std::move(descriptor)) {}
  std::filesystem::path path_, part_;
  FileDescriptor descriptor_;  // locked; none once finished or moved from
};

}  // namespace plimsoll
