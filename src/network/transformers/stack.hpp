#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "network/setting.hpp"
#include "network/zoo/blocks.hpp"

/// Transformers as plain values, and Networks made of them. A reader of some format (Hugging Face's
/// config.json, GGUF, a row of the zoo) fills a description in; how a layer is written in operators stands
/// here once.
namespace plimsoll::network::transformers {

using zoo::Activation;

inline constexpr std::int64_t kOpset = 23;  ///< the first with RMSNormalization and Attention

// Above these nothing is built: a file that says more is wrong, and no product of extents can overflow.
inline constexpr std::int64_t kMostLayers = 1024;
inline constexpr std::int64_t kMostWidth = 1 << 20;       ///< of tokens, and ranks
inline constexpr std::int64_t kMostHidden = 1 << 22;      ///< of an MLP; heads x size too
inline constexpr std::int64_t kMostHeads = 1 << 14;       ///< and of values in one
inline constexpr std::int64_t kMostExperts = 1 << 14;     ///< of a layer
inline constexpr std::int64_t kMostVocabulary = 1 << 26;  ///< and of positions

struct Norm {
  enum class Kind : std::uint8_t { rms, layer };
  Kind kind = Kind::rms;
  double epsilon = 1e-6;
  bool bias = true;  ///< of a layer norm; RMS norms have none
};

/// Attention whose keys and values are kept as one small vector per token (DeepSeek): the cache holds
/// key_value_rank + rotary_size values.
struct Latent {
  std::int64_t query_rank = 0;  ///< 0: queries come straight from the tokens
  std::int64_t key_value_rank = 0;
  std::int64_t rotary_size = 0;  ///< of each head's query, and of the one key that all heads share
  std::int64_t plain_size = 0;   ///< of each head's query and key, not turned
};

struct Attention {
  std::int64_t heads = 0;
  std::int64_t key_heads = 0;   ///< fewer than heads: grouped queries
  std::int64_t head_size = 0;   ///< of query and key; of latent attention plain + rotary
  std::int64_t value_size = 0;  ///< 0: as head_size
  bool query_bias = false, key_bias = false, value_bias = false, output_bias = false;
  bool joined = false;  ///< one weight makes query, key and value (GPT-2, Phi-3)
  /// Queries and keys are normalised before they are turned.
  enum class HeadNorm : std::uint8_t { none, per_head, whole };
  HeadNorm head_norm = HeadNorm::none;
  double scale = 0;     ///< of the scores; 0: 1 / sqrt(head_size)
  double soft_cap = 0;  ///< scores go through cap · tanh(scores / cap); 0: they do not
  std::optional<Latent> latent = {};
};

struct Mlp {
  std::int64_t hidden = 0;
  Activation activation = Activation::silu;
  bool gated = true;  ///< down(act(gate) · up), else down(act(up))
  bool bias = false;
  bool joined = false;  ///< one weight makes gate and up (Phi-3)
};

struct Experts {
  std::int64_t count = 0;  ///< 0: no layer has any
  std::int64_t per_token = 0;
  std::int64_t hidden = 0;  ///< of each
  bool joined = true;       ///< gate and up in one stacked weight, experts x width x 2 hidden
  bool router_bias = false;
  std::int64_t shared_hidden = 0;  ///< of the expert that every token passes; 0: none
  bool shared_gate = false;        ///< whose result is multiplied with the sigmoid of one product
};

struct Layer {
  std::int64_t window = 0;  ///< tokens that attention sees, itself included; 0: all
  bool experts = false;     ///< in place of the MLP
  bool rotary = true;       ///< where the stack has rotary positions
};

/// Where a layer's norms stand.
enum class Placement : std::uint8_t {
  before,    ///< x + f(norm(x))
  after,     ///< norm(x + f(x))
  both,      ///< x + norm(f(norm(x))): Gemma 2 and 3
  parallel,  ///< x + attention(norm(x)) + mlp(norm(x)), one norm: Phi
};

/// What the weights are called: PREFIX + index of the layer + "." + name + ".weight" or ".bias".
struct LayerNames {
  std::string prefix = "model.layers.";
  std::string attention = "self_attn", mlp = "mlp";  ///< of operators alone
  std::string attention_norm = "input_layernorm";
  std::string query = "self_attn.q_proj", key = "self_attn.k_proj", value = "self_attn.v_proj";
  std::string joined = "self_attn.qkv_proj";
  std::string output = "self_attn.o_proj";
  std::string query_norm = "self_attn.q_norm", key_norm = "self_attn.k_norm";
  std::string attention_norm_after = "post_attention_layernorm";  ///< Placement::both
  std::string mlp_norm = "post_attention_layernorm";
  std::string mlp_norm_after = "post_feedforward_layernorm";  ///< Placement::both
  std::string gate = "mlp.gate_proj", up = "mlp.up_proj", down = "mlp.down_proj";
  std::string joined_gate = "mlp.gate_up_proj";
  // Experts; the stacked weights' names are whole, without ".weight".
  std::string router = "mlp.gate";
  std::string experts_joined = "mlp.experts.gate_up_proj";
  std::string experts_gate = "mlp.experts.gate_proj", experts_up = "mlp.experts.up_proj";
  std::string experts_down = "mlp.experts.down_proj";
  std::string shared = "mlp.shared_expert";  ///< + ".gate_proj", ".up_proj", ".down_proj"
  std::string shared_gate = "mlp.shared_expert_gate";
  // Latent attention.
  std::string query_down = "self_attn.q_a_proj", query_down_norm = "self_attn.q_a_layernorm";
  std::string query_up = "self_attn.q_b_proj";
  std::string key_value_down = "self_attn.kv_a_proj_with_mqa";
  std::string key_value_norm = "self_attn.kv_a_layernorm", key_value_up = "self_attn.kv_b_proj";
  // Attention to another sequence (Whisper).
  std::string cross = "encoder_attn", cross_norm = "encoder_attn_layer_norm";
};

/// Equal layers on top of each other: what decoders, encoders and vision transformers share.
struct Stack {
  std::int64_t width = 0;
  std::vector<Layer> layers = {};
  bool causal = true;
  bool cross_attention = false;  ///< each layer looks at another sequence of the same width too
  Attention attention = {};
  Mlp mlp = {};
  Experts experts = {};
  Norm norm = {};
  Placement placement = Placement::before;
  /// Of each head, turned by the token's position; 0: positions are not rotary.
  std::int64_t rotary_size = 0;
  double attention_dropout = 0, residual_dropout = 0;  ///< in training
  LayerNames names = {};
};

/// Whether a stack can be built: all extents positive and below the limits, heads that share, and so on.
[[nodiscard]] Status check(const Stack& stack);

/// Values that a cache keeps for each token of one layer, keys and values together; of a sliding layer for
/// the last `window` tokens alone.
struct LayerCache {
  std::int64_t values_per_token = 0;
  std::int64_t window = 0;  ///< tokens at most; 0: all
};
[[nodiscard]] std::vector<LayerCache> cache_of(const Stack& stack);
/// Bytes of the caches of all layers for one sequence of so many tokens.
[[nodiscard]] std::int64_t cache_bytes(const Stack& stack, std::int64_t tokens, std::int64_t bytes_per_value);

/// What is made once, for all layers.
struct Surroundings {
  TensorId cosine = kNoTensor, sine = kNoTensor;  ///< sequence x rotary size; absent: no rotary positions
  TensorId local_cosine = kNoTensor, local_sine = kNoTensor;  ///< of sliding layers where they differ
  zoo::Tokens other = {};                                     ///< what cross attention looks at
};

/// Cosines and sines of the positions of `ids` (batch x sequence).
void add_rotary(zoo::Blocks& b, const std::string& name, TensorId ids, std::int64_t size, TensorId& cosine,
                TensorId& sine);
[[nodiscard]] zoo::Tokens add_norm(zoo::Blocks& b, const std::string& name, zoo::Tokens x, const Norm& norm);
[[nodiscard]] zoo::Tokens add_layers(zoo::Blocks& b, const Stack& stack, zoo::Tokens x,
                                     const Surroundings& around);

}  // namespace plimsoll::network::transformers
