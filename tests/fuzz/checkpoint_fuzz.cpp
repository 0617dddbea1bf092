// Any bytes, taken for the index of a checkpoint, name plain files or give one Error; taken for a file of
// weights, a network takes what matches and is told the rest.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string_view>

#include "huggingface/safetensors.hpp"
#include "network/builder.hpp"

namespace {

using namespace plimsoll;

void require(bool holds) {
  if (!holds) std::abort();
}

network::Network small_network() {
  network::Builder b("fuzz");
  (void)b.parameter("model.embed_tokens.weight", {8, 4});
  (void)b.parameter("model.layers.0.mlp.experts.gate_up_proj", {2, 6, 4});
  (void)b.parameter("model.layers.0.mlp.experts.down_proj", {2, 4, 3});
  (void)b.parameter("a", {4});
  return std::move(b).finish();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): libFuzzer hands bytes, a file holds
  // characters
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto index = huggingface::read_index(text);
  if (index)
    for (const auto& [name, file] : *index) require(!file.empty() && file.find('/') == std::string::npos);
  else
    require(!index.error().text().empty());
  auto arrays = job::read_safetensors_header(std::as_bytes(std::span(data, size)));
  if (!arrays) return 0;
  network::Network network = small_network();
  const std::size_t found = arrays->size();
  const huggingface::Matches matches =
      huggingface::apply({.weights = std::move(*arrays), .files = 1}, network);
  require(network.stored.size() <= network.main().weights.size());
  require(matches.unmatched <= network.main().weights.size());
  require(found > 0 || !matches.notes.empty());
  return 0;
}
