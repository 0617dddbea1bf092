#include "merged_files.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <set>
#include <span>
#include <tuple>

#include "base/new_folder.hpp"
#include "base/printable.hpp"
#include "onnx/writer.hpp"
#include "plan/merge/placement.hpp"

namespace plimsoll {
namespace {

using plan::merge::Manifest;
using plan::merge::Placement;
using plan::merge::TensorPlace;
using plan::merge::TensorSet;

Status check_has_file(const LoadedModel& loaded) {
  if (loaded.file) return {};
  return std::unexpected(Error{.message = "has no weights",
                               .where = printable(loaded.label),
                               .hint = "models are written from ONNX files that hold their weights"});
}

Result<onnx::WeightBytes> contents_of(MergeModels& of, const TensorPlace& place) {
  LoadedModel& loaded = of.loaded[place.model];
  PLIMSOLL_TRY(check_has_file(loaded));
  const plan::merge::StoredTensor& tensor = of.models[place.model].tensors[place.tensor];
  Result<onnx::WeightBytes> bytes = loaded.file->bytes_of(tensor.id);
  if (!bytes) return std::unexpected(std::move(bytes).error().within(printable(loaded.label)));
  if (std::ssize(bytes->view) != tensor.bytes.count())
    return std::unexpected(Error{fmt::format("tensor {} has {} bytes; its type and dimensions need {}",
                                             quote(tensor.name), bytes->view.size(), tensor.bytes.count()),
                                 printable(loaded.label)});
  return bytes;
}

/// Eight bytes at a time; what it takes for equal is compared.
std::uint64_t digest(std::span<const std::byte> bytes) {
  std::uint64_t out = 0x9e3779b97f4a7c15U ^ bytes.size();
  while (!bytes.empty()) {
    std::uint64_t word = 0;
    const std::size_t taken = std::min(bytes.size(), sizeof word);
    std::memcpy(&word, bytes.data(), taken);
    out = (out ^ word) * 0xff51afd7ed558ccdU;
    out ^= out >> 32U;
    bytes = bytes.subspan(taken);
  }
  return out;
}

/// Type and shape, which tensors that are one must agree on.
std::string form_of(const MergeModels& of, const TensorPlace& place) {
  const network::Network& network = of.loaded[place.model].network;
  const network::Tensor& tensor = network.tensor(of.models[place.model].tensors[place.tensor].id);
  std::string out(network::name(tensor.type));
  for (const network::Dim d : network.dims_of(tensor)) out += fmt::format("x{}", d.exact() ? d.value() : -1);
  return out;
}

struct Contents {
  std::string form;
  std::uint64_t digest = 0;
  TensorPlace place;
};

/// By their bytes. All contents were found before this asks for them again.
int compare_bytes(MergeModels& of, const TensorPlace& a, const TensorPlace& b) {
  const Result<onnx::WeightBytes> first = contents_of(of, a), second = contents_of(of, b);
  if (!first || !second || first->view.size() != second->view.size())
    return static_cast<int>(first.has_value()) - static_cast<int>(second.has_value());
  return std::memcmp(first->view.data(), second->view.data(), first->view.size());
}

/// Sorted rather than each held against each other: a file may be made so that many digests are equal.
void add_sets(MergeModels& of, std::span<Contents> alike, std::vector<TensorSet>& out) {
  if (alike.size() < 2) return;
  std::ranges::stable_sort(
      alike, [&](const Contents& a, const Contents& b) { return compare_bytes(of, a.place, b.place) < 0; });
  TensorSet set;
  for (const Contents& each : alike) {
    if (!set.empty() && compare_bytes(of, set.front(), each.place) != 0) {
      if (set.size() > 1) out.push_back(set);
      set.clear();
    }
    set.push_back(each.place);
  }
  if (set.size() > 1) out.push_back(std::move(set));
}

/// "resnet50.onnx" of "models/resnet50.onnx"; letters, digits and what no shell minds, and no name twice.
std::string file_name(std::string_view label, std::set<std::string>& taken) {
  constexpr std::size_t kLongest = 100;
  std::string stem = std::filesystem::path(label).stem().string().substr(0, kLongest);
  for (char& c : stem) {
    const bool plain =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.';
    if (!plain) c = '_';
  }
  if (stem.empty() || stem.front() == '.') stem = "model" + stem;
  std::string name = stem + ".onnx";
  for (int i = 2; !taken.insert(name).second; ++i) name = fmt::format("{}-{}.onnx", stem, i);
  return name;
}

Status write_weights(MergeModels& of, const Placement& placement, const NewFolder& folder) {
  auto file = folder.create(plan::merge::kWeightsFile);
  PLIMSOLL_TRY(file);
  constexpr std::array<std::byte, 4096> kZeros{};
  std::int64_t at = 0;
  for (const TensorPlace& place : placement.written) {
    const Result<onnx::WeightBytes> bytes = contents_of(of, place);
    PLIMSOLL_TRY(bytes);
    const std::int64_t begin = placement.offsets[place.model][place.tensor].value_or(at);
    PLIMSOLL_TRY(file->write(std::span(kZeros).first(static_cast<std::size_t>(begin - at))));
    PLIMSOLL_TRY(file->write(bytes->view));
    at = begin + std::ssize(bytes->view);
  }
  return file->finish();
}

Manifest manifest_of(const MergeModels& of, const std::vector<TensorSet>& sets, const Placement& placement,
                     bool trained) {
  Manifest out{.weight_bytes = placement.file, .trained = trained};
  std::set<std::string> taken;
  for (const plan::merge::Model& model : of.models)
    out.models.push_back({model.name, file_name(model.name, taken), model.bytes});
  for (const TensorSet& set : sets) {
    const TensorPlace& first = set.front();
    Manifest::Shared shared{.offset = placement.offsets[first.model][first.tensor].value_or(0),
                            .bytes = of.models[first.model].tensors[first.tensor].bytes,
                            .tensors = {}};
    for (const TensorPlace& each : set)
      shared.tensors.push_back({each.model, of.models[each.model].tensors[each.tensor].name});
    out.shared.push_back(std::move(shared));
  }
  return out;
}

Status write_models(MergeModels& of, const Manifest& manifest, const Placement& placement,
                    const NewFolder& folder) {
  for (std::size_t m = 0; m < of.models.size(); ++m) {
    onnx::ExternalWeights external{.location = manifest.weights, .offsets = {}};
    for (std::size_t t = 0; t < of.models[m].tensors.size(); ++t)
      if (placement.offsets[m][t])
        external.offsets.emplace(of.models[m].tensors[t].id, *placement.offsets[m][t]);
    PLIMSOLL_TRY(onnx::write(of.loaded[m].network, onnx::weights_of(*of.loaded[m].file), external,
                             folder.part() / manifest.models[m].file));
  }
  return {};
}

}  // namespace

Result<std::vector<TensorSet>> identical_tensors(MergeModels& of) {
  std::vector<Contents> all;
  for (std::size_t m = 0; m < of.models.size(); ++m)
    for (std::size_t t = 0; t < of.models[m].tensors.size(); ++t) {
      const plan::merge::StoredTensor& tensor = of.models[m].tensors[t];
      if (!tensor.movable || tensor.bytes.count() == 0) continue;
      const Result<onnx::WeightBytes> bytes = contents_of(of, {m, t});
      PLIMSOLL_TRY(bytes);
      all.push_back({form_of(of, {m, t}), digest(bytes->view), {m, t}});
    }
  const auto key = [](const Contents& each) { return std::tie(each.form, each.digest); };
  std::ranges::stable_sort(all, std::ranges::less{}, key);
  std::vector<TensorSet> out;
  for (auto begin = all.begin(); begin != all.end();) {
    const auto end =
        std::find_if(begin, all.end(), [&](const Contents& each) { return key(each) != key(*begin); });
    add_sets(of, std::span(begin, end), out);
    begin = end;
  }
  std::ranges::sort(out);
  return out;
}

Result<Manifest> write_merged(MergeModels& of, const std::vector<TensorSet>& sets, bool trained,
                              const std::filesystem::path& folder) {
  for (const LoadedModel& loaded : of.loaded) PLIMSOLL_TRY(check_has_file(loaded));
  const Placement placement = place(of.models, sets);
  Manifest manifest = manifest_of(of, sets, placement, trained);
  auto made = NewFolder::begin(folder);
  PLIMSOLL_TRY(made);
  PLIMSOLL_TRY(write_weights(of, placement, *made));
  PLIMSOLL_TRY(write_models(of, manifest, placement, *made));
  auto file = made->create(plan::merge::kManifestFile);
  PLIMSOLL_TRY(file);
  const std::string text = write_manifest(manifest);
  PLIMSOLL_TRY(file->write(std::as_bytes(std::span(text))));
  PLIMSOLL_TRY(file->finish());
  PLIMSOLL_TRY(made->finish());
  return manifest;
}

}  // namespace plimsoll
