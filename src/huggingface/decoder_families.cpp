// Language models. Defaults as transformers' configuration classes have them.
#include <cmath>

#include "huggingface/decoder_keys.hpp"

namespace plimsoll::huggingface {
namespace {

using network::transformers::Attention;
using network::transformers::Decoder;
using network::transformers::LayerNames;
using network::transformers::Norm;
using network::transformers::Placement;
using network::transformers::Stack;
using Notes = std::vector<std::string>;

Architecture llama(const Config& c, const Family&, Notes& notes) {
  Decoder d = read_decoder(c, {32000, 4096, 11008, 32, 32, 0, 0});
  const bool bias = c.flag("attention_bias", false);
  set_biases(d.stack.attention, bias, bias);
  d.stack.mlp.bias = c.flag("mlp_bias", false);
  read_head(c, d, notes);
  return d;
}

Architecture mistral(const Config& c, const Family&, Notes& notes) {
  Decoder d = read_decoder(c, {32000, 4096, 14336, 32, 32, 8, 0});
  slide_all(c, d.stack, 4096);
  read_head(c, d, notes);
  return d;
}

Architecture qwen2(const Config& c, const Family&, Notes& notes) {
  Decoder d = read_decoder(c, {151936, 4096, 22016, 32, 32, 32, 0});
  set_biases(d.stack.attention, true, false);
  slide_later(c, d.stack, 4096);
  read_head(c, d, notes);
  return d;
}

Architecture qwen3(const Config& c, const Family&, Notes& notes) {
  Decoder d = read_decoder(c, {151936, 4096, 22016, 32, 32, 32, 128});
  const bool bias = c.flag("attention_bias", false);
  set_biases(d.stack.attention, bias, bias);
  d.stack.attention.head_norm = Attention::HeadNorm::per_head;
  slide_later(c, d.stack, 4096);
  read_head(c, d, notes);
  return d;
}

Decoder read_gemma(const Config& c, const DecoderDefaults& o, Notes& notes) {
  Decoder d = read_decoder(c, o);
  const bool bias = c.flag("attention_bias", false);
  set_biases(d.stack.attention, bias, bias);
  d.embedding_scale = std::sqrt(static_cast<double>(d.stack.width));
  read_head(c, d, notes);
  return d;
}

Architecture gemma(const Config& c, const Family&, Notes& notes) {
  return read_gemma(c, {256000, 3072, 24576, 28, 16, 16, 256, 1e-6, "gelu_pytorch_tanh", true}, notes);
}

void set_sandwich(const Config& c, Decoder& d) {
  d.stack.placement = Placement::both;
  d.stack.names.mlp_norm = "pre_feedforward_layernorm";
  const double scalar = c.real("query_pre_attn_scalar", 256);
  if (scalar > 0) d.stack.attention.scale = 1 / std::sqrt(scalar);
}

Architecture gemma2(const Config& c, const Family&, Notes& notes) {
  Decoder d = read_gemma(c, {256000, 2304, 9216, 26, 8, 4, 256, 1e-6, "gelu_pytorch_tanh", true}, notes);
  set_sandwich(c, d);
  d.stack.attention.soft_cap = c.is_null("attn_logit_softcapping") ? 0 : c.real("attn_logit_softcapping", 50);
  d.head_soft_cap = c.is_null("final_logit_softcapping") ? 0 : c.real("final_logit_softcapping", 30);
  slide_some(c, d.stack, c.whole("sliding_window", 4096, 0), [](std::size_t i) { return i % 2 == 0; });
  return d;
}

Architecture gemma3(const Config& c, const Family&, Notes& notes) {
  Decoder d = read_gemma(c, {262208, 2304, 9216, 26, 8, 4, 256, 1e-6, "gelu_pytorch_tanh", true}, notes);
  set_sandwich(c, d);
  d.stack.attention.head_norm = Attention::HeadNorm::per_head;
  d.stack.attention.soft_cap = c.real("attn_logit_softcapping", 0);
  d.head_soft_cap = c.real("final_logit_softcapping", 0);
  d.local_rotary = true;
  const std::int64_t pattern = c.whole("sliding_window_pattern", c.whole("_sliding_window_pattern", 6));
  std::int64_t window = c.whole("sliding_window", 4096, 0);
  if (c.flag("use_bidirectional_attention", false)) {  // EmbeddingGemma: half a window before and after
    d.stack.causal = false;
    window = window / 2 * 2 + 1;
  }
  slide_some(c, d.stack, window,
             [&](std::size_t i) { return static_cast<std::int64_t>(i + 1) % pattern != 0; });
  return d;
}

Architecture phi(const Config& c, const Family&, Notes& notes) {
  Decoder d = read_decoder(c, {51200, 2048, 8192, 24, 32, 0, 0, 1e-5, "gelu_new"});
  Stack& s = d.stack;
  s.norm.kind = Norm::Kind::layer;
  s.placement = Placement::parallel;
  set_biases(s.attention, true, true);
  if (c.flag("qk_layernorm", false)) s.attention.head_norm = Attention::HeadNorm::per_head;
  turn_part(c, s, 0.5);
  s.mlp.gated = false;
  s.mlp.bias = true;
  s.residual_dropout = c.real("resid_pdrop", 0);
  d.embedding_dropout = c.real("embd_pdrop", 0);
  d.head_bias = true;
  d.last_norm = "model.final_layernorm";
  s.names.output = "self_attn.dense";
  s.names.query_norm = "self_attn.q_layernorm";
  s.names.key_norm = "self_attn.k_layernorm";
  s.names.up = "mlp.fc1";
  s.names.down = "mlp.fc2";
  read_head(c, d, notes);
  return d;
}

Architecture phi3(const Config& c, const Family&, Notes& notes) {
  Decoder d = read_decoder(c, {32064, 3072, 8192, 32, 32, 0, 0, 1e-5});
  d.stack.attention.joined = true;
  d.stack.mlp.joined = true;
  d.stack.residual_dropout = c.real("resid_pdrop", 0);
  d.embedding_dropout = c.real("embd_pdrop", 0);
  turn_part(c, d.stack, 1);
  slide_all(c, d.stack, 0);
  read_head(c, d, notes);
  return d;
}

Architecture gpt2(const Config& c, const Family&, Notes& notes) {
  Decoder d;
  Stack& s = d.stack;
  d.vocabulary = c.whole("vocab_size", 50257);
  d.positions = c.whole(c.named("n_positions", "max_position_embeddings"), 1024);
  d.tied = c.flag("tie_word_embeddings", true);
  d.embedding_dropout = c.real("embd_pdrop", 0.1);
  const std::string_view width = c.named("n_embd", "hidden_size");
  s.width = c.whole(width, 768);
  s.layers = read_layers(c, c.named("n_layer", "num_hidden_layers"), 12);
  s.norm = {.kind = Norm::Kind::layer, .epsilon = c.real("layer_norm_epsilon", 1e-5)};
  s.attention.heads = s.attention.key_heads = c.whole(c.named("n_head", "num_attention_heads"), 12);
  s.attention.head_size = size_of_heads(c, width, s.width, s.attention.heads);
  if (!c.flag("scale_attn_weights", true)) s.attention.scale = 1;
  s.attention.joined = true;
  set_biases(s.attention, true, true);
  s.attention_dropout = c.real("attn_pdrop", 0.1);
  s.residual_dropout = c.real("resid_pdrop", 0.1);
  s.mlp = {.hidden = c.whole("n_inner", 4 * s.width),
           .activation = activation(c, "activation_function", "gelu_new"),
           .gated = false,
           .bias = true};
  s.names = LayerNames{.prefix = "transformer.h.",
                       .attention = "attn",
                       .attention_norm = "ln_1",
                       .joined = "attn.c_attn",
                       .output = "attn.c_proj",
                       .mlp_norm = "ln_2",
                       .up = "mlp.c_fc",
                       .down = "mlp.c_proj"};
  d.words = "transformer.wte";
  d.position_table = "transformer.wpe";
  d.last_norm = "transformer.ln_f";
  if (c.flag("add_cross_attention", false)) c.complain("add_cross_attention", "is not known here");
  read_head(c, d, notes);
  return d;
}

Architecture opt(const Config& c, const Family&, Notes& notes) {
  Decoder d;
  Stack& s = d.stack;
  d.vocabulary = c.whole("vocab_size", 50272);
  d.positions = c.whole("max_position_embeddings", 2048);
  d.position_offset = 2;
  d.tied = c.flag("tie_word_embeddings", true);
  s.width = c.whole("hidden_size", 768);
  d.embedding_width = c.whole("word_embed_proj_dim", s.width);
  s.layers = read_layers(c, "num_hidden_layers", 12);
  s.norm = {.kind = Norm::Kind::layer, .epsilon = 1e-5};
  if (!c.flag("layer_norm_elementwise_affine", true))
    c.complain("layer_norm_elementwise_affine", "norms without weights are not known here");
  const bool before = c.flag("do_layer_norm_before", true), bias = c.flag("enable_bias", true);
  s.placement = before ? Placement::before : Placement::after;
  d.final_norm = before && !c.flag("_remove_final_layer_norm", false);
  s.attention.heads = s.attention.key_heads = c.whole("num_attention_heads", 12);
  s.attention.head_size = size_of_heads(c, "hidden_size", s.width, s.attention.heads);
  set_biases(s.attention, bias, bias);
  s.attention_dropout = c.real("attention_dropout", 0);
  s.residual_dropout = c.real("dropout", 0.1);
  s.mlp = {.hidden = c.whole("ffn_dim", 3072),
           .activation = activation(c, "activation_function", "relu"),
           .gated = false,
           .bias = bias};
  s.names = LayerNames{.prefix = "model.decoder.layers.",
                       .attention_norm = "self_attn_layer_norm",
                       .output = "self_attn.out_proj",
                       .mlp_norm = "final_layer_norm",
                       .up = "fc1",
                       .down = "fc2"};
  d.words = "model.decoder.embed_tokens";
  d.position_table = "model.decoder.embed_positions";
  d.last_norm = "model.decoder.final_layer_norm";
  read_head(c, d, notes);
  return d;
}

constexpr Family kDecoders[] = {
    {"llama", llama},   {"mistral", mistral},    {"qwen2", qwen2}, {"qwen3", qwen3}, {"gemma", gemma},
    {"gemma2", gemma2}, {"gemma3_text", gemma3}, {"phi", phi},     {"phi3", phi3},   {"gpt2", gpt2},
    {"opt", opt},
};

}  // namespace

std::span<const Family> decoder_families() {
  return kDecoders;
}

}  // namespace plimsoll::huggingface
