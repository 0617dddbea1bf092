#include "store/registry_files.hpp"

#include <algorithm>
#include <string_view>
#include <system_error>
#include <utility>

#include "store/run_rows.hpp"

namespace plimsoll::store {
namespace {

namespace fs = std::filesystem;

using Place = std::optional<fs::path>;

Result<Place> nothing_where_gone(const Error& error) {
  if (error.kind == Error::Kind::not_found) return Place();
  return std::unexpected(error);
}

/// `rest` below `root`, where it is there and no link leads out of it.
Place within(const fs::path& root, const fs::path& rest) {
  std::error_code problem;
  const fs::path real = fs::canonical(root / rest, problem);
  if (problem) return {};
  const fs::path base = fs::canonical(root, problem);
  if (problem) return {};
  const fs::path relative = real.lexically_relative(base);
  return relative.empty() || *relative.begin() == ".." ? Place() : Place(real);
}

}  // namespace

std::optional<FilesOwner> files_owner(std::string_view location) {
  constexpr std::string_view kServed = "mlflow-artifacts:/", kRuns = "runs:/";
  const bool of_run = location.starts_with(kRuns);
  if (!of_run && !location.starts_with(kServed)) return {};
  std::vector<std::string> parts;
  for (const fs::path& part : fs::path(location.substr(of_run ? kRuns.size() : kServed.size())))
    if (part == "..")
      return {};
    else if (!part.empty() && part != "/" && part != ".")
      parts.push_back(part.string());
  const bool of_model = !of_run && parts.size() >= 4 && parts[1] == "models" && parts[3] == "artifacts";
  const std::size_t owner = of_run ? 0 : of_model ? 2 : 1, first = of_run ? 1 : owner + 2;
  if (parts.size() < std::max(first, std::size_t{1})) return {};
  if (!of_model && !is_run_id(parts[owner])) return {};
  FilesOwner out{of_model, parts[owner]};
  for (std::size_t i = first; i < parts.size(); ++i) out.rest += (out.rest.empty() ? "" : "/") + parts[i];
  return out;
}

Result<Place> local_files(Store& store, const ModelVersion& version) {
  const std::optional<FilesOwner> owner = files_owner(version.location);
  if (!owner) return Place();
  const Result<fs::path> root =
      owner->of_model ? store.model_artifacts(owner->id) : store.artifacts(owner->id);
  if (!root) return nothing_where_gone(root.error());
  return within(*root, owner->rest);
}

Place model_file(const fs::path& place) {
  constexpr int kDeepest = 4;
  constexpr std::size_t kMostLookedAt = 10'000;
  std::error_code problem;
  if (fs::is_regular_file(place, problem)) return place;
  std::vector<std::pair<std::pair<bool, std::uintmax_t>, fs::path>> found;  // whether it is ONNX, its size
  fs::recursive_directory_iterator at(place, fs::directory_options::skip_permission_denied, problem);
  for (std::size_t i = 0; !problem && i < kMostLookedAt && at != fs::recursive_directory_iterator();
       ++i, at.increment(problem)) {
    if (at.depth() >= kDeepest) at.disable_recursion_pending();
    std::error_code gone;
    const fs::path extension = at->path().extension();
    if (at->is_symlink(gone) || !at->is_regular_file(gone)) continue;
    if (extension == ".onnx" || extension == ".safetensors")
      found.emplace_back(std::pair(extension == ".onnx", at->file_size(gone)), at->path());
  }
  if (found.empty()) return {};
  return std::ranges::max(found).second;
}

}  // namespace plimsoll::store
