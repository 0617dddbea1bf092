#include "swap_merged.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "base/files.hpp"
#include "base/printable.hpp"
#include "plan/merge/manifest.hpp"

namespace plimsoll {
namespace {

using plan::merge::Manifest;

/// Of one merge: which of the models asked for is which of the manifest's.
struct Merged {
  Manifest manifest;
  std::vector<std::vector<std::size_t>> asked;  ///< by the manifest's model
};

Result<std::optional<Manifest>> manifest_in(const std::filesystem::path& folder) {
  const std::filesystem::path file = folder / plan::merge::kManifestFile;
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(file, ignored)) return std::nullopt;
  const auto text = read_file(file, plan::merge::kLargestManifest);
  PLIMSOLL_TRY(text);
  auto manifest = plan::merge::read_manifest(*text);
  if (!manifest) return std::unexpected(std::move(manifest).error().within(printable(file.string())));
  return *std::move(manifest);
}

}  // namespace

Result<std::vector<swapping::SharedGroup>> shared_by_merges(std::span<const SwapModelRequest> models,
                                                            std::span<const swapping::WeighedModel> weighed) {
  std::map<std::filesystem::path, std::optional<Merged>> folders;
  for (std::size_t i = 0; i < models.size(); ++i) {
    const std::filesystem::path file = models[i].workload.model;
    std::error_code ignored;
    if (file.extension() != ".onnx" || !std::filesystem::is_regular_file(file, ignored)) continue;
    const std::filesystem::path folder = std::filesystem::weakly_canonical(file, ignored).parent_path();
    auto [at, is_new] = folders.try_emplace(folder);
    if (is_new) {
      auto manifest = manifest_in(folder);
      PLIMSOLL_TRY(manifest);
      if (!*manifest) continue;
      const std::size_t count = (*manifest)->models.size();
      at->second = Merged{**std::move(manifest), std::vector<std::vector<std::size_t>>(count)};
    }
    if (!at->second) continue;
    const auto& known = at->second->manifest.models;
    const auto found = std::ranges::find(known, file.filename().string(), &Manifest::Model::file);
    if (found != known.end()) at->second->asked[static_cast<std::size_t>(found - known.begin())].push_back(i);
  }
  std::vector<std::set<std::string_view>> names(weighed.size());
  for (std::size_t i = 0; i < weighed.size(); ++i)
    for (const swapping::NamedTensor& tensor : weighed[i].tensors) names[i].insert(tensor.name);
  std::vector<swapping::SharedGroup> out;
  for (const auto& [folder, merged] : folders) {
    if (!merged) continue;
    for (const Manifest::Shared& shared : merged->manifest.shared) {
      swapping::SharedGroup group;
      for (const Manifest::Tensor& tensor : shared.tensors)
        for (const std::size_t i : merged->asked[tensor.model])
          if (names[i].contains(tensor.name))  // not what a network knows without its weights
            group.tensors.push_back(models[i].workload.name + ":" + tensor.name);
      if (group.tensors.size() > 1) out.push_back(std::move(group));
    }
  }
  return out;
}

}  // namespace plimsoll
