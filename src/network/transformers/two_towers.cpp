#include "network/transformers/two_towers.hpp"

#include <utility>

#include "network/transformers/encoder.hpp"

namespace plimsoll::network::transformers {
namespace {

using zoo::Blocks, zoo::Features, zoo::Tokens;

/// A linear layer without bias over one vector of each sample.
Features project(Blocks& b, const std::string& name, Features x, std::int64_t out) {
  return b.linear(name, x, out, false);
}

Tokens text_tower(Blocks& b, const TwoTowers& t) {
  const std::string in = "text_model.embeddings.";
  const TensorId ids = b.builder().input("input_ids", DataType::int64, {b.batch(), b.sequence()});
  const TensorId words =
      b.builder().parameter(in + "token_embedding.weight", {t.vocabulary, t.text_stack.width});
  Tokens x{b.add("Gather", in + "token_embedding", {words, ids}, {{"axis", 0}}), t.text_stack.width};
  x = add_positions(b, in + "position_embedding", x, ids, t.positions);
  x = add_layers(b, t.text_stack, x, {});
  return add_norm(b, "text_model.final_layer_norm", x, t.text_stack.norm);
}

/// The class token's, after a norm of its own.
Features pool_image(Blocks& b, const TwoTowers& t, Tokens x) {
  const Features first = first_token(b, "vision_model.pooled", x);
  const Tokens normal = add_norm(b, t.vision.last_norm, {first.id, first.width}, t.vision.stack.norm);
  return {normal.id, normal.width};
}

TensorId unit(Blocks& b, const std::string& name, TensorId x) {
  const TensorId length = b.add("ReduceL2", name + ".norm", {x, b.integers({-1})}, {{"keepdims", 1}});
  return b.add("Div", name + ".unit", {x, length});
}

}  // namespace

Status check(const TwoTowers& t) {
  if (t.projection < 0 || t.projection > kMostWidth) return fail("{} is no width", t.projection);
  if (t.image) PLIMSOLL_TRY(check(t.vision));
  if (!t.text) return {};
  PLIMSOLL_TRY(check(t.text_stack));
  for (const std::int64_t rows : {t.vocabulary, t.positions})
    if (rows < 1 || rows > kMostVocabulary)
      return fail("a table has {} rows; it must have between 1 and {}", rows, kMostVocabulary);
  return {};
}

Result<Network> build(const TwoTowers& t, std::string_view name, Mode mode) {
  PLIMSOLL_TRY(check(t));
  Blocks b(name, mode, kOpset);
  TensorId text = kNoTensor, image = kNoTensor;
  if (t.text) {
    const Tokens x = text_tower(b, t);
    // One token of each text, the one that ends it: which, the data says.
    text = t.projection > 0
               ? project(b, "text_projection", first_token(b, "text_model.pooled", x), t.projection).id
               : x.id;
  }
  if (t.image) {
    const Tokens x = add_vision(b, t.vision);
    const Features pooled = pool_image(b, t, x);
    image = t.projection > 0 ? project(b, "visual_projection", pooled, t.projection).id : pooled.id;
  }
  if (!t.text || !t.image) {
    b.output(t.text ? text : image);
    return std::move(b).finish();
  }
  const TensorId scale = b.builder().parameter("logit_scale", {});
  const TensorId turned =
      b.add("Transpose", "image_embeds.transpose", {unit(b, "image_embeds", image)}, {{"perm", {1, 0}}});
  const TensorId similar = b.add("MatMul", "similarity", {unit(b, "text_embeds", text), turned});
  b.output(b.add("Mul", "logits_per_text", {similar, b.add("Exp", "logit_scale.exp", {scale})}));
  return std::move(b).finish();
}

}  // namespace plimsoll::network::transformers
