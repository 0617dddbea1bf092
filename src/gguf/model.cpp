#include "gguf/model.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/printable.hpp"
#include "base/text.hpp"
#include "base/units.hpp"
#include "gguf/architecture.hpp"
#include "network/stored.hpp"
#include "network/transformers/decoder.hpp"

namespace plimsoll::gguf {
namespace {

using network::Network;
using network::StoredAs;
using network::TensorId;

/// An expert that every token passes is called by module in a Network ("ffn_shexp.gate_proj"), and by
/// projection in a file ("ffn_gate_shexp").
std::string name_in_file(std::string_view name) {
  constexpr std::array<std::array<std::string_view, 2>, 3> kShared = {
      {{".ffn_shexp.gate_proj.", ".ffn_gate_shexp."},
       {".ffn_shexp.up_proj.", ".ffn_up_shexp."},
       {".ffn_shexp.down_proj.", ".ffn_down_shexp."}}};
  std::string out(name);
  for (const auto& [module, projection] : kShared)
    if (const std::size_t at = out.find(module); at != std::string::npos)
      out.replace(at, module.size(), projection);
  return out;
}

std::string extents_text(std::span<const std::int64_t> extents) {
  return fmt::format("[{}]", fmt::join(extents, ", "));
}

/// Whether they hold the same values: a Network may have a matrix turned, and extents of 1 say nothing.
bool same_extents(std::vector<std::int64_t> a, std::vector<std::int64_t> b) {
  std::erase(a, 1);
  std::erase(b, 1);
  return a == b || std::ranges::equal(a, b.size() == a.size() ? std::vector(b.rbegin(), b.rend()) : b);
}

/// The two halves in which files of today have DeepSeek's "attn_kv_b".
std::array<std::string, 2> halves_of(const std::string& name) {
  const std::size_t at = name.find(".attn_kv_b.");
  if (at == std::string::npos) return {};
  std::string key = name, value = name;
  key.replace(at, 11, ".attn_k_b.");
  value.replace(at, 11, ".attn_v_b.");
  return {std::move(key), std::move(value)};
}

class Matching {
 public:
  Matching(const File& file, const Network& network) : file_(file), network_(network) {}

  Status match(TensorId id) {
    const network::Tensor& weight = network_.tensor(id);
    const std::string name = name_in_file(network_.name_of(id));
    std::vector<std::int64_t> wanted;
    for (const network::Dim d : network_.dims_of(weight)) wanted.push_back(d.value());
    const TensorInfo* const found = file_.find(name);
    if (found == nullptr) {
      const auto [key, value] = halves_of(name);
      const TensorInfo *const first = file_.find(key), *const second = file_.find(value);
      if (first != nullptr && second != nullptr) return match_halves(id, wanted, *first, *second);
      return fail("tensor {} is not there, which the architecture needs: {}", quote(name),
                  extents_text(wanted));
    }
    if (!same_extents(wanted, {found->extents().begin(), found->extents().end()}))
      return fail("tensor {} has the extents {}, where the architecture needs {}", quote(name),
                  extents_text(found->extents()), extents_text(wanted));
    add(id, *found, found->bytes);
    return {};
  }

  [[nodiscard]] std::vector<StoredAs> take() && { return std::move(stored_); }

  /// "3 tensors (4.0 KiB) of the file are not in the network: rope_freqs.weight, …"
  [[nodiscard]] std::vector<std::string> notes() const {
    constexpr std::size_t kNamed = 4;
    std::vector<std::string> names;
    std::int64_t bytes = 0;
    std::size_t unused = 0;
    for (const TensorInfo& tensor : file_.tensors) {
      if (used_.contains(tensor.name)) continue;
      bytes += tensor.bytes;
      if (++unused <= kNamed) names.push_back(printable(tensor.name, 100));
    }
    if (unused == 0) return {};
    return {fmt::format("{} tensor{} of the file ({}) {} not part of the network as it is known here: {}{}",
                        unused, unused == 1 ? "" : "s", text(Bytes(bytes)), unused == 1 ? "is" : "are",
                        fmt::join(names, ", "), unused > kNamed ? ", …" : "")};
  }

 private:
  void add(TensorId id, const TensorInfo& tensor, std::int64_t bytes) {
    used_.insert(tensor.name);
    stored_.push_back({.tensor = id, .format = tensor.type->name, .bytes = bytes, .kept = true});
  }

  Status match_halves(TensorId id, std::span<const std::int64_t> wanted, const TensorInfo& key,
                      const TensorInfo& value) {
    std::int64_t elements = 1;
    for (const std::int64_t extent : wanted) elements *= extent;  // below the limits of a description
    if (key.elements() > elements || value.elements() != elements - key.elements())
      return fail("tensors {} and {} have the extents {} and {}, where the architecture needs {} together",
                  quote(key.name), quote(value.name), extents_text(key.extents()),
                  extents_text(value.extents()), extents_text(wanted));
    used_.insert(value.name);
    add(id, key, key.bytes + value.bytes);
    return {};
  }

  const File& file_;
  const Network& network_;
  std::vector<StoredAs> stored_;
  std::set<std::string_view> used_;
};

}  // namespace

Result<Model> build(const File& file, std::string_view name, network::Mode mode) {
  const Result<network::transformers::Decoder> decoder = describe(file);
  if (!decoder) return std::unexpected(decoder.error());
  Result<Network> network = network::transformers::build(*decoder, name, mode);
  if (!network) return std::unexpected(std::move(network).error());
  Matching matching(file, *network);
  for (const TensorId id : network->main().weights)
    if (network->tensor(id).role == network::Role::parameter) PLIMSOLL_TRY(matching.match(id));
  Model model{.network = {}, .notes = matching.notes()};
  network::set_stored(*network, std::move(matching).take());
  model.network = std::move(*network);
  if (file.parts > 1) model.notes.insert(model.notes.begin(), fmt::format("read from {} parts", file.parts));
  return model;
}

bool is_gguf(const std::filesystem::path& path) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return false;
  std::array<char, 4> magic{};
  std::ifstream(path, std::ios::binary).read(magic.data(), magic.size());
  return std::string_view(magic.data(), magic.size()) == "GGUF";
}

Result<Model> read_model(const std::filesystem::path& path, network::Mode mode) {
  const auto within = [&path](Error error) {
    return std::unexpected(std::move(error).within(printable(path.string())));
  };
  const Result<File> file = read(path);
  if (!file) return std::unexpected(file.error());
  Result<Model> model = build(*file, path.stem().string(), mode);
  if (!model) return within(std::move(model).error());
  return model;
}

}  // namespace plimsoll::gguf
