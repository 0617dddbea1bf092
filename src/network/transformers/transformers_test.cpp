// Transformers from their descriptions: weights, shapes, operators and caches worked out by hand.
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "network/binding.hpp"
#include "network/inference.hpp"
#include "network/transformers/decoder.hpp"
#include "network/transformers/encoder.hpp"
#include "network/transformers/speech.hpp"
#include "network/transformers/two_towers.hpp"

namespace plimsoll::network::transformers {
namespace {

Decoder small_decoder() {
  Decoder d;
  d.vocabulary = 100;
  d.stack.width = 32;
  d.stack.layers.resize(2);
  d.stack.attention = {.heads = 4, .key_heads = 2, .head_size = 8};
  d.stack.mlp.hidden = 48;
  d.stack.rotary_size = 8;
  return d;
}

struct Inferred {
  Network network;
  Shapes shapes;

  [[nodiscard]] const Operator* find(std::string_view type, std::size_t skip = 0) const {
    for (const Operator& op : network.main().operators)
      if (network.type_of(op) == type && skip-- == 0) return &op;
    return nullptr;
  }
  [[nodiscard]] std::string shape(TensorId id) const { return shapes.text(id); }
  [[nodiscard]] std::int64_t parameters() const {
    std::int64_t all = 0;
    for (const TensorId id : network.main().weights) {
      if (network.tensor(id).role != Role::parameter) continue;
      std::int64_t elements = 1;
      for (const Dim d : network.dims_of(network.tensor(id))) elements *= d.value();
      all += elements;
    }
    return all;
  }
  [[nodiscard]] std::int64_t integer(const Operator& op, std::string_view name) const {
    const Attribute* a = network.find(op, name);
    return a == nullptr ? -1 : a->integer;
  }
};

template <class Description>
Inferred inferred(const Description& description, Mode mode = Mode::infer) {
  Result<Network> network = build(description, "test", mode);
  EXPECT_TRUE(network) << network.error().text();
  const Result<Binding> binding = bind(*network, {.batch = 3, .sequence = 5});
  EXPECT_TRUE(binding) << binding.error().text();
  Result<Shapes> shapes = infer(*network, *binding);
  EXPECT_TRUE(shapes) << shapes.error().text();
  return {std::move(*network), std::move(*shapes)};
}

std::string refusal(const Decoder& decoder) {
  const Result<Network> network = build(decoder, "test", Mode::infer);
  return network ? "built" : network.error().text();
}

TEST(Transformers, ADecoderHasItsWeightsAndShapes) {
  const Inferred r = inferred(small_decoder());
  const std::int64_t attention = 32 * 32 + 2 * 32 * 16 + 32 * 32, mlp = 3 * 32 * 48, norms = 2 * 32;
  EXPECT_EQ(r.parameters(), 2 * 100 * 32 + 32 + 2 * (attention + mlp + norms));
  const Operator* op = r.find("Attention");
  ASSERT_NE(op, nullptr);
  EXPECT_EQ(r.shape(r.network.inputs(*op)[0]), "3x4x5x8");
  EXPECT_EQ(r.shape(r.network.inputs(*op)[1]), "3x2x5x8");  // key heads are not repeated
  EXPECT_EQ(r.shape(r.network.inputs(*op)[2]), "3x2x5x8");
  EXPECT_EQ(r.integer(*op, "is_causal"), 1);
  EXPECT_EQ(r.integer(*op, "local_window_size"), -1);
  EXPECT_EQ(r.shape(r.network.main().outputs.front()), "3x5x100");
}

TEST(Transformers, TheHeadIsTheLastOperator) {
  const Inferred r = inferred(small_decoder());
  const Operator& last = r.network.main().operators.back();
  EXPECT_EQ(r.network.type_of(last), "MatMul");
  EXPECT_EQ(r.network.outputs(last).front(), r.network.main().outputs.front());
}

TEST(Transformers, ATiedHeadIsTheWordTable) {
  Decoder d = small_decoder();
  d.tied = true;
  EXPECT_EQ(inferred(small_decoder()).parameters() - inferred(d).parameters(), 100 * 32);
  d.head = false;
  const Inferred r = inferred(d);
  EXPECT_EQ(r.shape(r.network.main().outputs.front()), "3x5x32");
}

TEST(Transformers, AttentionSaysWindowCapAndScale) {
  Decoder d = small_decoder();
  d.stack.layers[1].window = 7;
  d.stack.attention.soft_cap = 50;
  d.stack.attention.scale = 0.25;
  const Inferred r = inferred(d);
  const Operator *first = r.find("Attention"), *second = r.find("Attention", 1);
  ASSERT_TRUE(first != nullptr && second != nullptr);
  EXPECT_EQ(r.integer(*first, "local_window_size"), -1);
  EXPECT_EQ(r.integer(*second, "local_window_size"), 7);
  EXPECT_DOUBLE_EQ(r.network.find(*second, "softcap")->real, 50);
  EXPECT_DOUBLE_EQ(r.network.find(*second, "scale")->real, 0.25);
}

TEST(Transformers, PlacesNormsAndPartsAsDescribed) {
  const std::int64_t plain = inferred(small_decoder()).parameters();
  Decoder d = small_decoder();
  d.stack.placement = Placement::both;
  d.stack.names.mlp_norm = "pre_feedforward_layernorm";
  EXPECT_EQ(inferred(d).parameters() - plain, 2 * 2 * 32);
  d = small_decoder();
  d.stack.placement = Placement::parallel;
  EXPECT_EQ(inferred(d).parameters() - plain, -2 * 32);
  d = small_decoder();
  d.stack.attention.joined = d.stack.mlp.joined = true;
  EXPECT_EQ(inferred(d).parameters(), plain);
  d.stack.attention.head_norm = Attention::HeadNorm::per_head;
  EXPECT_EQ(inferred(d).parameters() - plain, 2 * 2 * 8);
  d = small_decoder();
  d.stack.rotary_size = 4;  // half of each head is turned
  d.positions = 10;
  d.position_offset = 2;
  EXPECT_EQ(inferred(d).parameters() - plain, 12 * 32);
}

TEST(Transformers, LatentAttentionGoesThroughSmallVectors) {
  Decoder d = small_decoder();
  d.stack.attention = {
      .heads = 4,
      .key_heads = 4,
      .head_size = 12,
      .value_size = 6,
      .latent = Latent{.query_rank = 9, .key_value_rank = 10, .rotary_size = 4, .plain_size = 8}};
  d.stack.rotary_size = 4;
  const Inferred r = inferred(d);
  const std::int64_t attention = 32 * 9 + 9 + 9 * 4 * 12 + 32 * 14 + 10 + 10 * 4 * (8 + 6) + 4 * 6 * 32;
  EXPECT_EQ(r.parameters(), 2 * 100 * 32 + 32 + 2 * (attention + 3 * 32 * 48 + 2 * 32));
  const Operator* op = r.find("Attention");
  ASSERT_NE(op, nullptr);
  EXPECT_EQ(r.shape(r.network.inputs(*op)[0]), "3x4x5x12");
  EXPECT_EQ(r.shape(r.network.inputs(*op)[1]), "3x4x5x12");
  EXPECT_EQ(r.shape(r.network.inputs(*op)[2]), "3x4x5x6");
  EXPECT_EQ(r.integer(*op, "cached_values"), 14);
}

TEST(Transformers, ExpertsAreOneOperator) {
  Decoder d = small_decoder();
  d.stack.layers[1].experts = true;
  d.stack.experts = {.count = 6, .per_token = 2, .hidden = 20, .shared_hidden = 40, .shared_gate = true};
  const Inferred r = inferred(d);
  const Operator* op = r.find("MoE");
  ASSERT_NE(op, nullptr);
  EXPECT_EQ(r.find("MoE", 1), nullptr);
  EXPECT_EQ(r.integer(*op, "k"), 2);
  EXPECT_EQ(r.shape(r.network.inputs(*op)[1]), "15x6");
  const std::int64_t sparse = 32 * 6 + 6 * 3 * 32 * 20 + 3 * 32 * 40 + 32;
  EXPECT_EQ(r.parameters() - inferred(small_decoder()).parameters(), sparse - 3 * 32 * 48);
  d.stack.experts.joined = false;  // as files of other kinds store them
  EXPECT_EQ(inferred(d).parameters(), r.parameters());
}

TEST(Transformers, CachesHoldWhatAttentionNeedsAgain) {
  Decoder d = small_decoder();
  EXPECT_EQ(cache_bytes(d.stack, 1, 2),
            2 * 2 * (8 + 8) * 2);  // grouped: 2 layers, 2 key heads, key and value
  d.stack.attention.key_heads = 4;
  EXPECT_EQ(cache_bytes(d.stack, 100, 2), 100 * 2 * 4 * (8 + 8) * 2);
  d.stack.layers[1].window = 30;  // a sliding layer holds its window
  EXPECT_EQ(cache_bytes(d.stack, 100, 2), (100 + 30) * 4 * (8 + 8) * 2);
  EXPECT_EQ(cache_bytes(d.stack, 20, 2), (20 + 20) * 4 * (8 + 8) * 2);
  d.stack.layers[1].window = 0;
  d.stack.attention.latent = Latent{.key_value_rank = 10, .rotary_size = 4, .plain_size = 8};
  EXPECT_EQ(cache_bytes(d.stack, 1, 2), 2 * (10 + 4) * 2);
  d.stack.causal = false;
  EXPECT_EQ(cache_bytes(d.stack, 1, 2), 0);
}

TEST(Transformers, WeightsHaveOneNameEach) {
  Decoder d = small_decoder();
  d.stack.layers[1].experts = true;
  d.stack.experts = {.count = 6, .per_token = 2, .hidden = 20, .shared_hidden = 40, .shared_gate = true};
  const Network network = std::move(*build(d, "test", Mode::train));
  std::set<std::string_view> names;
  for (const TensorId id : network.main().weights)
    EXPECT_TRUE(names.insert(network.name_of(id)).second) << network.name_of(id);
  EXPECT_TRUE(names.contains("model.layers.0.self_attn.q_proj.weight"));
  EXPECT_TRUE(names.contains("model.layers.1.mlp.experts.down_proj"));
}

TEST(Transformers, DescriptionsThatCannotBeAreRefused) {
  Decoder d = small_decoder();
  d.stack.attention.key_heads = 3;
  EXPECT_EQ(refusal(d), "4 heads cannot share 3 heads of keys");
  d = small_decoder();
  d.stack.rotary_size = 7;
  EXPECT_EQ(refusal(d), "rotary positions turn pairs; 7 values are not");
  d = small_decoder();
  d.stack.width = kMostWidth + 1;
  EXPECT_EQ(refusal(d), "the width is 1048577; it must be between 1 and 1048576");
  d = small_decoder();
  d.stack.layers.clear();
  EXPECT_EQ(refusal(d), "the number of layers is 0; it must be between 1 and 1024");
  d = small_decoder();
  d.stack.layers[0].experts = true;
  EXPECT_EQ(refusal(d), "the number of experts is 0; it must be between 1 and 16384");
  d.stack.experts = {.count = 4, .per_token = 5, .hidden = 8};
  EXPECT_EQ(refusal(d), "the experts of a token is 5; it must be between 1 and 4");
}

TEST(Transformers, AnEncoderOfTextEndsInItsHead) {
  TextEncoder e;
  e.stack = small_decoder().stack;
  e.stack.causal = false;
  e.stack.rotary_size = 0;
  e.stack.placement = Placement::after;
  e.vocabulary = 100;
  e.positions = 16;
  e.token_types = 2;
  e.pooler = "pooler.dense";
  const Inferred plain = inferred(e);
  EXPECT_EQ(plain.network.main().inputs.size(), 2u);
  EXPECT_EQ(plain.shape(plain.network.main().outputs.at(0)), "3x5x32");
  EXPECT_EQ(plain.shape(plain.network.main().outputs.at(1)), "3x32");
  const Operator* op = plain.find("Attention");
  ASSERT_NE(op, nullptr);
  EXPECT_EQ(plain.integer(*op, "is_causal"), 0);
  e.heads.push_back({.from = ClassHead::From::pooled, .classes = 3});
  const Inferred classes = inferred(e);
  EXPECT_EQ(classes.shape(classes.network.main().outputs.at(0)), "3x3");
  EXPECT_EQ(classes.parameters() - plain.parameters(), 32 * 3 + 3);
}

TEST(Transformers, WordsThatAreNotTiedBringTheirTableAndItsBias) {
  TextEncoder e;
  e.stack = small_decoder().stack;
  e.stack.rotary_size = 0;
  e.vocabulary = 100;
  e.positions = 16;
  e.words = WordHead{.dense = "dense", .norm = "norm", .bias = "bias", .tied = true, .table = "table"};
  const std::int64_t tied = inferred(e).parameters();
  e.words->tied = false;
  EXPECT_EQ(inferred(e).parameters() - tied, 100 * 32);
  e.words->own_bias = "table.bias";
  const Inferred r = inferred(e);
  EXPECT_EQ(r.parameters() - tied, 100 * 32 + 100);
  EXPECT_EQ(r.network.name_of(r.network.inputs(r.network.main().operators.back())[1]), "table.bias");
}

TEST(Transformers, SpeechLooksAtTheSoundInEveryLayer) {
  SpeechModel m;
  m.encoder = small_decoder().stack;
  m.encoder.attention.key_heads = 4;
  m.encoder.rotary_size = 0;
  m.encoder.causal = false;
  m.decoder = m.encoder;
  m.decoder.causal = true;
  m.decoder.cross_attention = true;
  m.decoder.names.prefix = "model.decoder.layers.";
  m.bands = 20;
  m.source_positions = 50;
  m.target_positions = 12;
  m.vocabulary = 100;
  const Inferred r = inferred(m);
  EXPECT_EQ(r.shape(r.network.main().outputs.front()), "3x5x100");
  std::map<std::string, int> shapes;
  for (const Operator& op : r.network.main().operators)
    if (r.network.type_of(op) == "Attention")
      ++shapes[r.shape(r.network.inputs(op)[0]) + " " + r.shape(r.network.inputs(op)[1])];
  const std::map<std::string, int> expected = {
      {"3x4x50x8 3x4x50x8", 2}, {"3x4x5x8 3x4x5x8", 2}, {"3x4x5x8 3x4x50x8", 2}};
  EXPECT_EQ(shapes, expected);
  m.tied = false;
  EXPECT_EQ(inferred(m).parameters() - r.parameters(), 100 * 32);
}

}  // namespace
}  // namespace plimsoll::network::transformers
