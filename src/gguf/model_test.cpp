#include "gguf/model.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gguf/architecture.hpp"
#include "gguf/test_models.hpp"
#include "network/saturating.hpp"

namespace plimsoll::gguf::test {
namespace {

using network::Mode;
using network::Network;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

Result<Model> build_text(const std::string& bytes) {
  const Result<File> file = read_bytes(std::as_bytes(std::span(bytes)));
  if (!file) return std::unexpected(file.error());
  return build(*file, "test", Mode::infer);
}

std::int64_t parameters(const Network& network) {
  std::int64_t total = 0;
  for (const network::TensorId id : network.main().weights) {
    if (network.tensor(id).role != network::Role::parameter) continue;
    std::int64_t elements = 1;
    for (const network::Dim d : network.dims_of(network.tensor(id))) elements *= d.value();
    total += elements;
  }
  return total;
}

std::int64_t stored_bytes(const Network& network) {
  std::int64_t total = 0;
  for (const network::StoredWeight& weight : network.stored) total += weight.bytes;
  return total;
}

TEST(GgufModel, ALlamaHasItsParametersAndTheirBytes) {
  const Result<Model> model = build_text(small_llama().bytes());
  ASSERT_TRUE(model) << model.error().text();
  const Small s;
  const std::int64_t keys = 128, words = s.width * s.vocabulary;
  const std::int64_t q4 = 2 * s.width * s.width + s.width * keys + 3 * s.width * s.hidden,
                     q6 = s.width * keys;
  EXPECT_EQ(parameters(model->network), 2 * words + s.width + s.layers * (q4 + q6 + 2 * s.width));
  EXPECT_EQ(stored_bytes(model->network), 2 * words / 256 * 210 + s.width * 4 +
                                              s.layers * (q4 / 256 * 144 + q6 / 256 * 210 + 2 * s.width * 4));
  EXPECT_THAT(model->notes, ElementsAre());
  for (const network::StoredWeight& weight : model->network.stored) EXPECT_TRUE(weight.kept);
}

TEST(GgufModel, WithoutAnOutputTheHeadIsTheWords) {
  FileWriter w;
  const Small s{.layers = 1};
  put_keys(w, "llama", s);
  w.tensor("token_embd.weight", {256, 320}, kQ6_K).tensor("output_norm.weight", {256}, kF32);
  for (const char* name : {"attn_norm", "ffn_norm"})
    w.tensor(std::string("blk.0.") + name + ".weight", {256}, kF32);
  for (const char* name : {"attn_q", "attn_output"})
    w.tensor(std::string("blk.0.") + name + ".weight", {256, 256}, kF16);
  for (const char* name : {"attn_k", "attn_v"})
    w.tensor(std::string("blk.0.") + name + ".weight", {256, 128}, kF16);
  for (const char* name : {"ffn_gate", "ffn_up"})
    w.tensor(std::string("blk.0.") + name + ".weight", {256, 512}, kF16);
  w.tensor("blk.0.ffn_down.weight", {512, 256}, kF16).tensor("rope_freqs.weight", {32}, kF32);
  const Result<Model> model = build_text(w.bytes());
  ASSERT_TRUE(model) << model.error().text();
  EXPECT_THAT(model->notes,
              ElementsAre(HasSubstr("1 tensor of the file (128 B) is not part of the network")));
  EXPECT_THAT(model->notes, ElementsAre(HasSubstr("rope_freqs.weight")));
}

/// A file of one architecture: the keys and tensors that it has beside, or in place of, Llama's.
struct Case {
  const char* architecture;
  std::vector<std::pair<std::string, std::uint32_t>> keys;
  std::vector<std::pair<std::string, std::vector<std::int64_t>>> globals, layer;
};

const std::vector<std::pair<std::string, std::vector<std::int64_t>>> kNorms = {{"attn_norm.weight", {256}},
                                                                               {"ffn_norm.weight", {256}}};
const std::vector<std::pair<std::string, std::vector<std::int64_t>>> kAttention = {
    {"attn_q.weight", {256, 256}},
    {"attn_k.weight", {256, 128}},
    {"attn_v.weight", {256, 128}},
    {"attn_output.weight", {256, 256}}};
const std::vector<std::pair<std::string, std::vector<std::int64_t>>> kBiases = {
    {"attn_q.bias", {256}}, {"attn_k.bias", {128}}, {"attn_v.bias", {128}}};
const std::vector<std::pair<std::string, std::vector<std::int64_t>>> kMlp = {
    {"ffn_gate.weight", {256, 512}}, {"ffn_up.weight", {256, 512}}, {"ffn_down.weight", {512, 256}}};
const std::vector<std::pair<std::string, std::vector<std::int64_t>>> kExperts = {
    {"ffn_gate_inp.weight", {256, 4}},
    {"ffn_gate_exps.weight", {256, 96, 4}},
    {"ffn_up_exps.weight", {256, 96, 4}},
    {"ffn_down_exps.weight", {96, 256, 4}}};
const std::vector<std::pair<std::string, std::vector<std::int64_t>>> kHeadNorms = {
    {"attn_q_norm.weight", {64}}, {"attn_k_norm.weight", {64}}};

using Tensors = std::vector<std::pair<std::string, std::vector<std::int64_t>>>;
Tensors join(std::initializer_list<Tensors> parts) {
  Tensors out;
  for (const Tensors& part : parts) out.insert(out.end(), part.begin(), part.end());
  return out;
}

std::vector<Case> cases() {
  const Tensors words = {{"token_embd.weight", {256, 320}}, {"output_norm.weight", {256}}};
  const Tensors head = {{"output.weight", {256, 320}}};
  const Tensors last_bias = {{"output_norm.bias", {256}}};
  const Tensors norm_biases = {{"attn_norm.bias", {256}}, {"ffn_norm.bias", {256}}};
  const Tensors plain_mlp = {{"ffn_up.weight", {256, 512}},
                             {"ffn_up.bias", {512}},
                             {"ffn_down.weight", {512, 256}},
                             {"ffn_down.bias", {256}}};
  const Tensors joined = {{"attn_qkv.weight", {256, 512}},
                          {"attn_qkv.bias", {512}},
                          {"attn_output.weight", {256, 256}},
                          {"attn_output.bias", {256}}};
  const Tensors after = {{"post_attention_norm.weight", {256}}, {"post_ffw_norm.weight", {256}}};
  const Tensors shared = {{"ffn_gate_inp_shexp.weight", {256}},
                          {"ffn_gate_shexp.weight", {256, 160}},
                          {"ffn_up_shexp.weight", {256, 160}},
                          {"ffn_down_shexp.weight", {160, 256}}};
  const std::vector<std::pair<std::string, std::uint32_t>> experts = {
      {"expert_count", 4}, {"expert_used_count", 2}, {"expert_feed_forward_length", 96}};
  return {
      {"llama", {}, join({words, head}), join({kNorms, kAttention, kMlp})},
      {"llama", experts, join({words, head}), join({kNorms, kAttention, kExperts})},
      {"qwen2", {}, join({words, head}), join({kNorms, kAttention, kBiases, kMlp})},
      {"qwen3", {}, words, join({kNorms, kAttention, kHeadNorms, kMlp})},
      {"qwen2moe", experts, join({words, head}), join({kNorms, kAttention, kBiases, kExperts, shared})},
      {"qwen3moe", experts, join({words, head}), join({kNorms, kAttention, kHeadNorms, kExperts})},
      {"gemma", {}, words, join({kNorms, kAttention, kMlp})},
      {"gemma2", {{"attention.sliding_window", 64}}, words, join({kNorms, kAttention, after, kMlp})},
      {"gemma3",
       {{"attention.sliding_window", 64}},
       words,
       join({kNorms, kAttention, kHeadNorms, after, kMlp})},
      {"phi2",
       {{"rope.dimension_count", 32}},
       join({words, last_bias, head, {{"output.bias", {320}}}}),
       join({{{"attn_norm.weight", {256}}, {"attn_norm.bias", {256}}}, joined, plain_mlp})},
      {"phi3",
       {},
       join({words, head}),
       join({kNorms,
             {{"attn_qkv.weight", {256, 512}},
              {"attn_output.weight", {256, 256}},
              {"ffn_up.weight", {256, 1024}},
              {"ffn_down.weight", {512, 256}}}})},
      {"gpt2",
       {},
       join({words, last_bias, {{"position_embd.weight", {256, 128}}}}),
       join({kNorms, norm_biases, joined, plain_mlp})},
      {"starcoder2",
       {},
       join({words, last_bias}),
       join({kNorms, norm_biases, kAttention, kBiases, {{"attn_output.bias", {256}}}, plain_mlp})},
      {"deepseek2",
       {{"expert_count", 4},
        {"expert_used_count", 2},
        {"expert_feed_forward_length", 96},
        {"expert_shared_count", 2},
        {"attention.q_lora_rank", 96},
        {"attention.kv_lora_rank", 64},
        {"rope.dimension_count", 32},
        {"attention.key_length", 96},
        {"attention.value_length", 64}},
       join({words, head}),
       join({kNorms,
             {{"attn_q_a.weight", {256, 96}},
              {"attn_q_a_norm.weight", {96}},
              {"attn_q_b.weight", {96, 384}},
              {"attn_kv_a_mqa.weight", {256, 96}},
              {"attn_kv_a_norm.weight", {64}},
              {"attn_k_b.weight", {64, 64, 4}},
              {"attn_v_b.weight", {64, 64, 4}},
              {"attn_output.weight", {256, 256}},
              {"ffn_gate_shexp.weight", {256, 192}},
              {"ffn_up_shexp.weight", {256, 192}},
              {"ffn_down_shexp.weight", {192, 256}}},
             kExperts})},
  };
}

/// The file without its tensor number `without`.
FileWriter write(const Case& c, std::optional<std::size_t> without = {}) {
  FileWriter w;
  const Small s{.layers = 2};
  put_keys(w, c.architecture, s);
  for (const auto& [key, value] : c.keys) w.whole(std::string(c.architecture) + "." + key, value);
  std::size_t n = 0;
  const auto put = [&](const std::string& name, const std::vector<std::int64_t>& dims) {
    if (n++ != without) w.tensor(name, dims, dims.size() > 1 && dims[0] % 32 == 0 ? kQ8_0 : kF32);
  };
  for (const auto& [name, dims] : c.globals) put(name, dims);
  for (int i = 0; i < 2; ++i)
    for (const auto& [name, dims] : c.layer) put("blk." + std::to_string(i) + "." + name, dims);
  return w;
}

TEST(GgufModel, EveryArchitectureHasExactlyTheTensorsOfItsFile) {
  for (const Case& c : cases()) {
    const std::string bytes = write(c).bytes();
    const Result<File> file = read_bytes(std::as_bytes(std::span(bytes)));
    ASSERT_TRUE(file) << c.architecture << ": " << file.error().text();
    const Result<Model> model = build(*file, "test", Mode::infer);
    ASSERT_TRUE(model) << c.architecture << ": " << model.error().text();
    std::int64_t values = 0, all = 0;
    for (const TensorInfo& t : file->tensors) {
      values += t.elements();
      all += t.bytes;
    }
    EXPECT_EQ(parameters(model->network), values) << c.architecture;
    EXPECT_EQ(stored_bytes(model->network), all) << c.architecture;
    EXPECT_THAT(model->notes, ElementsAre()) << c.architecture;
    EXPECT_THAT(known_architectures(), Contains(c.architecture));
  }
}

TEST(GgufModel, ATensorThatIsNeededAndNotThereIsNamed) {
  for (const Case& c : cases()) {
    const std::size_t tensors = c.globals.size() + 2 * c.layer.size();
    for (std::size_t i = 0; i < tensors; ++i) {
      const bool global = i < c.globals.size();
      const std::string& name =
          global ? c.globals[i].first : c.layer[(i - c.globals.size()) % c.layer.size()].first;
      // Without these the network is another one, with a head of the words and no such bias.
      if (name.starts_with("output.") || (name.ends_with(".bias") && std::string(c.architecture) == "llama"))
        continue;
      const Result<Model> model = build_text(write(c, i).bytes());
      ASSERT_FALSE(model) << c.architecture << " without " << name;
      const std::string short_name = name.substr(0, name.find('.'));
      EXPECT_THAT(model.error().text(),
                  HasSubstr(short_name.starts_with("attn_k_b") || short_name == "attn_v_b" ? "attn_kv_b"
                            : short_name == "attn_qkv"                                     ? "attn_"
                                                                                           : short_name))
          << c.architecture;
    }
  }
}

TEST(GgufModel, WhatTheArchitectureCannotBeIsRefused) {
  const auto refusal = [](auto&& change) {
    FileWriter w;
    change(w);
    const Result<Model> model = build_text(w.bytes());
    return model ? std::string("built") : model.error().text() + " " + model.error().hint;
  };
  EXPECT_THAT(refusal([](FileWriter&) {}), HasSubstr("no general.architecture"));
  EXPECT_THAT(refusal([](FileWriter& w) { w.text("general.architecture", "lama"); }),
              testing::AllOf(HasSubstr("general.architecture 'lama' is not known"), HasSubstr("mean llama"),
                             HasSubstr("Known are deepseek2, gemma")));
  EXPECT_THAT(refusal([](FileWriter& w) { w.whole("general.architecture", 1); }),
              HasSubstr("is a number, not a text"));
  EXPECT_THAT(refusal([](FileWriter& w) { w.text("general.architecture", "llama"); }),
              HasSubstr("tensor 'token_embd.weight' is not there"));
  EXPECT_THAT(refusal([](FileWriter& w) {
                w.text("general.architecture", "llama").tensor("token_embd.weight", {32, 8}, kF32);
              }),
              HasSubstr("metadata 'llama.embedding_length' is not there, which llama needs"));
  EXPECT_THAT(refusal([](FileWriter& w) {
                put_keys(w, "llama", {.layers = 100'000}).tensor("token_embd.weight", {256, 8}, kF32);
              }),
              HasSubstr("100000 layers are more than"));
  EXPECT_THAT(refusal([](FileWriter& w) {
                put_keys(w, "llama", {.heads = 7}).tensor("token_embd.weight", {256, 8}, kF32);
              }),
              HasSubstr("7 heads cannot share a width of 256"));
  EXPECT_THAT(refusal([](FileWriter& w) {
                put_keys(w, "llama", {})
                    .wholes("llama.attention.value_length", {64, 32})
                    .tensor("token_embd.weight", {256, 8}, kF32);
              }),
              HasSubstr("differs from layer to layer"));
}

TEST(GgufModel, WindowsThatAFileDoesNotSayAreThoseOfLlamaCpp) {
  for (Case c : cases()) {
    const std::string architecture = c.architecture;
    if (architecture != "gemma2" && architecture != "gemma3") continue;
    c.keys.clear();
    const std::string bytes = write(c).bytes();
    const Result<File> file = read_bytes(std::as_bytes(std::span(bytes)));
    ASSERT_TRUE(file) << file.error().text();
    const auto decoder = describe(*file);
    ASSERT_TRUE(decoder) << decoder.error().text();
    EXPECT_EQ(decoder->stack.layers[0].window, architecture == "gemma2" ? 4096 : 0);
    EXPECT_EQ(decoder->stack.layers[1].window, 0);
  }
}

TEST(GgufModel, OtherExtentsAreNamed) {
  Small s;
  FileWriter w = small_llama(s);
  std::string bytes = w.bytes();
  // The metadata say another hidden width than the tensors have.
  const std::string key = "llama.feed_forward_length";
  const std::size_t at = bytes.find(key) + key.size() + 4;
  bytes[at + 1] = 3;  // 768
  const Result<Model> model = build_text(bytes);
  ASSERT_FALSE(model);
  EXPECT_THAT(model.error().text(), HasSubstr("tensor 'blk.0.ffn_gate.weight' has the extents [256, 512], "
                                              "where the architecture needs [256, 768]"));
}

}  // namespace
}  // namespace plimsoll::gguf::test
