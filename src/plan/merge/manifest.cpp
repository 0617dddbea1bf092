#include "plan/merge/manifest.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "base/printable.hpp"
#include "job/fields.hpp"

namespace plimsoll::plan::merge {
namespace {

using job::Fields;
using job::Json;

constexpr int kVersion = 1;
constexpr int kManifestLevels = 8;
constexpr std::size_t kLongestFile = 255;

bool is_plain_name(std::string_view file) {
  return !file.empty() && file.size() <= kLongestFile && file.front() != '.' &&
         file.find_first_of(std::string_view("/\\:\0", 4)) == std::string_view::npos;
}

std::string file_name(const Fields& fields, std::string_view key) {
  std::string file = fields.text(key);
  if (fields.good() && !is_plain_name(file))
    fields.complain(key, fmt::format("{} is not the plain name of a file beside the manifest", quote(file)));
  return file;
}

Manifest::Model read_file_of_models(const Fields& fields) {
  return {fields.text("name"), file_name(fields, "file"), Bytes(fields.whole("bytes"))};
}

Manifest::Shared read_shared(const Fields& fields, const Manifest& manifest) {
  Manifest::Shared out;
  out.bytes = Bytes(fields.whole("bytes", 1));
  out.offset = fields.whole("offset");
  if (fields.good() &&
      (out.bytes > manifest.weight_bytes || Bytes(out.offset) > manifest.weight_bytes - out.bytes))
    fields.complain("offset", fmt::format("{} and {} bytes from there are not in a file of {} bytes",
                                          out.offset, out.bytes.count(), manifest.weight_bytes.count()));
  fields.each("tensors", [&](const Fields& tensor) {
    const std::int64_t most = std::max<std::int64_t>(std::ssize(manifest.models) - 1, 0);
    out.tensors.push_back({static_cast<std::size_t>(tensor.whole("model", 0, most)), tensor.text("name")});
  });
  if (fields.good() && out.tensors.size() < 2) fields.complain("tensors", "names fewer than two");
  return out;
}

/// No bytes twice and no tensor twice.
Status check_apart(const Manifest& manifest) {
  std::vector<std::pair<std::int64_t, std::int64_t>> pieces;
  std::set<std::pair<std::size_t, std::string_view>> tensors;
  for (const Manifest::Shared& each : manifest.shared) {
    pieces.emplace_back(each.offset, each.offset + each.bytes.count());
    for (const Manifest::Tensor& tensor : each.tensors)
      if (!tensors.emplace(tensor.model, tensor.name).second)
        return std::unexpected(Error{fmt::format("tensor {} is named twice", quote(tensor.name)), "shared"});
  }
  std::ranges::sort(pieces);
  for (std::size_t i = 1; i < pieces.size(); ++i)
    if (pieces[i].first < pieces[i - 1].second)
      return std::unexpected(
          Error{fmt::format("what begins at {} overlaps what comes before it", pieces[i].first), "shared"});
  return {};
}

Status check_files(const Manifest& manifest) {
  std::set<std::string_view> files = {manifest.weights};
  for (const Manifest::Model& model : manifest.models)
    if (!files.insert(model.file).second)
      return std::unexpected(Error{fmt::format("file {} is named twice", quote(model.file)), "models"});
  return {};
}

}  // namespace

Bytes Manifest::union_bytes() const {
  Bytes out;
  for (const Model& model : models) out += model.bytes;
  for (const Shared& each : shared) out -= each.bytes * (std::ssize(each.tensors) - 1);
  return out;
}

std::string write_manifest(const Manifest& manifest) {
  Json models = Json::array(), shared = Json::array();
  for (const Manifest::Model& model : manifest.models)
    models.push_back({{"name", job::text_json(model.name)},
                      {"file", job::text_json(model.file)},
                      {"bytes", model.bytes.count()}});
  for (const Manifest::Shared& each : manifest.shared) {
    Json tensors = Json::array();
    for (const Manifest::Tensor& tensor : each.tensors)
      tensors.push_back({{"model", tensor.model}, {"name", job::text_json(tensor.name)}});
    shared.push_back(
        {{"offset", each.offset}, {"bytes", each.bytes.count()}, {"tensors", std::move(tensors)}});
  }
  return job::dump({{"version", kVersion},
                    {"weights", {{"file", manifest.weights}, {"bytes", manifest.weight_bytes.count()}}},
                    {"trained", manifest.trained},
                    {"union_bytes", manifest.union_bytes().count()},
                    {"models", std::move(models)},
                    {"shared", std::move(shared)}}) +
         "\n";
}

Result<Manifest> read_manifest(std::string_view text) {
  const Result<Json> document = job::parse_within(text, kLargestManifest, kManifestLevels);
  if (!document) return std::unexpected(document.error());
  std::optional<Error> error;
  const Fields fields(*document, "", error);
  Manifest out;
  static_cast<void>(fields.whole("version", kVersion, kVersion));
  const Fields weights = fields.section("weights");
  out.weights = file_name(weights, "file");
  out.weight_bytes = Bytes(weights.whole("bytes"));
  out.trained = fields.flag("trained");
  fields.each("models", [&](const Fields& model) {
    if (out.models.size() == kMostModels) model.complain("", fmt::format("more than {} models", kMostModels));
    out.models.push_back(read_file_of_models(model));
  });
  fields.each("shared", [&](const Fields& shared) { out.shared.push_back(read_shared(shared, out)); });
  if (error) return std::unexpected(*std::move(error));
  if (out.models.empty()) return std::unexpected(Error{"names no model", "models"});
  PLIMSOLL_TRY(check_files(out));
  PLIMSOLL_TRY(check_apart(out));
  return out;
}

}  // namespace plimsoll::plan::merge
