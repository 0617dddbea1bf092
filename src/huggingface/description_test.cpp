// Configurations read: families, defaults, what is refused. Parameters against transformers' are in
// parameters_test.cpp.
#include "huggingface/description.hpp"

#include <algorithm>

#include <gtest/gtest.h>

namespace plimsoll::huggingface {
namespace {

using network::transformers::Decoder;
using network::transformers::SpeechModel;
using network::transformers::TextEncoder;
using network::transformers::TwoTowers;

template <class Kind>
Kind architecture_of(std::string_view text) {
  Result<Description> d = describe(text);
  EXPECT_TRUE(d) << d.error().text();
  return d ? std::get<Kind>(d->architecture) : Kind();
}

Decoder decoder(std::string_view text) {
  return architecture_of<Decoder>(text);
}

std::string refusal(std::string_view text) {
  Result<Description> d = describe(text);
  if (!d) return d.error().text();
  const Result<network::Network> built = build(*d, "test", network::Mode::infer);
  return built ? "built" : built.error().text();
}

TEST(Configurations, AbsentKeysHaveTransformersDefaults) {
  const Decoder llama = decoder(R"({"model_type": "llama"})");
  EXPECT_EQ(llama.stack.width, 4096);
  EXPECT_EQ(llama.stack.layers.size(), 32u);
  EXPECT_EQ(llama.stack.attention.key_heads, 32);
  EXPECT_EQ(llama.stack.attention.head_size, 128);
  EXPECT_FALSE(llama.tied);
  // As many key heads as heads where nothing is said, but 8 in Mistral; null says "as heads".
  EXPECT_EQ(decoder(R"({"model_type": "llama", "num_attention_heads": 16})").stack.attention.key_heads, 16);
  EXPECT_EQ(decoder(R"({"model_type": "mistral"})").stack.attention.key_heads, 8);
  EXPECT_EQ(decoder(R"({"model_type": "mistral", "num_key_value_heads": null})").stack.attention.key_heads,
            32);
  EXPECT_EQ(decoder(R"({"model_type": "qwen3", "hidden_size": 1024})").stack.attention.head_size, 128);
  EXPECT_EQ(decoder(R"({"model_type": "phi"})").stack.rotary_size, 32);  // half of each head
  EXPECT_TRUE(decoder(R"({"model_type": "gpt2"})").tied);
}

TEST(Configurations, WindowsAreThoseOfEachLayer) {
  const auto windows = [](std::string_view text) {
    std::vector<std::int64_t> list;
    for (const auto& layer : decoder(text).stack.layers) list.push_back(layer.window);
    return list;
  };
  using List = std::vector<std::int64_t>;
  EXPECT_EQ(windows(R"({"model_type": "mistral", "num_hidden_layers": 2})"), (List{4096, 4096}));
  EXPECT_EQ(windows(R"({"model_type": "mistral", "num_hidden_layers": 2, "sliding_window": null})"),
            (List{0, 0}));
  EXPECT_EQ(windows(R"({"model_type": "gemma2", "num_hidden_layers": 3, "sliding_window": 8})"),
            (List{8, 0, 8}));
  EXPECT_EQ(windows(R"({"model_type": "gemma3_text", "num_hidden_layers": 7, "sliding_window": 8})"),
            (List{8, 8, 8, 8, 8, 0, 8}));
  EXPECT_EQ(windows(R"({"model_type": "qwen2", "num_hidden_layers": 3, "sliding_window": 8,
                        "use_sliding_window": true, "max_window_layers": 1})"),
            (List{0, 8, 8}));
  EXPECT_EQ(windows(R"({"model_type": "qwen2", "num_hidden_layers": 2, "sliding_window": 8})"), (List{0, 0}));
  EXPECT_EQ(windows(R"({"model_type": "gemma2", "num_hidden_layers": 2, "sliding_window": 8,
                        "layer_types": ["full_attention", "sliding_attention"]})"),
            (List{0, 8}));
  // Null: none, though sliding is asked for.
  EXPECT_EQ(windows(R"({"model_type": "qwen2", "num_hidden_layers": 2, "sliding_window": null,
                        "use_sliding_window": true, "max_window_layers": 0})"),
            (List{0, 0}));
  // Qwen 2 with experts: every other one of the first, not all of the last.
  EXPECT_EQ(windows(R"({"model_type": "qwen2_moe", "num_hidden_layers": 5, "use_sliding_window": true,
                        "max_window_layers": 4})"),
            (List{4096, 0, 4096, 0, 0}));
  EXPECT_EQ(windows(R"({"model_type": "qwen2_moe", "num_hidden_layers": 2, "sliding_window": 8})"),
            (List{0, 0}));
}

