#include "network/transformers/decoder.hpp"
#include "network/zoo/families.hpp"

namespace plimsoll::network::zoo {
namespace {

// Touvron et al. 2023, Dubey et al. 2024; modules as Hugging Face's LlamaForCausalLM. Rotary positions have
// no table: the sequence is bounded by training alone, not by a weight.
struct Llama {
  std::string_view name;
  std::string_view title;
  std::string_view input;
  std::int64_t layers, heads, key_heads, width, hidden, vocabulary;
};
constexpr Llama kLlamas[] = {
    {"llama2_7b", "Llama 2 7B", "sequence (at most 4096)", 32, 32, 32, 4096, 11008, 32000},
    {"llama2_13b", "Llama 2 13B", "sequence (at most 4096)", 40, 40, 40, 5120, 13824, 32000},
    {"llama2_70b", "Llama 2 70B", "sequence (at most 4096)", 80, 64, 8, 8192, 28672, 32000},
    {"llama3_8b", "Llama 3 8B", "sequence (at most 8192)", 32, 32, 8, 4096, 14336, 128256},
    {"llama3_70b", "Llama 3 70B", "sequence (at most 8192)", 80, 64, 8, 8192, 28672, 128256},
};
constexpr double kLlamaEpsilon = 1e-5;

constexpr Option kLlamaOptions[] = {
    {"layers", "decoder layers", "as listed", Option::Kind::integer, 1, 1000},
    {"vocabulary", "rows of the word table", "as listed", Option::Kind::integer, 1, 1e7},
};

Result<Network> build_llama(const Entry& entry, const Arguments& arguments, Mode mode) {
  const Llama& llama = row_of(kLlamas, entry);
  transformers::Decoder d;
  d.vocabulary = arguments.integer("vocabulary", llama.vocabulary);
  transformers::Stack& s = d.stack;
  s.width = llama.width;
  s.layers.resize(static_cast<std::size_t>(arguments.integer("layers", llama.layers)));
  s.norm.epsilon = kLlamaEpsilon;
  s.mlp.hidden = llama.hidden;
  s.rotary_size = llama.width / llama.heads;
  s.attention = {.heads = llama.heads, .key_heads = llama.key_heads, .head_size = s.rotary_size};
  return transformers::build(d, entry.name, mode);
}

}  // namespace

std::vector<Entry> llama_entries() {
  std::vector<Entry> entries;
  for (const Llama& llama : kLlamas)
    entries.push_back({llama.name, llama.title, kLanguage, llama.input, kLlamaOptions, build_llama});
  return entries;
}

}  // namespace plimsoll::network::zoo
