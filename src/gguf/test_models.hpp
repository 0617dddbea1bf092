#pragma once
#include <string>
#include <string_view>

#include "gguf/test_file.hpp"

namespace plimsoll::gguf::test {

inline constexpr std::uint32_t kF32 = 0, kF16 = 1, kQ8_0 = 8, kQ4_K = 12, kQ6_K = 14;

/// Extents of a small network, and how its weights are stored.
struct Small {
  std::int64_t width = 256, hidden = 512, layers = 2, heads = 4, key_heads = 2, vocabulary = 320;
  std::uint32_t matrices = kQ4_K, words = kQ6_K, values = kQ6_K;
  [[nodiscard]] std::int64_t head_size() const { return width / heads; }
};

inline FileWriter& put_keys(FileWriter& w, const std::string& architecture, const Small& s) {
  const auto key = [&](std::string_view name) { return architecture + "." + std::string(name); };
  const auto u32 = [](std::int64_t n) { return static_cast<std::uint32_t>(n); };
  w.text("general.architecture", architecture).whole(key("block_count"), u32(s.layers));
  w.whole(key("embedding_length"), u32(s.width)).whole(key("feed_forward_length"), u32(s.hidden));
  w.whole(key("attention.head_count"), u32(s.heads)).whole(key("attention.head_count_kv"), u32(s.key_heads));
  w.whole(key("context_length"), 4096);
  return w.real(key("attention.layer_norm_rms_epsilon"), 1e-5F);
}

/// Llama: norms in F32, matrices quantised, the head in the type of the words.
inline FileWriter small_llama(const Small& s = {}, const std::string& architecture = "llama") {
  FileWriter w;
  put_keys(w, architecture, s);
  w.texts("tokenizer.ggml.tokens", std::vector<std::string>(static_cast<std::size_t>(s.vocabulary), "t"));
  w.tensor("token_embd.weight", {s.width, s.vocabulary}, s.words);
  w.tensor("output_norm.weight", {s.width}, kF32).tensor("output.weight", {s.width, s.vocabulary}, s.words);
  const std::int64_t keys = s.key_heads * s.head_size();
  for (std::int64_t i = 0; i < s.layers; ++i) {
    const std::string layer = "blk." + std::to_string(i) + ".";
    w.tensor(layer + "attn_norm.weight", {s.width}, kF32).tensor(layer + "ffn_norm.weight", {s.width}, kF32);
    w.tensor(layer + "attn_q.weight", {s.width, s.width}, s.matrices);
    w.tensor(layer + "attn_k.weight", {s.width, keys}, s.matrices);
    w.tensor(layer + "attn_v.weight", {s.width, keys}, s.values);
    w.tensor(layer + "attn_output.weight", {s.width, s.width}, s.matrices);
    w.tensor(layer + "ffn_gate.weight", {s.width, s.hidden}, s.matrices);
    w.tensor(layer + "ffn_up.weight", {s.width, s.hidden}, s.matrices);
    w.tensor(layer + "ffn_down.weight", {s.hidden, s.width}, s.matrices);
  }
  return w;
}

}  // namespace plimsoll::gguf::test
