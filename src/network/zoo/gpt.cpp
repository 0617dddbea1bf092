#include <string>

#include <fmt/format.h>

#include "network/zoo/blocks.hpp"
#include "network/zoo/families.hpp"

namespace plimsoll::network::zoo {
namespace {

// Radford et al. 2019, Brown et al. 2020; modules as Hugging Face's GPT2LMHeadModel. GPT-3's sparse
// attention layers are taken as dense: its paper does not say which they are, and counts FLOPs without them.
struct Gpt {
  std::string_view name;
  std::string_view title;
  std::string_view input;
  std::int64_t layers, heads, width, context;
};
constexpr Gpt kGpts[] = {
    {"gpt2", "GPT-2 small with its language model head", "sequence (at most 1024)", 12, 12, 768, 1024},
    {"gpt2_medium", "GPT-2 medium", "sequence (at most 1024)", 24, 16, 1024, 1024},
    {"gpt2_large", "GPT-2 large", "sequence (at most 1024)", 36, 20, 1280, 1024},
    {"gpt2_xl", "GPT-2 XL", "sequence (at most 1024)", 48, 25, 1600, 1024},
    {"gpt3", "GPT-3 175B", "sequence (at most 2048)", 96, 96, 12288, 2048},
};
constexpr std::int64_t kGptVocabulary = 50257;
constexpr double kGptEpsilon = 1e-5;
constexpr double kGptDropout = 0.1;

constexpr Option kGptOptions[] = {
    {"layers", "decoder layers", "as listed", Option::Kind::integer, 1, 1000},
    {"vocabulary", "rows of the word table", "50257", Option::Kind::integer, 1, 1e7},
    {"positions", "longest sequence", "1024 or 2048", Option::Kind::integer, 1, 1e6},
};

Tokens gpt_layer(Blocks& b, const std::string& name, Tokens x, std::int64_t heads, TensorId mask) {
  const std::int64_t w = x.width;
  const Blocks::Heads split{heads, w / heads};
  const std::string self = name + ".attn";
  const Tokens all = b.linear(self + ".c_attn", b.layer_norm(name + ".ln_1", x, kGptEpsilon), 3 * w);
  const auto parts = b.add_many("Split", self + ".split", {all.id, b.integers({w, w, w})}, 3, {{"axis", 2}});
  const TensorId context =
      b.attend(self, b.split_heads(self + ".query", {parts[0], w}, split),
               b.split_heads(self + ".key", {parts[1], w}, split),
               b.split_heads(self + ".value", {parts[2], w}, split), split, mask, kGptDropout);
  Tokens y = b.linear(self + ".c_proj", b.merge_heads(self, context, split), w);
  y.id = b.dropout(self + ".resid_dropout", y.id, kGptDropout);
  x = b.sum(name + ".add", y, x);
  y = b.linear(name + ".mlp.c_fc", b.layer_norm(name + ".ln_2", x, kGptEpsilon), 4 * w);
  y.id = b.activate(name + ".mlp.act", y.id, Activation::gelu_tanh);
  y = b.linear(name + ".mlp.c_proj", y, w);
  y.id = b.dropout(name + ".mlp.dropout", y.id, kGptDropout);
  return b.sum(name + ".add_1", x, y);
}

Result<Network> build_gpt(const Entry& entry, const Arguments& arguments, Mode mode) {
  const Gpt& gpt = row_of(kGpts, entry);
  const std::int64_t layers = arguments.integer("layers", gpt.layers);
  const std::int64_t positions = arguments.integer("positions", gpt.context);
  Blocks b(entry.name, mode);
  const TensorId ids = b.builder().input("input_ids", DataType::int64, {b.batch(), b.sequence()});
  const TensorId words = b.builder().parameter("transformer.wte.weight",
                                               {arguments.integer("vocabulary", kGptVocabulary), gpt.width});
  const TensorId places = b.builder().parameter("transformer.wpe.weight", {positions, gpt.width});
  // A sequence longer than the table fails at the sum: the slice ends with the table.
  const TensorId length = b.length_of("transformer.length", ids);
  const TensorId placed =
      b.add("Slice", "transformer.wpe", {places, b.integers({0}), length, b.integers({0})});
  const TensorId worded = b.add("Gather", "transformer.wte", {words, ids}, {{"axis", 0}});
  Tokens x{b.add("Add", "transformer.add", {worded, placed}), gpt.width};
  x.id = b.dropout("transformer.drop", x.id, kGptDropout);
  const TensorId mask = b.causal_mask("transformer.mask", ids);
  for (std::int64_t i = 0; i < layers; ++i)
    x = gpt_layer(b, fmt::format("transformer.h.{}", i), x, gpt.heads, mask);
  x = b.layer_norm("transformer.ln_f", x, kGptEpsilon);
  // The head is tied: the same tensor as the word table.
  const TensorId turned = b.add("Transpose", "lm_head.transpose", {words}, {{"perm", {1, 0}}});
  b.output(b.add("MatMul", "lm_head", {x.id, turned}));
  return std::move(b).finish();
}

}  // namespace

std::vector<Entry> gpt_entries() {
  std::vector<Entry> entries;
  for (const Gpt& gpt : kGpts)
    entries.push_back({gpt.name, gpt.title, kLanguage, gpt.input, kGptOptions, build_gpt});
  return entries;
}

}  // namespace plimsoll::network::zoo
