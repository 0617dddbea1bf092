#include "onnx/model.hpp"

#include <algorithm>
#include <exception>

#include "base/printable.hpp"
#include "onnx/external_location.hpp"
#include "onnx/tensor_proto.hpp"

namespace plimsoll::onnx {
namespace {

/// gather_typed of a weight's field. The decoder throws where the message is damaged.
Status gather(const WeightData& weight, network::DataType type, std::vector<std::byte>& out) try {
  const std::string_view message(reinterpret_cast<const char*>(weight.bytes.data()), weight.bytes.size());
  return gather_typed(message, weight.storage, type, out);
} catch (const std::exception&) {
  return fail("its numbers are damaged");
}

}  // namespace

const WeightData* Model::find_weight(network::TensorId id) const {
  const auto found = std::ranges::lower_bound(weights, id, {}, &WeightData::tensor);
  return found != weights.end() && found->tensor == id ? &*found : nullptr;
}

Result<WeightBytes> Model::bytes_of(network::TensorId id) {
  const WeightData* const weight = find_weight(id);
  if (weight == nullptr) return fail("tensor {} is not stored in the file", quote(network.name_of(id)));
  const std::string where = fmt::format("tensor {}", quote(network.name_of(id)));
  WeightBytes out;
  switch (weight->storage) {
    case Storage::none: return std::unexpected(Error{"its contents were left out of the file", where});
    case Storage::sparse: return std::unexpected(Error{"is sparse; sparse weights are not expanded", where});
    case Storage::strings: return std::unexpected(Error{"holds strings", where});
    case Storage::raw: out.view = weight->bytes; return out;
    case Storage::external: {
      const auto bytes = external_bytes(*weight);
      if (!bytes) return std::unexpected(Error(bytes.error()).within(where));
      out.view = *bytes;
      return out;
    }
    default: break;
  }
  if (Status gathered = gather(*weight, network.tensor(id).type, out.owned); !gathered)
    return std::unexpected(std::move(gathered).error().within(where));
  if (std::ssize(out.owned) != weight->length)
    return std::unexpected(Error{
        fmt::format("holds {} bytes; its type and dimensions need {}", out.owned.size(), weight->length),
        where});
  out.view = out.owned;
  return out;
}

Result<std::optional<WeightPlace>> Model::place_of(network::TensorId id) {
  const WeightData* const weight = find_weight(id);
  const bool external = weight != nullptr && weight->storage == Storage::external;
  const bool raw = weight != nullptr && weight->storage == Storage::raw;
  if (weight != nullptr && weight->storage != Storage::none && !external && !raw) return std::nullopt;
  const Result<WeightBytes> contents = bytes_of(id);
  if (!contents) return std::unexpected(contents.error());
  if (raw && path_.empty()) return std::nullopt;
  if (raw)
    return WeightPlace{path_, contents->view.data() - file_.bytes().data(), std::ssize(contents->view)};
  auto path = resolve_location(*folder_, weight->location);  // bytes_of found it before
  if (!path) return std::unexpected(std::move(path).error());
  return WeightPlace{std::move(*path), weight->offset, weight->length};
}

Result<std::span<const std::byte>> Model::external_bytes(const WeightData& weight) {
  if (!folder_) return fail("its contents are in another file, and this model was not read from a folder");
  auto found = external_files_.find(weight.location);
  if (found == external_files_.end()) {
    const auto path = resolve_location(*folder_, weight.location);
    if (!path) return std::unexpected(path.error());
    Result<MappedFile> file = MappedFile::open(*path);
    if (!file) return std::unexpected(std::move(file).error().within(path->string()));
    found = external_files_.emplace(std::string(weight.location), std::move(*file)).first;
  }
  const auto bytes = found->second.bytes();
  const auto size = static_cast<std::int64_t>(bytes.size());
  if (weight.offset > size || weight.length > size - weight.offset)
    return fail("external data {} has {} bytes; bytes {} to {} are asked for", quote(weight.location), size,
                weight.offset, weight.offset + weight.length);
  return bytes.subspan(static_cast<std::size_t>(weight.offset), static_cast<std::size_t>(weight.length));
}

}  // namespace plimsoll::onnx