TEST(Configurations, GemmaAsAnEncoderSeesBothWays) {
  const Decoder d = decoder(R"({"model_type": "gemma3_text", "sliding_window": 512,
                                "use_bidirectional_attention": true, "architectures": ["Gemma3TextModel"]})");
  EXPECT_FALSE(d.stack.causal);
  EXPECT_FALSE(d.head);
  EXPECT_EQ(d.stack.layers[0].window, 513);  // itself, 256 before it, 256 after it
  EXPECT_EQ(d.stack.layers[5].window, 0);
  EXPECT_TRUE(decoder(R"({"model_type": "gemma3_text"})").stack.causal);
}

TEST(Configurations, KeysMayHaveTheNamesThatAllFamiliesShare) {
  const Decoder gpt2 = decoder(R"({"model_type": "gpt2", "hidden_size": 64, "num_attention_heads": 4,
                                   "num_hidden_layers": 2, "max_position_embeddings": 32})");
  EXPECT_EQ(gpt2.stack.width, 64);
  EXPECT_EQ(gpt2.stack.mlp.hidden, 256);
  EXPECT_EQ(gpt2.stack.attention.heads, 4);
  EXPECT_EQ(gpt2.stack.layers.size(), 2u);
  EXPECT_EQ(gpt2.positions, 32);
  // Both: transformers sets its own names first.
  EXPECT_EQ(decoder(R"({"model_type": "gpt2", "n_embd": 48, "hidden_size": 96})").stack.width, 96);
  EXPECT_EQ(decoder(R"({"model_type": "mixtral", "num_experts": 4})").stack.experts.count, 4);
  EXPECT_EQ(decoder(R"({"model_type": "qwen3_moe", "num_local_experts": 4})").stack.experts.count, 4);
  EXPECT_EQ(decoder(R"({"model_type": "deepseek_v2", "num_experts": 4})").stack.experts.count, 4);
  EXPECT_EQ(decoder(R"({"model_type": "deepseek_v3", "num_local_experts": 4})").stack.experts.count, 4);
  const auto distilbert = architecture_of<TextEncoder>(
      R"({"model_type": "distilbert", "hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 2})");
  EXPECT_EQ(distilbert.stack.width, 64);
  EXPECT_EQ(distilbert.stack.attention.heads, 4);
  EXPECT_EQ(distilbert.stack.layers.size(), 2u);
  const auto whisper = architecture_of<SpeechModel>(
      R"({"model_type": "whisper", "hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 2,
          "decoder_attention_heads": 8})");
  EXPECT_EQ(whisper.encoder.width, 64);
  EXPECT_EQ(whisper.decoder.width, 64);
  EXPECT_EQ(whisper.encoder.attention.heads, 4);
  EXPECT_EQ(whisper.decoder.attention.heads, 8);
  EXPECT_EQ(whisper.encoder.layers.size(), 2u);
  EXPECT_EQ(whisper.decoder.layers.size(), 4u);
}

TEST(Configurations, ClipsOlderSectionsReplaceTheOthers) {
  const auto clip = architecture_of<TwoTowers>(
      R"({"model_type": "clip", "text_config": {"hidden_size": 256, "num_hidden_layers": 3},
          "text_config_dict": {"hidden_size": 640, "num_attention_heads": 10},
          "vision_config": {"num_hidden_layers": 2}, "vision_config_dict": null})");
  EXPECT_EQ(clip.text_stack.width, 640);
  EXPECT_EQ(clip.text_stack.layers.size(), 12u);  // the default of the section that counts
  EXPECT_EQ(clip.vision.stack.layers.size(), 2u);
}

