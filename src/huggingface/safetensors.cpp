#include "huggingface/safetensors.hpp"

#include <algorithm>
#include <cstring>
#include <span>

#include <fmt/format.h>

#include "base/mapped_file.hpp"
#include "base/printable.hpp"
#include "job/fields.hpp"

namespace plimsoll::huggingface {
namespace {

namespace fs = std::filesystem;
using job::StoredArray;

constexpr std::size_t kMostIndexBytes = 100'000'000;
constexpr std::size_t kMostFiles = 4096;
constexpr int kIndexLevels = 4;
constexpr std::string_view kOneFile = "model.safetensors", kIndex = "model.safetensors.index.json";

bool is_plain_name(std::string_view name) {
  return !name.empty() && name != "." && name != ".." && name.size() < 256 &&
         name.find_first_of(std::string_view("/\\\0", 3)) == std::string_view::npos;
}

bool lies_in(const fs::path& file, const fs::path& folder) {
  const auto [rest, unused] = std::ranges::mismatch(folder, file);
  return rest == folder.end();
}

/// The file itself, links followed. In a cache of Hugging Face's hub a snapshot's files are links to
/// NAME/blobs, where NAME/snapshots/REVISION is the snapshot.
Result<fs::path> file_in(const fs::path& folder, const std::string& name) {
  std::error_code error;
  const fs::path root = fs::canonical(folder, error);
  if (error) return fail("cannot find the folder: {}", error.message());
  fs::path file = fs::canonical(folder / name, error);
  if (error) return fail("{}: {}", quote(name), error.message());
  const fs::path above = root.parent_path();
  const bool cached = above.filename() == "snapshots" && lies_in(file, above.parent_path() / "blobs");
  if (lies_in(file, root) || cached) return file;
  Error outside{fmt::format("{} is a link to a file outside the folder", quote(name))};
  outside.hint = "Plimsoll reads weights only beside the config.json: copy them there.";
  return std::unexpected(std::move(outside));
}

/// What the file says it is; 0 where it cannot be so long, which the file's reader refuses.
std::uint64_t length_of_header(std::span<const std::byte> file) {
  std::uint64_t length = 0;
  if (file.size() < sizeof(length)) return 0;
  std::memcpy(&length, file.data(), sizeof(length));  // little endian, as the machine
  return length <= file.size() ? length : 0;
}

using Arrays = std::map<std::string, StoredArray>;
using Shards = std::map<std::string, std::vector<std::string>>;  ///< which weights each file has

/// Reads files of one folder, and counts what their headers take.
class FolderReader {
 public:
  FolderReader(const fs::path& folder, const CheckpointLimits& limits) : folder_(folder), limits_(limits) {}

  [[nodiscard]] std::unexpected<Error> within(Error error, std::string_view file) const {
    return std::unexpected(std::move(error).within(printable((folder_ / file).string())));
  }

  Result<Arrays> arrays(const std::string& name) {
    const Result<MappedFile> file = open(name);
    if (!file) return within(file.error(), name);
    header_bytes_ += length_of_header(file->bytes());
    if (header_bytes_ > limits_.header_bytes)
      return within(
          {fmt::format("with it the headers of the safetensors files take more than {} bytes together",
                       limits_.header_bytes)},
          name);
    Result<Arrays> arrays = job::read_safetensors_header(file->bytes());
    if (!arrays) return within(std::move(arrays).error(), name);
    tensors_ += arrays->size();
    if (tensors_ > limits_.tensors)
      return within(
          {fmt::format("with it the safetensors files have more than {} tensors together", limits_.tensors)},
          name);
    return arrays;
  }

  Result<Shards> shards() const {
    const Result<MappedFile> file = open(std::string(kIndex));
    if (!file) return within(file.error(), kIndex);
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): bytes of a file that are text
    const std::string_view text(reinterpret_cast<const char*>(file->bytes().data()), file->bytes().size());
    const Result<std::map<std::string, std::string>> index = read_index(text);
    if (!index) return within(index.error(), kIndex);
    Shards shards;
    for (const auto& [weight, shard] : *index) {
      shards[shard].push_back(weight);
      if (shards.size() > kMostFiles)
        return within({fmt::format("names more than {} files", kMostFiles)}, kIndex);
    }
    return shards;
  }

 private:
  /// Mapped, so that a FIFO or a device is refused and never waited for.
  [[nodiscard]] Result<MappedFile> open(const std::string& name) const {
    const Result<fs::path> path = file_in(folder_, name);
    if (!path) return std::unexpected(path.error());
    return MappedFile::open(*path);
  }

  const fs::path& folder_;
  const CheckpointLimits& limits_;
  std::uint64_t header_bytes_ = 0;
  std::size_t tensors_ = 0;
};

}  // namespace

Result<std::map<std::string, std::string>> read_index(std::string_view text) {
  const Result<job::Json> json = job::parse_within(text, kMostIndexBytes, kIndexLevels);
  PLIMSOLL_TRY(json);
  std::optional<Error> error;
  const job::Json& map = job::Fields(*json, "", error).value("weight_map");
  if (error) return std::unexpected(std::move(*error));
  if (!map.is_object()) return fail("weight_map: is not an object");
  std::map<std::string, std::string> out;
  for (const auto& [name, file] : map.items()) {
    const std::optional<std::string> shard = job::text_of(file);
    if (!shard) return fail("weight_map: {}: is not the name of a file", quote(name));
    if (!is_plain_name(*shard))
      return fail("weight_map: {}: {} is not the plain name of a file beside the index", quote(name),
                  quote(*shard));
    out.emplace(name, *shard);
  }
  return out;
}

Result<std::optional<Checkpoint>> read_checkpoint(const fs::path& folder, const CheckpointLimits& limits) {
  std::error_code ignored;
  const bool sharded = fs::exists(folder / kIndex, ignored);
  if (!sharded && !fs::exists(folder / kOneFile, ignored)) return std::nullopt;
  FolderReader reader(folder, limits);
  Checkpoint out;
  if (!sharded) {
    Result<Arrays> arrays = reader.arrays(std::string(kOneFile));
    if (!arrays) return std::unexpected(std::move(arrays).error());
    out.weights = std::move(*arrays);
    out.files = 1;
    return out;
  }
  const Result<Shards> shards = reader.shards();
  if (!shards) return std::unexpected(shards.error());
  for (const auto& [file, names] : *shards) {
    Result<Arrays> arrays = reader.arrays(file);
    if (!arrays) return std::unexpected(std::move(arrays).error());
    for (const std::string& name : names) {
      auto array = arrays->extract(name);
      if (array.empty())
        return reader.within({fmt::format("{} is not in {}, where it should be", quote(name), quote(file))},
                             kIndex);
      out.weights.insert(std::move(array));
    }
  }
  out.files = static_cast<std::int64_t>(shards->size());
  return out;
}

}  // namespace plimsoll::huggingface
