#pragma once
#include <string_view>

#include "network/network.hpp"
#include "network/transformers/stack.hpp"

namespace plimsoll::network::transformers {

/// A language model that writes on from what it has read: Llama, Qwen, Gemma, Phi, GPT-2, OPT, Mixtral,
/// DeepSeek and their like.
struct Decoder {
  Stack stack = {};
  std::int64_t vocabulary = 0;

  std::int64_t embedding_width =
      0;                       ///< of the word table where it is not the stack's (OPT-350M); 0: the same
  double embedding_scale = 1;  ///< words are multiplied with it (Gemma)
  std::int64_t positions = 0;  ///< rows of a learned table; 0: none
  std::int64_t position_offset = 0;  ///< rows of it that no token uses (OPT: 2)
  double embedding_dropout = 0;
  bool local_rotary = false;  ///< sliding layers turn by other frequencies (Gemma 3)

  bool final_norm = true;
  bool head = true;   ///< a product with the vocabulary; without it the result is the tokens
  bool tied = false;  ///< the head is the word table
  bool head_bias = false;
  double head_soft_cap = 0;  ///< 0: none

  // What the weights are called, with ".weight" and ".bias" added.
  std::string words = "model.embed_tokens";
  std::string position_table = "model.embed_positions";
  std::string project_in = "model.decoder.project_in", project_out = "model.decoder.project_out";
  std::string last_norm = "model.norm";
  std::string head_name = "lm_head";
};

[[nodiscard]] Status check(const Decoder& decoder);

/// Input "input_ids", batch x sequence; output the logits of every position. Attention is ONNX's operator,
/// 4-D, with key heads as they are stored, is_causal, scale and softcap; beside them `local_window_size`
/// (tokens) where a layer slides and `cached_values` (per token, key and value together) where it is latent.
/// A layer's experts are one MoE of com.microsoft.
[[nodiscard]] Result<Network> build(const Decoder& decoder, std::string_view name, Mode mode);

}  // namespace plimsoll::network::transformers
