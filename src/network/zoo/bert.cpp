#include <string>

#include <fmt/format.h>

#include "network/zoo/blocks.hpp"
#include "network/zoo/families.hpp"

namespace plimsoll::network::zoo {
namespace {

// Devlin et al. 2018, as Hugging Face's BertModel with its pooler.
struct Bert {
  std::string_view name;
  std::string_view title;
  std::int64_t layers, heads, width;
};
constexpr Bert kBerts[] = {
    {"bert_base", "BERT base, uncased", 12, 12, 768},
    {"bert_large", "BERT large, uncased", 24, 16, 1024},
};
constexpr std::int64_t kBertVocabulary = 30522;
constexpr std::int64_t kPositions = 512;
constexpr std::int64_t kTokenTypes = 2;
constexpr double kBertEpsilon = 1e-12;
constexpr double kBertDropout = 0.1;

constexpr Option kBertOptions[] = {
    {"layers", "encoder layers", "12 or 24", Option::Kind::integer, 1, 1000},
    {"vocabulary", "rows of the word table", "30522", Option::Kind::integer, 1, 1e7},
    {"positions", "longest sequence", "512", Option::Kind::integer, 1, 1e6},
};

Tokens embeddings(Blocks& b, const Arguments& arguments, std::int64_t width) {
  const std::int64_t positions = arguments.integer("positions", kPositions);
  const TensorId ids = b.builder().input("input_ids", DataType::int64, {b.batch(), b.sequence()});
  const TensorId types = b.builder().input("token_type_ids", DataType::int64, {b.batch(), b.sequence()});
  const auto table = [&](const std::string& name, std::int64_t rows, TensorId index) {
    const TensorId weight = b.builder().parameter(name + ".weight", {rows, width});
    return b.add("Gather", name, {weight, index}, {{"axis", 0}});
  };
  // A sequence longer than the table of positions fails at the sum: the slice ends with the table.
  const TensorId all = b.builder().buffer("embeddings.position_ids", {1, positions}, DataType::int64);
  const TensorId length = b.length_of("embeddings.length", ids);
  const TensorId position_ids =
      b.add("Slice", "embeddings.positions", {all, b.integers({0}), length, b.integers({1})});
  const TensorId words =
      table("embeddings.word_embeddings", arguments.integer("vocabulary", kBertVocabulary), ids);
  const TensorId typed =
      b.add("Add", "embeddings.add", {words, table("embeddings.token_type_embeddings", kTokenTypes, types)});
  const TensorId placed = b.add("Add", "embeddings.add_1",
                                {typed, table("embeddings.position_embeddings", positions, position_ids)});
  Tokens x = b.layer_norm("embeddings.LayerNorm", {placed, width}, kBertEpsilon);
  x.id = b.dropout("embeddings.dropout", x.id, kBertDropout);
  return x;
}

// (1 - mask) * lowest, batch x 1 x 1 x sequence.
TensorId padding_mask(Blocks& b) {
  const TensorId mask = b.builder().input("attention_mask", DataType::int64, {b.batch(), b.sequence()});
  const TensorId wide = b.add("Unsqueeze", "mask.unsqueeze", {mask, b.integers({1, 2})});
  const TensorId real =
      b.add("Cast", "mask.cast", {wide}, {{"to", static_cast<std::int64_t>(DataType::float32)}});
  const TensorId inverse = b.add("Sub", "mask.sub", {b.real(1), real});
  return b.add("Mul", "mask.mul", {inverse, b.real(-3.4028234663852886e38)});
}

// Linear, dropout, sum with the branch's start, LayerNorm: BERT normalises after.
Tokens output(Blocks& b, const std::string& name, Tokens x, Tokens residual) {
  Tokens y = b.linear(name + ".dense", x, residual.width);
  y.id = b.dropout(name + ".dropout", y.id, kBertDropout);
  return b.layer_norm(name + ".LayerNorm", b.sum(name + ".add", y, residual), kBertEpsilon);
}

Tokens bert_layer(Blocks& b, const std::string& name, Tokens x, std::int64_t heads, TensorId mask) {
  const Blocks::Heads split{heads, x.width / heads};
  const std::string self = name + ".attention.self";
  const TensorId query = b.split_heads(self + ".query", b.linear(self + ".query", x, x.width), split);
  const TensorId key = b.split_heads(self + ".key", b.linear(self + ".key", x, x.width), split);
  const TensorId value = b.split_heads(self + ".value", b.linear(self + ".value", x, x.width), split);
  const TensorId context = b.attend(self, query, key, value, split, mask, kBertDropout);
  x = output(b, name + ".attention.output", b.merge_heads(self, context, split), x);
  Tokens y = b.linear(name + ".intermediate.dense", x, 4 * x.width);
  y.id = b.activate(name + ".intermediate.gelu", y.id, Activation::gelu);
  return output(b, name + ".output", y, x);
}

Result<Network> build_bert(const Entry& entry, const Arguments& arguments, Mode mode) {
  const Bert& bert = row_of(kBerts, entry);
  Blocks b(entry.name, mode);
  Tokens x = embeddings(b, arguments, bert.width);
  const TensorId mask = padding_mask(b);
  const std::int64_t layers = arguments.integer("layers", bert.layers);
  for (std::int64_t i = 0; i < layers; ++i)
    x = bert_layer(b, fmt::format("encoder.layer.{}", i), x, bert.heads, mask);
  const Features first{b.add("Gather", "pooler.first", {x.id, b.integer(0)}, {{"axis", 1}}), x.width};
  const TensorId pooled =
      b.activate("pooler.activation", b.linear("pooler.dense", first, x.width).id, Activation::tanh);
  b.output(x.id);
  b.output(pooled);
  return std::move(b).finish();
}

}  // namespace

std::vector<Entry> bert_entries() {
  std::vector<Entry> entries;
  for (const Bert& bert : kBerts)
    entries.push_back({bert.name, bert.title, kLanguage, "sequence (at most 512)", kBertOptions, build_bert});
  return entries;
}

}  // namespace plimsoll::network::zoo
