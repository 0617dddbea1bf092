#include "gguf/architecture.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/printable.hpp"
#include "base/suggest.hpp"

namespace plimsoll::gguf {
namespace {

using network::transformers::Activation;
using network::transformers::Attention;
using network::transformers::Decoder;
using network::transformers::kMostLayers;
using network::transformers::Latent;
using network::transformers::Layer;
using network::transformers::LayerNames;
using network::transformers::Norm;
using network::transformers::Placement;
using network::transformers::Stack;

/// The keys of one architecture, asked one by one. The first error is kept, and all later answers are 1, so
/// that an architecture is a list of keys.
class Keys {
 public:
  Keys(const File& file, std::string_view architecture) : file_(file), prefix_(architecture) {}

  [[nodiscard]] bool has(std::string_view key) const { return file_.metadata.find(named(key)) != nullptr; }
  [[nodiscard]] bool has_tensor(std::string_view name) const { return file_.find(name) != nullptr; }
  [[nodiscard]] std::int64_t whole(std::string_view key) {
    if (!has(key)) {
      complain(fmt::format("metadata {} is not there, which {} needs", quote(named(key)), prefix_));
      return 1;
    }
    return whole(key, 1);
  }
  /// One for all layers. Files give one for each where they differ, which no architecture here does.
  [[nodiscard]] std::int64_t whole(std::string_view key, std::int64_t otherwise) {
    const auto found = file_.metadata.wholes(named(key), kMostLayers);
    if (!found) {
      complain(found.error().text());
      return 1;
    }
    if (!*found) return otherwise;
    const std::vector<std::int64_t>& list = **found;
    if (list.empty() || std::ranges::adjacent_find(list, std::ranges::not_equal_to()) != list.end()) {
      complain(fmt::format("metadata {} differs from layer to layer, which is not read", quote(named(key))));
      return 1;
    }
    return list.front();
  }
  [[nodiscard]] double real(std::string_view key, double otherwise) {
    const auto found = file_.metadata.real(named(key));
    if (!found) complain(found.error().text());
    const double value = found ? found->value_or(otherwise) : otherwise;
    if (std::isfinite(value) && value >= 0) return value;
    complain(fmt::format("metadata {} is no number of 0 or more", quote(named(key))));
    return otherwise;
  }
  [[nodiscard]] const TensorInfo* tensor(std::string_view name) {
    const TensorInfo* const found = file_.find(name);
    if (found == nullptr)
      complain(fmt::format("tensor {} is not there, which {} needs", quote(name), prefix_));
    return found;
  }
  void complain(std::string message) {
    if (!error_) error_ = Error{std::move(message)};
  }
  [[nodiscard]] const std::optional<Error>& error() const { return error_; }

 private:
  [[nodiscard]] std::string named(std::string_view key) const { return fmt::format("{}.{}", prefix_, key); }

