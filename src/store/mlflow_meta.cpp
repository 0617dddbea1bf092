#include "store/mlflow_meta.hpp"

#include <charconv>
#include <system_error>

#include "base/files.hpp"
#include "store/import_mlflow.hpp"
#include "store/mlflow_yaml.hpp"

namespace plimsoll::store {
namespace {

constexpr std::size_t kLargestMetaFile = std::size_t{20} << 20;
constexpr int kDeepestFolder = 16;

}  // namespace

Result<Texts> read_meta(const fs::path& directory) {
  const fs::path path = directory / "meta.yaml";
  std::error_code ignored;
  if (fs::is_symlink(path, ignored)) return std::unexpected(Error{"this is a symbolic link", path.string()});
  const Result<std::string> text = read_file(path, kLargestMetaFile);
  if (!text) return std::unexpected(text.error());
  Result<Texts> meta = parse_mlflow_yaml(*text);
  if (!meta) return std::unexpected(std::move(meta).error().within(path.string()));
  return meta;
}

std::string text_in(const Texts& meta, const std::string& key) {
  const auto found = meta.find(key);
  return found == meta.end() ? std::string() : found->second;
}

std::optional<std::int64_t> integer_in(const Texts& meta, const std::string& key) {
  const std::string text = text_in(meta, key);
  std::int64_t value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || problem != std::errc() || end != text.data() + text.size()) return {};
  return value;
}

std::optional<Time> time_in(const Texts& meta, const std::string& key) {
  return integer_in(meta, key).and_then(time_of_mlflow);
}

std::vector<std::pair<std::string, fs::path>> files_below(const fs::path& directory) {
  std::vector<std::pair<std::string, fs::path>> out;
  std::error_code problem;
  if (fs::is_symlink(directory, problem)) return out;
  fs::recursive_directory_iterator at(directory, fs::directory_options::skip_permission_denied, problem);
  for (; !problem && at != fs::recursive_directory_iterator(); at.increment(problem)) {
    if (at.depth() >= kDeepestFolder) at.disable_recursion_pending();
    std::error_code gone;
    if (at->is_symlink(gone) || !at->is_regular_file(gone)) continue;
    out.emplace_back(at->path().lexically_relative(directory).generic_string(), at->path());
  }
  return out;
}

Result<Texts> read_texts(const fs::path& directory, std::size_t largest) {
  Texts out;
  for (const auto& [name, path] : files_below(directory)) {
    Result<std::string> value = read_file(path, largest);
    if (!value) return std::unexpected(std::move(value).error());
    out.emplace(name, std::move(*value));
  }
  return out;
}

}  // namespace plimsoll::store
