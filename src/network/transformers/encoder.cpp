#include "network/transformers/encoder.hpp"

#include <utility>

namespace plimsoll::network::transformers {
namespace {

using zoo::Blocks, zoo::Features, zoo::Tokens;

TensorId table(Blocks& b, const std::string& name, std::int64_t rows, std::int64_t width, TensorId& index) {
  const TensorId weight = b.builder().parameter(name + ".weight", {rows, width});
  index = b.add("Gather", name, {weight, index}, {{"axis", 0}});
  return weight;
}

TensorId guess_words(const TextEncoder& e, Blocks& b, Tokens x, TensorId words) {
  const WordHead& h = *e.words;
  Tokens y = b.linear(h.dense, x, x.width);
  y.id = b.activate(h.dense + ".act", y.id, e.stack.mlp.activation);
  y = add_norm(b, h.norm, y, e.stack.norm);
  TensorId bias = b.builder().parameter(h.bias, {e.vocabulary});
  if (!h.tied) words = b.builder().parameter(h.table, {e.vocabulary, x.width});
  if (!h.tied && !h.own_bias.empty()) bias = b.builder().parameter(h.own_bias, {e.vocabulary});
  const TensorId turned = b.add("Transpose", "words.transpose", {words}, {{"perm", {1, 0}}});
  const TensorId scores = b.add("MatMul", "words.matmul", {y.id, turned});
  return b.add("Add", "words", {scores, bias});
}

TensorId classify(const ClassHead& h, Blocks& b, Tokens x, Features first, Features pooled) {
  if (h.from == ClassHead::From::tokens) return b.linear(h.name, x, h.classes).id;
  Features from = h.from == ClassHead::From::pooled ? pooled : first;
  if (!h.before.empty()) {
    from = b.linear(h.before, from, from.width);
    from.id = b.activate(h.before + ".act", from.id, Activation::relu);
  }
  return b.linear(h.name, from, h.classes).id;
}

void add_results(const TextEncoder& e, Blocks& b, Tokens x, TensorId words) {
  Features first{kNoTensor, x.width}, pooled;
  const auto first_token = [&] {
    if (first.id == kNoTensor)
      first.id = b.add("Gather", e.prefix + "first", {x.id, b.integer(0)}, {{"axis", 1}});
    return first;
  };
  if (!e.pooler.empty()) {
    pooled = b.linear(e.prefix + e.pooler, first_token(), x.width);
    pooled.id = b.activate(e.prefix + e.pooler + ".tanh", pooled.id, Activation::tanh);
  }
  if (e.words) b.output(guess_words(e, b, x, words));
  for (const ClassHead& head : e.heads) {
    if (head.from == ClassHead::From::first) static_cast<void>(first_token());
    b.output(classify(head, b, x, first, pooled));
  }
  if (e.words || !e.heads.empty()) return;
  b.output(x.id);
  b.output(pooled.id);
}

}  // namespace

Tokens add_positions(Blocks& b, const std::string& name, Tokens x, TensorId ids, std::int64_t rows,
                     std::int64_t skipped) {
  const TensorId weight = b.builder().parameter(name + ".weight", {rows + skipped, x.width});
  // A sequence longer than the table fails at the sum: the slice ends with the table.
  TensorId end = b.length_of(name + ".length", ids);
  if (skipped > 0) end = b.add("Add", name + ".end", {end, b.integers({skipped})});
  const TensorId placed = b.add("Slice", name, {weight, b.integers({skipped}), end, b.integers({0})});
  return {b.add("Add", name + ".add", {x.id, placed}), x.width};
}

Status check(const TextEncoder& e) {
  PLIMSOLL_TRY(check(e.stack));
  const auto within = [](std::string_view what, std::int64_t n, std::int64_t least) -> Status {
    if (n < least || n > kMostVocabulary)
      return fail("{} is {}; it must be between {} and {}", what, n, least, kMostVocabulary);
    return {};
  };
  PLIMSOLL_TRY(within("the vocabulary", e.vocabulary, 1));
  PLIMSOLL_TRY(within("the number of positions", e.positions, 1));
  PLIMSOLL_TRY(within("the number of token types", e.token_types, 0));
  for (const ClassHead& head : e.heads) PLIMSOLL_TRY(within("the number of classes", head.classes, 1));
  return {};
}

Result<Network> build(const TextEncoder& e, std::string_view name, Mode mode) {
  PLIMSOLL_TRY(check(e));
  Blocks b(name, mode, kOpset);
  const std::string in = e.prefix + "embeddings.";
  const TensorId ids = b.builder().input("input_ids", DataType::int64, {b.batch(), b.sequence()});
  TensorId found = ids;
  const TensorId words = table(b, in + "word_embeddings", e.vocabulary, e.stack.width, found);
  if (e.token_types > 0) {
    TensorId typed = b.builder().input("token_type_ids", DataType::int64, {b.batch(), b.sequence()});
    table(b, in + "token_type_embeddings", e.token_types, e.stack.width, typed);
    found = b.add("Add", in + "add", {found, typed});
  }
  Tokens x = add_positions(b, in + "position_embeddings", {found, e.stack.width}, ids, e.positions);
  x = add_norm(b, in + "LayerNorm", x, e.stack.norm);
  x.id = b.dropout(in + "dropout", x.id, e.embedding_dropout);
  x = add_layers(b, e.stack, x, {});
  add_results(e, b, x, words);
  return std::move(b).finish();
}

}  // namespace plimsoll::network::transformers
