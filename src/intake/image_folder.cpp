#include <algorithm>
#include <system_error>

#include "base/mapped_file.hpp"
#include "base/printable.hpp"
#include "dataset/dataset.hpp"
#include "intake/image_file.hpp"
#include "intake/labels.hpp"
#include "intake/source.hpp"

namespace plimsoll::intake {
namespace {

using network::DataType;
using std::filesystem::path;

constexpr std::size_t kMostFileBytes = std::size_t{1} << 28;  // of one picture
constexpr std::size_t kMostFiles = 100'000'000;

/// Names in a folder, sorted by their bytes, so that numbers of classes are the same everywhere; those that
/// begin with a dot are left out.
Result<std::vector<path>> entries_of(const path& folder) {
  std::vector<path> out;
  std::error_code problem;
  for (auto entry = std::filesystem::directory_iterator(folder, problem);
       !problem && entry != std::filesystem::directory_iterator(); entry.increment(problem)) {
    if (entry->path().filename().native().starts_with('.')) continue;
    out.push_back(entry->path());
    if (out.size() > kMostFiles)
      return std::unexpected(Error{"holds too many files", printable(folder.string())});
  }
  if (problem)
    return std::unexpected(Error{"cannot be listed: " + problem.message(), printable(folder.string())});
  std::ranges::sort(out, {}, [](const path& p) { return p.filename().native(); });
  return out;
}

Result<Picture> picture_in(const path& file, const ImageRequest& request) {
  const auto within = [&file](Error error) {
    return std::unexpected(std::move(error).within(printable(file.string())));
  };
  const Result<MappedFile> mapped = MappedFile::open(file);
  if (!mapped) return std::unexpected(mapped.error());
  if (mapped->bytes().size() > kMostFileBytes)
    return within(Error{"is larger than a picture may be (256 MiB)"});
  Result<Picture> picture = read_picture(mapped->bytes());
  if (!picture) return within(std::move(picture).error());
  return as_asked(*std::move(picture), request);
}

class PictureRows final : public RowReader {
 public:
  PictureRows(std::vector<path> files, std::vector<std::int64_t> dims, ImageRequest request)
      : files_(std::move(files)), dims_(std::move(dims)), request_(request) {}

  Status next(std::span<std::byte> row) override {
    const path& file = files_[at_++];
    const Result<Picture> picture = picture_in(file, request_);
    PLIMSOLL_TRY(picture);
    const std::vector<std::int64_t> dims{picture->channels, picture->height, picture->width};
    if (dims != dims_)
      return std::unexpected(Error{fmt::format("is an image of {}, the first one of {}",
                                               dataset::shape_text(dims), dataset::shape_text(dims_)),
                                   printable(file.string()),
                                   dims[0] != dims_[0]
                                       ? "--channels 1 or --channels 3 makes them alike."
                                       : "--image-size HEIGHTxWIDTH scales and cuts all to one size."});
    std::ranges::copy(std::as_bytes(std::span(picture->values)), row.begin());
    return {};
  }

 private:
  std::vector<path> files_;
  std::vector<std::int64_t> dims_;
  ImageRequest request_;
  std::size_t at_ = 0;
};

}  // namespace

Result<std::vector<std::string>> class_folders(const path& folder) {
  const Result<std::vector<path>> entries = entries_of(folder);
  PLIMSOLL_TRY(entries);
  std::vector<std::string> names;
  std::error_code ignored;
  for (const path& entry : *entries)
    if (std::filesystem::is_directory(entry, ignored)) names.push_back(entry.filename().string());
  return names;
}

Result<Part> open_image_folder(const path& folder, const std::vector<std::string>& classes,
                               const ImageRequest& images) {
  std::vector<path> files;
  std::vector<std::int64_t> labels;
  const Result<std::vector<std::string>> found = class_folders(folder);
  PLIMSOLL_TRY(found);
  for (const std::string& name : *found) {
    const auto place = std::ranges::find(classes, name);
    if (place == classes.end())
      return std::unexpected(
          Error{fmt::format("holds the class {}, which is not among those that are learned", quote(name)),
                printable(folder.string())});
    const Result<std::vector<path>> entries = entries_of(folder / name);
    PLIMSOLL_TRY(entries);
    const std::size_t before = files.size();
    std::ranges::copy_if(*entries, std::back_inserter(files),
                         [](const path& p) { return names_picture(p.filename().string()); });
    if (files.size() == before)
      return std::unexpected(Error{"holds no PNG or JPEG file", printable((folder / name).string())});
    labels.resize(files.size(), place - classes.begin());
  }
  if (files.empty()) return std::unexpected(Error{"holds no folders of images", printable(folder.string())});
  const Result<Picture> first = picture_in(files.front(), images);
  PLIMSOLL_TRY(first);
  Part part{.form = {DataType::uint8, {first->channels, first->height, first->width}},
            .count = std::ssize(files),
            .inputs = {},
            .labels = labels_of(labels)};
  part.inputs = std::make_unique<PictureRows>(std::move(files), part.form.dims, images);
  return part;
}

}  // namespace plimsoll::intake
