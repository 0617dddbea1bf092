#include "network/transformers/decoder.hpp"

#include <utility>

#include "network/transformers/encoder.hpp"

namespace plimsoll::network::transformers {
namespace {

using zoo::Blocks, zoo::Tokens;

TensorId words_of(const Decoder& d, Blocks& b) {
  const std::int64_t width = d.embedding_width > 0 ? d.embedding_width : d.stack.width;
  return b.builder().parameter(d.words + ".weight", {d.vocabulary, width});
}

Tokens embed(const Decoder& d, Blocks& b, TensorId ids, TensorId words) {
  const std::int64_t width = d.embedding_width > 0 ? d.embedding_width : d.stack.width;
  Tokens x{b.add("Gather", d.words, {words, ids}, {{"axis", 0}}), width};
  if (d.embedding_scale != 1) x.id = b.add("Mul", d.words + ".scale", {x.id, b.real(d.embedding_scale)});
  if (width != d.stack.width) x = b.linear(d.project_in, x, d.stack.width, false);
  if (d.positions > 0) x = add_positions(b, d.position_table, x, ids, d.positions, d.position_offset);
  x.id = b.dropout(d.words + ".dropout", x.id, d.embedding_dropout);
  return x;
}

TensorId head(const Decoder& d, Blocks& b, Tokens x, TensorId words) {
  TensorId logits = kNoTensor;
  if (d.tied) {
    const TensorId turned = b.add("Transpose", d.head_name + ".transpose", {words}, {{"perm", {1, 0}}});
    logits = b.add("MatMul", d.head_bias ? d.head_name + ".matmul" : d.head_name, {x.id, turned});
    if (d.head_bias)
      logits =
          b.add("Add", d.head_name, {logits, b.builder().parameter(d.head_name + ".bias", {d.vocabulary})});
  } else {
    logits = b.linear(d.head_name, x, d.vocabulary, d.head_bias).id;
  }
  if (d.head_soft_cap <= 0) return logits;
  const std::string cap = d.head_name + ".soft_cap";
  const TensorId small = b.add("Div", cap + ".div", {logits, b.real(d.head_soft_cap)});
  return b.add("Mul", cap, {b.add("Tanh", cap + ".tanh", {small}), b.real(d.head_soft_cap)});
}

}  // namespace

Result<Network> build(const Decoder& d, std::string_view name, Mode mode) {
  PLIMSOLL_TRY(check(d));
  Blocks b(name, mode, kOpset);
  const TensorId ids = b.builder().input("input_ids", DataType::int64, {b.batch(), b.sequence()});
  const TensorId words = words_of(d, b);
  Tokens x = embed(d, b, ids, words);
  Surroundings around;
  if (d.stack.rotary_size > 0) {
    add_rotary(b, "model.rotary_emb", ids, d.stack.rotary_size, around.cosine, around.sine);
    if (d.local_rotary)
      add_rotary(b, "model.rotary_emb_local", ids, d.stack.rotary_size, around.local_cosine,
                 around.local_sine);
  }
  x = add_layers(b, d.stack, x, around);
  if (d.final_norm) x = add_norm(b, d.last_norm, x, d.stack.norm);
  if (d.embedding_width > 0 && d.embedding_width != d.stack.width)
    x = b.linear(d.project_out, x, d.embedding_width, false);
  b.output(d.head ? head(d, b, x, words) : x.id);
  return std::move(b).finish();
}

}  // namespace plimsoll::network::transformers