  const File& file_;
  std::string prefix_;
  std::optional<Error> error_;
};

/// As llama.cpp calls the tensors of a layer.
LayerNames layer_names() {
  return {.prefix = "blk.",
          .attention = "attn",
          .mlp = "ffn",
          .attention_norm = "attn_norm",
          .query = "attn_q",
          .key = "attn_k",
          .value = "attn_v",
          .joined = "attn_qkv",
          .output = "attn_output",
          .query_norm = "attn_q_norm",
          .key_norm = "attn_k_norm",
          .attention_norm_after = "post_attention_norm",
          .mlp_norm = "ffn_norm",
          .mlp_norm_after = "post_ffw_norm",
          .gate = "ffn_gate",
          .up = "ffn_up",
          .down = "ffn_down",
          .joined_gate = "ffn_up",
          .router = "ffn_gate_inp",
          .experts_joined = "ffn_gate_up_exps.weight",
          .experts_gate = "ffn_gate_exps.weight",
          .experts_up = "ffn_up_exps.weight",
          .experts_down = "ffn_down_exps.weight",
          .shared = "ffn_shexp",
          .shared_gate = "ffn_gate_inp_shexp",
          .query_down = "attn_q_a",
          .query_down_norm = "attn_q_a_norm",
          .query_up = "attn_q_b",
          .key_value_down = "attn_kv_a_mqa",
          .key_value_norm = "attn_kv_a_norm",
          .key_value_up = "attn_kv_b",
          .cross = "cross_attn",
          .cross_norm = "cross_attn_norm"};
}

std::int64_t heads_share(Keys& k, std::int64_t width, std::int64_t heads) {
  if (heads > 0 && width % heads == 0) return width / heads;
  k.complain(fmt::format("{} heads cannot share a width of {}", heads, width));
  return 1;
}

/// What all architectures have. Biases, joined projections and a head of its own are there where the first
/// layer, or the file, has such a tensor.
Decoder read_common(Keys& k) {
  Decoder d;
  Stack& s = d.stack;
  s.names = layer_names();
  d.words = "token_embd";
  d.position_table = "position_embd";
  d.last_norm = "output_norm";
  d.head_name = "output";
  const TensorInfo* const words = k.tensor("token_embd.weight");
  d.vocabulary = words == nullptr ? 1 : words->dims[1];
  d.tied = !k.has_tensor("output.weight");
  d.head_bias = k.has_tensor("output.bias");
  s.width = k.whole("embedding_length");
  const std::int64_t layers = k.whole("block_count");
  if (layers > kMostLayers) k.complain(fmt::format("{} layers are more than {}", layers, kMostLayers));
  s.layers.resize(static_cast<std::size_t>(std::clamp<std::int64_t>(layers, 1, kMostLayers)));
  s.norm.epsilon = k.real("attention.layer_norm_rms_epsilon", k.real("attention.layer_norm_epsilon", 1e-5));
  s.mlp.hidden = k.whole("feed_forward_length");
  s.mlp.bias = k.has_tensor("blk.0.ffn_down.bias");
  Attention& a = s.attention;
  a.heads = k.whole("attention.head_count");
  a.key_heads = k.whole("attention.head_count_kv", a.heads);
  a.head_size =
      k.has("attention.key_length") ? k.whole("attention.key_length") : heads_share(k, s.width, a.heads);
  a.value_size = k.whole("attention.value_length", a.head_size);
  a.joined = k.has_tensor("blk.0.attn_qkv.weight");
  a.query_bias = k.has_tensor(a.joined ? "blk.0.attn_qkv.bias" : "blk.0.attn_q.bias");
  a.key_bias = k.has_tensor("blk.0.attn_k.bias");
  a.value_bias = k.has_tensor("blk.0.attn_v.bias");
  a.output_bias = k.has_tensor("blk.0.attn_output.bias");
  s.rotary_size = k.whole("rope.dimension_count", a.head_size);
  return d;
}

void need_biases(Attention& a) {
  a.query_bias = a.key_bias = a.value_bias = true;
}

void set_experts(Keys& k, Stack& s, std::int64_t dense_layers) {
  s.experts.count = k.whole("expert_count", 0);
  if (s.experts.count == 0) return;
  s.experts.per_token = k.whole("expert_used_count");
  s.experts.hidden = k.whole("expert_feed_forward_length", s.mlp.hidden);
  s.experts.joined = false;
  for (std::size_t i = 0; i < s.layers.size(); ++i)
    s.layers[i].experts = static_cast<std::int64_t>(i) >= dense_layers;
}

Decoder llama(Keys& k) {
  Decoder d = read_common(k);
  set_experts(k, d.stack, 0);
  const std::int64_t window = k.whole("attention.sliding_window", 0);
  for (Layer& layer : d.stack.layers) layer.window = window;
  return d;
}

Decoder qwen2(Keys& k) {
  Decoder d = read_common(k);
  need_biases(d.stack.attention);
  return d;
}

Decoder qwen3(Keys& k) {
  Decoder d = read_common(k);
  d.stack.attention.head_norm = Attention::HeadNorm::per_head;
  return d;
}

Decoder qwen2moe(Keys& k) {
  Decoder d = read_common(k);
  need_biases(d.stack.attention);
  set_experts(k, d.stack, 0);
  const TensorInfo* const shared = k.tensor("blk.0.ffn_up_shexp.weight");
  d.stack.experts.shared_hidden =
      k.whole("expert_shared_feed_forward_length", shared == nullptr ? 1 : shared->dims[1]);
  d.stack.experts.shared_gate = true;
  return d;
}

Decoder qwen3moe(Keys& k) {
  Decoder d = qwen3(k);
  set_experts(k, d.stack, 0);
  return d;
}

Decoder gemma(Keys& k) {
  Decoder d = read_common(k);
  d.stack.mlp.activation = Activation::gelu_tanh_kernel;
  d.embedding_scale = std::sqrt(static_cast<double>(d.stack.width));
  return d;
}

/// Every `pattern`-th layer sees all tokens, the others a window.
void slide(Keys& k, Stack& s, std::size_t pattern, std::int64_t otherwise) {
  const std::int64_t window = k.whole("attention.sliding_window", otherwise);
  for (std::size_t i = 0; i < s.layers.size(); ++i) s.layers[i].window = (i + 1) % pattern == 0 ? 0 : window;
}

Decoder gemma2(Keys& k) {
  Decoder d = gemma(k);
  d.stack.placement = Placement::both;
  d.stack.attention.soft_cap = k.real("attn_logit_softcapping", 50);
  d.head_soft_cap = k.real("final_logit_softcapping", 30);
  slide(k, d.stack, 2, 4096);  // as llama.cpp: the first files do not say it
  return d;
}

Decoder gemma3(Keys& k) {
  Decoder d = gemma(k);
  d.stack.placement = Placement::both;
  d.stack.attention.head_norm = Attention::HeadNorm::per_head;
  d.local_rotary = true;
  slide(k, d.stack, 6, 0);
  return d;
}

Decoder phi2(Keys& k) {
  Decoder d = read_common(k);
  Stack& s = d.stack;
  s.norm.kind = Norm::Kind::layer;
  s.placement = Placement::parallel;
  need_biases(s.attention);
  s.attention.output_bias = true;
  s.mlp = {.hidden = s.mlp.hidden, .activation = Activation::gelu_tanh, .gated = false, .bias = true};
  d.head_bias = true;
  return d;
}

Decoder phi3(Keys& k) {
  Decoder d = read_common(k);
  d.stack.mlp.joined = true;
  const std::int64_t window = k.whole("attention.sliding_window", 0);
  for (Layer& layer : d.stack.layers) layer.window = window;
  return d;
}

Decoder gpt2(Keys& k) {
  Decoder d = read_common(k);
  Stack& s = d.stack;
  const TensorInfo* const table = k.tensor("position_embd.weight");
  d.positions = table == nullptr ? 1 : table->dims[1];
  s.rotary_size = 0;
  s.norm.kind = Norm::Kind::layer;
  need_biases(s.attention);
  s.attention.output_bias = true;
  s.mlp = {.hidden = s.mlp.hidden, .activation = Activation::gelu_tanh, .gated = false, .bias = true};
  return d;
}

Decoder starcoder2(Keys& k) {
  Decoder d = read_common(k);
  Stack& s = d.stack;
  s.norm.kind = Norm::Kind::layer;
  need_biases(s.attention);
  s.attention.output_bias = true;
  s.mlp = {.hidden = s.mlp.hidden, .activation = Activation::gelu_tanh_kernel, .gated = false, .bias = true};
  return d;
}

/// DeepSeek 2 and 3. Files of today say that each token's cache is one key head; the sizes of a head's own
/// query and value then have keys of their own.
Decoder deepseek2(Keys& k) {
  Decoder d = read_common(k);
  Stack& s = d.stack;
  Attention& a = s.attention;
  a.key_heads = a.heads;
  a.head_size = k.whole("attention.key_length_mla", a.head_size);
  a.value_size = k.whole("attention.value_length_mla", a.value_size);
  const std::int64_t rotary = k.whole("rope.dimension_count");
  a.latent = Latent{.query_rank = k.whole("attention.q_lora_rank", 0),
                    .key_value_rank = k.whole("attention.kv_lora_rank"),
                    .rotary_size = rotary,
                    .plain_size = a.head_size - rotary};
  s.rotary_size = rotary;
  set_experts(k, s, k.whole("leading_dense_block_count", 0));
  const std::int64_t shared = k.whole("expert_shared_count", 0);
  if (s.experts.count > 0 && __builtin_mul_overflow(shared, s.experts.hidden, &s.experts.shared_hidden))
    k.complain("its shared experts are too wide");
  return d;
}

struct Family {
  std::string_view name;
  Decoder (*read)(Keys& keys);
};
constexpr Family kFamilies[] = {
    {"deepseek2", deepseek2},
    {"gemma", gemma},
    {"gemma2", gemma2},
    {"gemma3", gemma3},
    {"gpt2", gpt2},
    {"llama", llama},
    {"phi2", phi2},
    {"phi3", phi3},
    {"qwen2", qwen2},
    {"qwen2moe", qwen2moe},
    {"qwen3", qwen3},
    {"qwen3moe", qwen3moe},
    {"starcoder2", starcoder2},
};

std::unexpected<Error> unknown_architecture(std::string_view name) {
  const std::vector<std::string_view> known = known_architectures();
  const std::string near = did_you_mean(name, known);
  Error error{fmt::format("general.architecture {} is not known", quote(name))};
  error.hint = fmt::format("{}{}Known are {}.", near, near.empty() ? "" : " ", fmt::join(known, ", "));
  return std::unexpected(std::move(error));
}

}  // namespace

std::vector<std::string_view> known_architectures() {
  std::vector<std::string_view> names;
  for (const Family& family : kFamilies) names.push_back(family.name);
  return names;
}

Result<Decoder> describe(const File& file) {
  const Result<std::optional<std::string_view>> name = file.metadata.text("general.architecture");
  if (!name) return std::unexpected(name.error());
  if (!*name) return fail("it has no general.architecture: which network it is cannot be known");
  const auto* const family = std::ranges::find(kFamilies, **name, &Family::name);
  if (family == std::end(kFamilies)) return unknown_architecture(**name);
  Keys keys(file, **name);
  Decoder decoder = family->read(keys);
  if (keys.error()) return std::unexpected(*keys.error());
  return decoder;
}

}  // namespace plimsoll::gguf