TEST(Configurations, HeadsOfEncodersAreThoseOfTheirClasses) {
  const auto bert = [](std::string_view name) {
    return architecture_of<TextEncoder>(fmt::format(
        R"({{"model_type": "bert", "architectures": ["{}"], "tie_word_embeddings": false}})", name));
  };
  const auto writer = bert("BertLMHeadModel");
  ASSERT_TRUE(writer.words);
  EXPECT_TRUE(writer.pooler.empty());
  EXPECT_EQ(writer.prefix, "bert.");
  EXPECT_EQ(writer.words->own_bias, "cls.predictions.decoder.bias");
  EXPECT_FALSE(bert("BertModel").words);
  EXPECT_FALSE(
      architecture_of<SpeechModel>(R"({"model_type": "whisper", "tie_word_embeddings": false})").tied);
  EXPECT_TRUE(architecture_of<SpeechModel>(R"({"model_type": "whisper"})").tied);
}

TEST(Configurations, CachesPerToken) {
  const auto bytes = [](std::string_view text, std::int64_t tokens) {
    return network::transformers::cache_bytes(decoder(text).stack, tokens, 2);
  };
  // Llama 2 7B: every head; 3 8B: 8 key heads of 128.
  EXPECT_EQ(bytes(R"({"model_type": "llama"})", 1), 32 * 32 * 2 * 128 * 2);
  EXPECT_EQ(bytes(R"({"model_type": "llama", "num_key_value_heads": 8})", 1), 131072);
  // DeepSeek-V3: 61 layers of 512 + 64 values.
  EXPECT_EQ(bytes(R"({"model_type": "deepseek_v3"})", 1), 61 * 576 * 2);
  // Gemma 2: half of 26 layers hold 4096 tokens at most.
  EXPECT_EQ(bytes(R"({"model_type": "gemma2"})", 8192), 13 * (8192 + 4096) * 4 * 2 * 256 * 2);
}

TEST(Configurations, ExpertsStandWhereTheyShould) {
  const auto experts = [](std::string_view text) {
    std::string list;
    for (const auto& layer : decoder(text).stack.layers) list += layer.experts ? 'e' : 'd';
    return list;
  };
  EXPECT_EQ(experts(R"({"model_type": "mixtral", "num_hidden_layers": 3})"), "eee");
  EXPECT_EQ(experts(R"({"model_type": "qwen3_moe", "num_hidden_layers": 4, "decoder_sparse_step": 2})"),
            "dede");
  EXPECT_EQ(experts(R"({"model_type": "qwen2_moe", "num_hidden_layers": 3, "mlp_only_layers": [1]})"), "ede");
  EXPECT_EQ(
      experts(
          R"({"model_type": "qwen2_moe", "num_hidden_layers": 2, "mlp_only_layers": [0, 0, 2, 1099511627776]})"),
      "de");
  EXPECT_EQ(experts(R"({"model_type": "deepseek_v3", "num_hidden_layers": 5})"), "dddee");
}

TEST(Configurations, UnknownFamiliesAreRefusedByName) {
  const Result<Description> d = describe(R"({"model_type": "qwen4"})");
  ASSERT_FALSE(d);
  EXPECT_EQ(d.error().text(), "model_type 'qwen4' is not known");
  EXPECT_TRUE(d.error().hint.starts_with("Did you mean qwen2 or qwen3? Known are bert, ")) << d.error().hint;
  EXPECT_TRUE(std::ranges::is_sorted(known_model_types()));
  EXPECT_EQ(refusal(R"({"hidden_size": 12})"),
            "it has no model_type: which architecture it is cannot be known");
}

