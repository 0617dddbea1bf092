// Mixtures of experts. Defaults as transformers' configuration classes have them.
#include "huggingface/decoder_keys.hpp"
#include "network/saturating.hpp"

namespace plimsoll::huggingface {
namespace {

using network::transformers::Attention;
using network::transformers::Decoder;
using network::transformers::Latent;
using network::transformers::Layer;
using network::transformers::Stack;
using Notes = std::vector<std::string>;

Architecture mixtral(const Config& c, const Family&, Notes& notes) {
  Decoder d = read_decoder(c, {32000, 4096, 14336, 32, 32, 8, 0, 1e-5});
  slide_all(c, d.stack, 0);
  d.stack.experts = {.count = c.whole(c.named("num_local_experts", "num_experts"), 8),
                     .per_token = c.whole("num_experts_per_tok", 2),
                     .hidden = d.stack.mlp.hidden};
  for (Layer& layer : d.stack.layers) layer.experts = true;
  read_head(c, d, notes);
  return d;
}

/// Every n-th layer, but those that are listed, has experts.
void place_experts(const Config& c, Stack& s) {
  const std::int64_t step = c.whole("decoder_sparse_step", 1);
  std::vector<bool> dense(s.layers.size());
  for (const std::int64_t layer : c.wholes("mlp_only_layers"))
    if (static_cast<std::size_t>(layer) < dense.size()) dense[static_cast<std::size_t>(layer)] = true;
  for (std::size_t i = 0; i < s.layers.size(); ++i) {
    const auto index = static_cast<std::int64_t>(i);
    s.layers[i].experts = s.experts.count > 0 && !dense[i] && (index + 1) % step == 0;
  }
}

Architecture qwen2_moe(const Config& c, const Family&, Notes& notes) {
  Decoder d = read_decoder(c, {151936, 2048, 5632, 24, 16, 16, 0});
  set_biases(d.stack.attention, c.flag("qkv_bias", true), false);
  slide_every_other(c, d.stack, 4096);
  d.stack.experts = {.count = c.whole("num_experts", 60, 0),
                     .per_token = c.whole("num_experts_per_tok", 4),
                     .hidden = c.whole("moe_intermediate_size", 1408),
                     .shared_hidden = c.whole("shared_expert_intermediate_size", 5632),
                     .shared_gate = true};
  place_experts(c, d.stack);
  read_head(c, d, notes);
  return d;
}

Architecture qwen3_moe(const Config& c, const Family&, Notes& notes) {
  Decoder d = read_decoder(c, {151936, 2048, 6144, 24, 32, 4, 0});
  const bool bias = c.flag("attention_bias", false);
  set_biases(d.stack.attention, bias, bias);
  d.stack.attention.head_norm = Attention::HeadNorm::per_head;
  if (c.flag("use_sliding_window", false)) slide_all(c, d.stack, 4096);
  d.stack.experts = {.count = c.whole(c.named("num_experts", "num_local_experts"), 128, 0),
                     .per_token = c.whole("num_experts_per_tok", 8),
                     .hidden = c.whole("moe_intermediate_size", 768)};
  place_experts(c, d.stack);
  read_head(c, d, notes);
  return d;
}

struct LatentDefaults {
  std::string_view experts;  ///< another name of "n_routed_experts"
  std::int64_t shared, routed, per_token, first_dense, expert_hidden;
};

/// Multi-head latent attention, and experts beside which some are shared.
void read_latent(const Config& c, Decoder& d, const LatentDefaults& o) {
  Stack& s = d.stack;
  Attention& a = s.attention;
  a.latent = Latent{.query_rank = c.is_null("q_lora_rank") ? 0 : c.whole("q_lora_rank", 1536, 0),
                    .key_value_rank = c.whole("kv_lora_rank", 512),
                    .rotary_size = c.whole("qk_rope_head_dim", 64),
                    .plain_size = c.whole("qk_nope_head_dim", 128)};
  a.head_size = a.latent->rotary_size + a.latent->plain_size;
  a.value_size = c.whole("v_head_dim", 128);
  a.key_heads = a.heads;
  s.rotary_size = a.latent->rotary_size;
  const bool bias = c.flag("attention_bias", false);
  set_biases(a, bias, bias);
  const std::int64_t expert = c.whole("moe_intermediate_size", o.expert_hidden);
  s.experts = {.count = c.whole(c.named("n_routed_experts", o.experts), o.routed, 0),
               .per_token = c.whole("num_experts_per_tok", o.per_token),
               .hidden = expert,
               .shared_hidden = network::product(c.whole("n_shared_experts", o.shared, 0), expert)};
  const std::int64_t first = c.whole("first_k_dense_replace", o.first_dense, 0);
  for (std::size_t i = 0; i < s.layers.size(); ++i)
    s.layers[i].experts = static_cast<std::int64_t>(i) >= first;
  s.names.shared = "mlp.shared_experts";
}

Architecture deepseek_v2(const Config& c, const Family&, Notes& notes) {
  Decoder d = read_decoder(c, {102400, 4096, 11008, 32, 32, 0, 64});
  read_latent(c, d,
              {.experts = "num_experts",
               .shared = 2,
               .routed = 64,
               .per_token = 0,
               .first_dense = 0,
               .expert_hidden = 1407});
  d.stack.mlp.bias = c.flag("mlp_bias", false);
  read_head(c, d, notes);
  return d;
}

Architecture deepseek_v3(const Config& c, const Family&, Notes& notes) {
  Decoder d = read_decoder(c, {129280, 7168, 18432, 61, 128, 128, 64});
  read_latent(c, d,
              {.experts = "num_local_experts",
               .shared = 1,
               .routed = 256,
               .per_token = 8,
               .first_dense = 3,
               .expert_hidden = 2048});
  read_head(c, d, notes);
  return d;
}

constexpr Family kExpertFamilies[] = {
    {"mixtral", mixtral},         {"qwen2_moe", qwen2_moe},     {"qwen3_moe", qwen3_moe},
    {"deepseek_v2", deepseek_v2}, {"deepseek_v3", deepseek_v3},
};

}  // namespace

std::span<const Family> expert_families() {
  return kExpertFamilies;
}

}  // namespace plimsoll::huggingface
