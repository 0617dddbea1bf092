#include <string>

#include <fmt/format.h>

#include "network/zoo/blocks.hpp"
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
constexpr std::int64_t kOpset = 23;  // the first with RMSNormalization
constexpr double kLlamaEpsilon = 1e-5;

constexpr Option kLlamaOptions[] = {
    {"layers", "decoder layers", "as listed", Option::Kind::integer, 1, 1000},
    {"vocabulary", "rows of the word table", "as listed", Option::Kind::integer, 1, 1e7},
};

/// What all layers share: cosines and sines of the positions, 1 x 1 x sequence x head size, and the mask.
struct Shared {
  TensorId cosine, sine, mask;
};

Shared share(Blocks& b, TensorId ids, std::int64_t head_size) {
  const std::string name = "model.rotary_emb";
  const TensorId frequencies = b.builder().buffer(name + ".inv_freq", {1, head_size / 2});
  const TensorId length =
      b.add("Squeeze", name + ".length", {b.length_of(name + ".shape", ids), b.integers({0})});
  const TensorId range = b.add("Range", name + ".range", {b.integer(0), length, b.integer(1)});
  const TensorId column = b.add("Unsqueeze", name + ".unsqueeze", {range, b.integers({1})});
  const TensorId real =
      b.add("Cast", name + ".cast", {column}, {{"to", static_cast<std::int64_t>(DataType::float32)}});
  const TensorId angles = b.add("Mul", name + ".mul", {real, frequencies});
  const TensorId both = b.add("Concat", name + ".concat", {angles, angles}, {{"axis", -1}});
  return {b.add("Cos", name + ".cos", {both}), b.add("Sin", name + ".sin", {both}),
          b.causal_mask("model.mask", ids)};
}

Tokens rms_norm(Blocks& b, const std::string& name, Tokens x) {
  const TensorId scale = b.builder().parameter(name + ".weight", {x.width});
  return {b.add("RMSNormalization", name, {x.id, scale}, {{"axis", -1}, {"epsilon", kLlamaEpsilon}}),
          x.width};
}

// x cos + rotate_half(x) sin, with rotate_half(x) = (-second half, first half).
TensorId rotate(Blocks& b, const std::string& name, TensorId x, std::int64_t size, const Shared& shared) {
  const TensorId axis = b.integers({3});
  const TensorId middle = b.integers({size / 2});
  const TensorId first = b.add("Slice", name + ".first", {x, b.integers({0}), middle, axis});
  const TensorId second = b.add("Slice", name + ".second", {x, middle, b.integers({size}), axis});
  const TensorId half =
      b.add("Concat", name + ".rotate_half", {b.add("Neg", name + ".neg", {second}), first}, {{"axis", -1}});
  return b.add(
      "Add", name,
      {b.add("Mul", name + ".cos", {x, shared.cosine}), b.add("Mul", name + ".sin", {half, shared.sine})});
}

// Grouped queries: each key head serves several query heads. A no-op where there are as many.
TensorId repeat(Blocks& b, const std::string& name, TensorId x, const Llama& llama, std::int64_t size) {
  if (llama.heads == llama.key_heads) return x;
  const TensorId wide = b.add("Unsqueeze", name + ".unsqueeze", {x, b.integers({2})});
  const TensorId copies =
      b.add("Expand", name + ".expand", {wide, b.integers({1, 1, llama.heads / llama.key_heads, 1, 1})});
  return b.add("Reshape", name + ".reshape", {copies, b.integers({0, llama.heads, -1, size})});
}

Tokens attention(Blocks& b, const std::string& name, Tokens x, const Llama& llama, const Shared& shared) {
  const std::int64_t size = llama.width / llama.heads;
  const Blocks::Heads queries{llama.heads, size};
  const Blocks::Heads keys{llama.key_heads, size};
  const auto project = [&](const std::string& part, Blocks::Heads heads) {
    return b.split_heads(name + part, b.linear(name + part, x, heads.count * heads.size, false), heads);
  };
  const TensorId query = rotate(b, name + ".q_rotary", project(".q_proj", queries), size, shared);
  const TensorId rotated = rotate(b, name + ".k_rotary", project(".k_proj", keys), size, shared);
  const TensorId key = repeat(b, name + ".k_repeat", rotated, llama, size);
  const TensorId value = repeat(b, name + ".v_repeat", project(".v_proj", keys), llama, size);
  const TensorId context = b.attend(name, query, key, value, queries, shared.mask, 0);
  return b.linear(name + ".o_proj", b.merge_heads(name, context, queries), llama.width, false);
}

Tokens gated_mlp(Blocks& b, const std::string& name, Tokens x, std::int64_t hidden) {
  const TensorId gate =
      b.activate(name + ".act_fn", b.linear(name + ".gate_proj", x, hidden, false).id, Activation::silu);
  const TensorId both = b.add("Mul", name + ".mul", {gate, b.linear(name + ".up_proj", x, hidden, false).id});
  return b.linear(name + ".down_proj", Tokens{both, hidden}, x.width, false);
}

Result<Network> build_llama(const Entry& entry, const Arguments& arguments, Mode mode) {
  const Llama& llama = row_of(kLlamas, entry);
  const std::int64_t vocabulary = arguments.integer("vocabulary", llama.vocabulary);
  const std::int64_t layers = arguments.integer("layers", llama.layers);
  Blocks b(entry.name, mode, kOpset);
  const TensorId ids = b.builder().input("input_ids", DataType::int64, {b.batch(), b.sequence()});
  const TensorId words = b.builder().parameter("model.embed_tokens.weight", {vocabulary, llama.width});
  Tokens x{b.add("Gather", "model.embed_tokens", {words, ids}, {{"axis", 0}}), llama.width};
  const Shared shared = share(b, ids, llama.width / llama.heads);
  for (std::int64_t i = 0; i < layers; ++i) {
    const std::string name = fmt::format("model.layers.{}", i);
    x = b.sum(name + ".add", x,
              attention(b, name + ".self_attn", rms_norm(b, name + ".input_layernorm", x), llama, shared));
    x = b.sum(name + ".add_1", x,
              gated_mlp(b, name + ".mlp", rms_norm(b, name + ".post_attention_layernorm", x), llama.hidden));
  }
  b.output(b.linear("lm_head", rms_norm(b, "model.norm", x), vocabulary, false).id);
  return std::move(b).finish();
}

}  // namespace

std::vector<Entry> llama_entries() {
  std::vector<Entry> entries;
  for (const Llama& llama : kLlamas)
    entries.push_back({llama.name, llama.title, kLanguage, llama.input, kLlamaOptions, build_llama});
  return entries;
}

}  // namespace plimsoll::network::zoo
