#include <cmath>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "network/zoo/blocks.hpp"
#include "network/zoo/families.hpp"

namespace plimsoll::network::zoo {
namespace {

constexpr std::int64_t kPatch = 16;

// A strided convolution makes one token of every patch: batch x patches x width.
Tokens patches(Blocks& b, const std::string& conv, Image x, std::int64_t width) {
  if (x.size.height % kPatch != 0 || x.size.width % kPatch != 0)
    b.refuse(
        fmt::format("the input's sides {}x{} are not multiples of {}", x.size.height, x.size.width, kPatch));
  x = b.conv(conv, x, {.out = width, .kernel = kPatch, .stride = kPatch, .bias = true});
  const TensorId flat = b.add("Reshape", conv + ".reshape", {x.id, b.integers({0, width, -1})});
  return {b.add("Transpose", conv + ".permute", {flat}, {{"perm", {0, 2, 1}}}), width};
}

std::int64_t patch_count(const ImageShape& shape) {
  return (shape.height / kPatch) * (shape.width / kPatch);
}

// The class token, learned once, repeated for every sample of the batch.
TensorId class_token(Blocks& b, const std::string& name, TensorId like, std::int64_t width) {
  const TensorId token = b.builder().parameter(name, {1, 1, width});
  const TensorId batch = b.add("Shape", name + ".batch", {like}, {{"start", 0}, {"end", 1}});
  const TensorId shape = b.add("Concat", name + ".shape", {batch, b.integers({1, width})}, {{"axis", 0}});
  return b.add("Expand", name + ".expand", {token, shape});
}

Features first_token(Blocks& b, const std::string& name, Tokens x) {
  return {b.add("Gather", name, {x.id, b.integer(0)}, {{"axis", 1}}), x.width};
}

// ---- ViT: Dosovitskiy et al. 2020, as torchvision has it.

struct Vit {
  std::string_view name;
  std::string_view title;
  std::int64_t layers, heads, width, hidden;
};
constexpr Vit kVits[] = {
    {"vit_b_16", "Vision Transformer, base, patches of 16", 12, 12, 768, 3072},
    {"vit_l_16", "Vision Transformer, large, patches of 16", 24, 16, 1024, 4096},
};

// nn.MultiheadAttention: one product for query, key and value, then a split.
Tokens self_attention(Blocks& b, const std::string& name, Tokens x, Blocks::Heads heads) {
  const std::int64_t w = x.width;
  const TensorId weight = b.builder().parameter(name + ".in_proj_weight", {w, 3 * w});
  const TensorId bias = b.builder().parameter(name + ".in_proj_bias", {3 * w});
  const TensorId product = b.add("MatMul", name + ".in_proj.matmul", {x.id, weight});
  const TensorId all = b.add("Add", name + ".in_proj", {product, bias});
  const auto parts = b.add_many("Split", name + ".split", {all, b.integers({w, w, w})}, 3, {{"axis", -1}});
  const TensorId context =
      b.attend(name, b.split_heads(name + ".query", {parts[0], w}, heads),
               b.split_heads(name + ".key", {parts[1], w}, heads),
               b.split_heads(name + ".value", {parts[2], w}, heads), heads, kNoTensor, 0);
  return b.linear(name + ".out_proj", b.merge_heads(name, context, heads), w);
}

Tokens vit_layer(Blocks& b, const std::string& name, Tokens x, const Vit& vit) {
  const Tokens attended = self_attention(b, name + ".self_attention", b.layer_norm(name + ".ln_1", x, 1e-6),
                                         {vit.heads, vit.width / vit.heads});
  x = b.sum(name + ".add", attended, x);
  Tokens y = b.linear(name + ".mlp.0", b.layer_norm(name + ".ln_2", x, 1e-6), vit.hidden);
  y.id = b.activate(name + ".mlp.1", y.id, Activation::gelu);
  return b.sum(name + ".add_1", x, b.linear(name + ".mlp.3", y, vit.width));
}

Result<Network> build_vit(const Entry& entry, const Arguments& arguments, Mode mode) {
  const Vit& vit = row_of(kVits, entry);
  Blocks b(entry.name, mode);
  Tokens x = patches(b, "conv_proj", b.image_input("input", arguments.image()), vit.width);
  x.id = b.add("Concat", "concat", {class_token(b, "class_token", x.id, vit.width), x.id}, {{"axis", 1}});
  const TensorId positions =
      b.builder().parameter("encoder.pos_embedding", {1, patch_count(arguments.image()) + 1, vit.width});
  x.id = b.add("Add", "encoder.add", {x.id, positions});
  for (std::int64_t i = 0; i < vit.layers; ++i)
    x = vit_layer(b, fmt::format("encoder.layers.encoder_layer_{}", i), x, vit);
  x = b.layer_norm("encoder.ln", x, 1e-6);
  b.output(b.linear("heads.head", first_token(b, "class", x), arguments.integer("classes", 1000)).id);
  return std::move(b).finish();
}

// ---- CaiT: Touvron et al. 2021. Heads talk to each other before and after the softmax; every branch is
// scaled by a learned vector; two last layers let the class token alone look at the patches.

struct Cait {
  std::string_view name;
  std::string_view title;
  std::string_view input;
  std::int64_t layers, heads, width;
};
constexpr std::int64_t kClassLayers = 2;
constexpr Cait kCaits[] = {
    {"cait_s24", "CaiT-S24", "3x224x224", 24, 8, 384},
    {"cait_m36", "CaiT-M36", "3x384x384", 36, 16, 768},
};

// A linear layer over the heads of batch x heads x tokens x tokens.
TensorId talk(Blocks& b, const std::string& name, TensorId scores, std::int64_t heads) {
  const TensorId last = b.add("Transpose", name + ".permute", {scores}, {{"perm", {0, 2, 3, 1}}});
  const TensorId mixed = b.linear(name, Tokens{last, heads}, heads).id;
  return b.add("Transpose", name + ".permute_1", {mixed}, {{"perm", {0, 3, 1, 2}}});
}

Tokens talking_heads(Blocks& b, const std::string& name, Tokens x, std::int64_t heads) {
  const std::int64_t size = x.width / heads;
  const TensorId all =
      b.add("Reshape", name + ".view",
            {b.linear(name + ".qkv", x, 3 * x.width).id, b.integers({0, 0, 3, heads, size})});
  const TensorId rows = b.add("Transpose", name + ".permute", {all}, {{"perm", {2, 0, 3, 1, 4}}});
  const auto part = [&](const char* what, std::int64_t index) {
    return b.add("Gather", name + what, {rows, b.integer(index)}, {{"axis", 0}});
  };
  const TensorId query =
      b.add("Mul", name + ".scale", {part(".q", 0), b.real(1.0 / std::sqrt(static_cast<double>(size)))});
  const TensorId key = b.add("Transpose", name + ".k.transpose", {part(".k", 1)}, {{"perm", {0, 1, 3, 2}}});
  const TensorId value = part(".v", 2);
  TensorId scores = talk(b, name + ".proj_l", b.add("MatMul", name + ".scores", {query, key}), heads);
  scores = b.add("Softmax", name + ".softmax", {scores}, {{"axis", -1}});
  const TensorId context =
      b.add("MatMul", name + ".context", {talk(b, name + ".proj_w", scores, heads), value});
  return b.linear(name + ".proj", b.merge_heads(name, context, {heads, size}), x.width);
}

Tokens class_attention(Blocks& b, const std::string& name, Tokens x, std::int64_t heads) {
  const Blocks::Heads split{heads, x.width / heads};
  const Tokens token{b.add("Slice", name + ".cls", {x.id, b.integers({0}), b.integers({1}), b.integers({1})}),
                     x.width};
  const TensorId query = b.split_heads(name + ".q", b.linear(name + ".q", token, x.width), split);
  const TensorId key = b.split_heads(name + ".k", b.linear(name + ".k", x, x.width), split);
  const TensorId value = b.split_heads(name + ".v", b.linear(name + ".v", x, x.width), split);
  const TensorId context = b.attend(name, query, key, value, split, kNoTensor, 0);
  return b.linear(name + ".proj", b.merge_heads(name, context, split), x.width);
}

// x + gamma * branch.
Tokens scaled_sum(Blocks& b, const std::string& name, Tokens x, Tokens branch, const std::string& gamma) {
  const TensorId scaled = b.add("Mul", name + ".mul", {b.builder().parameter(gamma, {x.width}), branch.id});
  return b.sum(name, x, {scaled, x.width});
}

Tokens mlp(Blocks& b, const std::string& name, Tokens x) {
  Tokens y = b.linear(name + ".fc1", x, 4 * x.width);
  y.id = b.activate(name + ".act", y.id, Activation::gelu);
  return b.linear(name + ".fc2", y, x.width);
}

Result<Network> build_cait(const Entry& entry, const Arguments& arguments, Mode mode) {
  const Cait& cait = row_of(kCaits, entry);
  Blocks b(entry.name, mode);
  Tokens x = patches(b, "patch_embed.proj", b.image_input("input", arguments.image()), cait.width);
  x.id = b.add("Add", "pos_add",
               {x.id, b.builder().parameter("pos_embed", {1, patch_count(arguments.image()), cait.width})});
  for (std::int64_t i = 0; i < cait.layers; ++i) {
    const std::string name = fmt::format("blocks.{}", i);
    const Tokens attended =
        talking_heads(b, name + ".attn", b.layer_norm(name + ".norm1", x, 1e-6), cait.heads);
    x = scaled_sum(b, name + ".add", x, attended, name + ".gamma_1");
    x = scaled_sum(b, name + ".add_1", x, mlp(b, name + ".mlp", b.layer_norm(name + ".norm2", x, 1e-6)),
                   name + ".gamma_2");
  }
  Tokens token{class_token(b, "cls_token", x.id, cait.width), cait.width};
  for (std::int64_t i = 0; i < kClassLayers; ++i) {
    const std::string name = fmt::format("blocks_token_only.{}", i);
    const Tokens all{b.add("Concat", name + ".concat", {token.id, x.id}, {{"axis", 1}}), cait.width};
    const Tokens attended =
        class_attention(b, name + ".attn", b.layer_norm(name + ".norm1", all, 1e-6), cait.heads);
    token = scaled_sum(b, name + ".add", token, attended, name + ".gamma_1");
    token = scaled_sum(b, name + ".add_1", token,
                       mlp(b, name + ".mlp", b.layer_norm(name + ".norm2", token, 1e-6)), name + ".gamma_2");
  }
  const Tokens both{b.add("Concat", "concat", {token.id, x.id}, {{"axis", 1}}), cait.width};
  const Features f = first_token(b, "class", b.layer_norm("norm", both, 1e-6));
  b.output(b.linear("head", f, arguments.integer("classes", 1000)).id);
  return std::move(b).finish();
}

}  // namespace

std::vector<Entry> vision_transformer_entries() {
  std::vector<Entry> entries;
  for (const Vit& vit : kVits)
    entries.push_back({vit.name, vit.title, kClassification, "3x224x224", kClassifierOptions, build_vit});
  for (const Cait& cait : kCaits)
    entries.push_back({cait.name, cait.title, kClassification, cait.input, kClassifierOptions, build_cait});
  return entries;
}

}  // namespace plimsoll::network::zoo