TEST(Configurations, HeadsThatAreNotKnownAreSaid) {
  const Result<Description> d =
      describe(R"({"model_type": "llama", "architectures": ["LlamaForSequenceClassification"]})");
  ASSERT_TRUE(d);
  ASSERT_EQ(d->notes.size(), 1u);
  EXPECT_EQ(
      d->notes[0],
      "the head of LlamaForSequenceClassification is not known; that of the language model is in its place");
  EXPECT_FALSE(decoder(R"({"model_type": "llama", "architectures": ["LlamaModel"]})").head);
  const Result<Description> two =
      describe(R"({"model_type": "gpt2", "architectures": ["GPT2DoubleHeadsModel"]})");
  ASSERT_TRUE(two);
  EXPECT_EQ(two->notes.size(), 1u);
  EXPECT_TRUE(std::get<Decoder>(two->architecture).head);
  const Result<Description> quantised =
      describe(R"({"model_type": "llama", "quantization_config": {"quant_method": "fp8"}})");
  ASSERT_TRUE(quantised);
  EXPECT_EQ(quantised->notes.size(), 1u);
}

TEST(Configurations, NonsenseIsRefused) {
  EXPECT_TRUE(refusal("").starts_with("not JSON"));
  EXPECT_EQ(refusal("[]"), "is not an object");
  EXPECT_TRUE(refusal(R"({"model_type": 3})").starts_with("model_type: "));
  EXPECT_TRUE(refusal(R"({"model_type": "llama", "hidden_size": "wide"})").starts_with("hidden_size: "));
  EXPECT_TRUE(refusal(R"({"model_type": "llama", "hidden_size": -4})").starts_with("hidden_size: "));
  EXPECT_TRUE(refusal(R"({"model_type": "llama", "hidden_size": 1e30})").starts_with("hidden_size: "));
  EXPECT_EQ(refusal(R"({"model_type": "llama", "num_hidden_layers": 1000000000})"),
            "num_hidden_layers: 1000000000 layers are more than 1024");
  EXPECT_EQ(refusal(R"({"model_type": "llama", "hidden_size": 100, "num_attention_heads": 7})"),
            "hidden_size: 7 heads cannot share a width of 100");
  EXPECT_EQ(refusal(R"({"model_type": "llama", "hidden_act": "magic"})"),
            "hidden_act: the activation 'magic' is not known");
  EXPECT_EQ(refusal(R"({"model_type": "llama", "hidden_size": 1099511627776})"),
            "the width is 1099511627776; it must be between 1 and 1048576");
  EXPECT_TRUE(refusal(R"({"model_type": "deepseek_v3", "moe_intermediate_size": 1099511627776,
                          "n_shared_experts": 1099511627776, "num_hidden_layers": 4})")
                  .starts_with("the width of"));
  EXPECT_TRUE(refusal(R"({"model_type": "clip", "text_config": 3})").starts_with("text_config: "));
  EXPECT_TRUE(refusal(R"({"model_type": "gemma2", "layer_types": ["round"]})").starts_with("layer_types: "));
  EXPECT_EQ(refusal(R"({"model_type": "vit", "image_size": 8})"),
            "patches of 16x16 do not fit in an image of 8x8");
  EXPECT_TRUE(refusal(std::string(100, '[')).starts_with("nested deeper"));
}

TEST(Configurations, EveryFamilyIsBuiltFromItsDefaults) {
  for (const std::string_view type : known_model_types()) {
    // transformers' DeepseekV2Config has no experts per token either.
    const std::string more = type == "deepseek_v2" ? R"(, "num_experts_per_tok": 6)" : "";
    const std::string text = fmt::format(R"({{"model_type": "{}"{}}})", type, more);
    for (const network::Mode mode : {network::Mode::infer, network::Mode::train}) {
      const Result<Description> d = describe(text);
      ASSERT_TRUE(d) << type << ": " << d.error().text();
      const Result<network::Network> built = build(*d, "test", mode);
      ASSERT_TRUE(built) << type << ": " << built.error().text();
    }
  }
}

}  // namespace
}  // namespace plimsoll::huggingface
