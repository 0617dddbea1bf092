#pragma once
#include <string_view>

#include "network/network.hpp"
#include "network/transformers/stack.hpp"

namespace plimsoll::network::transformers {

/// Speech to text (Whisper): an encoder over a spectrogram, a decoder that looks at it.
struct SpeechModel {
  Stack encoder = {};
  Stack decoder = {};  ///< causal, with cross attention
  std::int64_t bands = 0;
  std::int64_t source_positions = 0;  ///< half as many as the spectrogram has frames
  std::int64_t target_positions = 0;
  std::int64_t vocabulary = 0;
  double dropout = 0;
  double embedding_scale = 1;
  bool head = true;  ///< a product with the vocabulary; without it the result is the tokens
  bool tied = true;  ///< the head is the decoder's word table
};

[[nodiscard]] Status check(const SpeechModel& model);

/// Inputs "input_features", batch x bands x frames, and "decoder_input_ids", batch x sequence; the result:
/// logits of every position.
[[nodiscard]] Result<Network> build(const SpeechModel& model, std::string_view name, Mode mode);

}  // namespace plimsoll::network::transformers
