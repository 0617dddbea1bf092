// Encoders of text, images and speech. Defaults as transformers' configuration classes have them.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/printable.hpp"
#include "huggingface/families.hpp"

namespace plimsoll::huggingface {
namespace {

using network::transformers::ClassHead;
using network::transformers::kMostLayers;
using network::transformers::LayerNames;
using network::transformers::Norm;
using network::transformers::Placement;
using network::transformers::SpeechModel;
using network::transformers::Stack;
using network::transformers::TextEncoder;
using network::transformers::TwoTowers;
using network::transformers::VisionEncoder;
using network::transformers::WordHead;
using Notes = std::vector<std::string>;

/// What differs between encoders: the keys, and their defaults.
struct StackKeys {
  std::string_view width, layers, heads, hidden, activation;
};
struct StackDefaults {
  std::int64_t width, layers, heads, hidden;
  std::string_view activation;
};

Stack read_stack(const Config& c, const StackKeys& keys, const StackDefaults& o) {
  Stack s;
  s.causal = false;
  s.width = c.whole(keys.width, o.width);
  s.layers = read_layers(c, keys.layers, o.layers);
  s.norm.kind = Norm::Kind::layer;
  s.attention.heads = s.attention.key_heads = c.whole(keys.heads, o.heads);
  s.attention.head_size = size_of_heads(c, keys.width, s.width, s.attention.heads);
  s.attention.query_bias = s.attention.key_bias = s.attention.value_bias = s.attention.output_bias = true;
  s.mlp = {.hidden = c.whole(keys.hidden, o.hidden),
           .activation = activation(c, keys.activation, o.activation),
           .gated = false,
           .bias = true};
  return s;
}

constexpr StackKeys kBertKeys = {"hidden_size", "num_hidden_layers", "num_attention_heads",
                                 "intermediate_size", "hidden_act"};

/// transformers' own default is two classes.
std::int64_t classes_of(const Config& c) {
  return c.has("id2label") ? c.entries("id2label") : c.whole("num_labels", 2);
}

// ---- Text

/// What stands on top of BERT, by the end of the class's name.
struct TextHead {
  std::string_view ending;
  bool pooler, words;
  std::string_view classifier;  ///< its name; empty: none
  ClassHead::From from;
  std::int64_t classes;  ///< 0: as many as the file has labels
};
constexpr TextHead kBertHeads[] = {
    {"ForPreTraining", true, true, "cls.seq_relationship", ClassHead::From::pooled, 2},
    {"ForMaskedLM", false, true, "", ClassHead::From::tokens, 0},
    {"ForNextSentencePrediction", true, false, "cls.seq_relationship", ClassHead::From::pooled, 2},
    {"ForSequenceClassification", true, false, "classifier", ClassHead::From::pooled, 0},
    {"ForMultipleChoice", true, false, "classifier", ClassHead::From::pooled, 1},
    {"ForTokenClassification", false, false, "classifier", ClassHead::From::tokens, 0},
    {"ForQuestionAnswering", false, false, "qa_outputs", ClassHead::From::tokens, 0},
    {"LMHeadModel", false, true, "", ClassHead::From::tokens, 0},
    {"Model", true, false, "", ClassHead::From::tokens, 0},  // last: others end in it, too
};

template <class Heads>
const TextHead& head_of(const Config& c, const Heads& heads, Notes& notes) {
  const TextHead& last = *std::prev(std::end(heads));
  const std::string name = architecture(c);
  if (name.empty()) return last;
  const auto found = std::ranges::find_if(heads, [&](const TextHead& h) { return name.ends_with(h.ending); });
  if (found != std::end(heads)) return *found;
  notes.push_back(fmt::format("the head of {} is not known; it is left out", printable(name, 100)));
  return last;
}

void add_classes(const Config& c, TextEncoder& e, const TextHead& head, std::string before) {
  if (head.classifier.empty()) return;
  e.heads.push_back({.from = head.from,
                     .classes = head.classes > 0 ? head.classes : classes_of(c),
                     .name = std::string(head.classifier),
                     .before = std::move(before)});
}

Architecture bert(const Config& c, const Family&, Notes& notes) {
  TextEncoder e;
  Stack& s = e.stack;
  s = read_stack(c, kBertKeys, {768, 12, 12, 3072, "gelu"});
  s.norm.epsilon = c.real("layer_norm_eps", 1e-12);
  s.placement = Placement::after;
  s.attention_dropout = c.real("attention_probs_dropout_prob", 0.1);
  s.residual_dropout = e.embedding_dropout = c.real("hidden_dropout_prob", 0.1);
  e.vocabulary = c.whole("vocab_size", 30522);
  e.positions = c.whole("max_position_embeddings", 512);
  e.token_types = c.whole("type_vocab_size", 2);
  for (const std::string_view key : {"is_decoder", "add_cross_attention"})
    if (c.flag(key, false)) c.complain(key, "BERT as a decoder is not known here");
  const TextHead& head = head_of(c, kBertHeads, notes);
  e.prefix = head.ending == "Model" ? "" : "bert.";
  if (head.pooler) e.pooler = "pooler.dense";
  if (head.words)
    e.words = WordHead{.dense = "cls.predictions.transform.dense",
                       .norm = "cls.predictions.transform.LayerNorm",
                       .bias = "cls.predictions.bias",
                       .tied = c.flag("tie_word_embeddings", true),
                       .table = "cls.predictions.decoder.weight",
                       .own_bias = "cls.predictions.decoder.bias"};
  add_classes(c, e, head, "");
  s.names = LayerNames{.prefix = e.prefix + "encoder.layer.",
                       .attention = "attention.self",
                       .mlp = "intermediate",
                       .attention_norm = "attention.output.LayerNorm",
                       .query = "attention.self.query",
                       .key = "attention.self.key",
                       .value = "attention.self.value",
                       .output = "attention.output.dense",
                       .mlp_norm = "output.LayerNorm",
                       .up = "intermediate.dense",
                       .down = "output.dense"};
  return e;
}

constexpr TextHead kDistilBertHeads[] = {
    {"ForMaskedLM", false, true, "", ClassHead::From::tokens, 0},
    {"ForSequenceClassification", false, false, "classifier", ClassHead::From::first, 0},
    {"ForMultipleChoice", false, false, "classifier", ClassHead::From::first, 1},
    {"ForTokenClassification", false, false, "classifier", ClassHead::From::tokens, 0},
    {"ForQuestionAnswering", false, false, "qa_outputs", ClassHead::From::tokens, 0},
    {"Model", false, false, "", ClassHead::From::tokens, 0},
};

Architecture distilbert(const Config& c, const Family&, Notes& notes) {
  TextEncoder e;
  Stack& s = e.stack;
  s = read_stack(c,
                 {c.named("dim", "hidden_size"), c.named("n_layers", "num_hidden_layers"),
                  c.named("n_heads", "num_attention_heads"), "hidden_dim", "activation"},
                 {768, 6, 12, 3072, "gelu"});
  s.norm.epsilon = 1e-12;
  s.placement = Placement::after;
  s.attention_dropout = c.real("attention_dropout", 0.1);
  s.residual_dropout = e.embedding_dropout = c.real("dropout", 0.1);
  e.vocabulary = c.whole("vocab_size", 30522);
  e.positions = c.whole("max_position_embeddings", 512);
  const TextHead& head = head_of(c, kDistilBertHeads, notes);
  e.prefix = head.ending == "Model" ? "" : "distilbert.";
  if (head.words)
    e.words = WordHead{.dense = "vocab_transform",
                       .norm = "vocab_layer_norm",
                       .bias = "vocab_projector.bias",
                       .tied = c.flag("tie_word_embeddings", true),
                       .table = "vocab_projector.weight"};
  add_classes(c, e, head, head.from == ClassHead::From::first ? "pre_classifier" : "");
  s.names = LayerNames{.prefix = e.prefix + "transformer.layer.",
                       .attention = "attention",
                       .mlp = "ffn",
                       .attention_norm = "sa_layer_norm",
                       .query = "attention.q_lin",
                       .key = "attention.k_lin",
                       .value = "attention.v_lin",
                       .output = "attention.out_lin",
                       .mlp_norm = "output_layer_norm",
                       .up = "ffn.lin1",
                       .down = "ffn.lin2"};
  return e;
}

// ---- Images

/// A side, or height and width.
void read_sides(const Config& c, std::string_view key, std::int64_t otherwise, std::int64_t& height,
                std::int64_t& width) {
  if (!c.is_list(key)) {
    height = width = c.whole(key, otherwise);
    return;
  }
  const std::vector<std::int64_t> sides = c.wholes(key);
  if (sides.size() != 2) return c.complain(key, "is neither a side nor a pair of them");
  height = sides[0];
  width = sides[1];
}

VisionEncoder read_image(const Config& c, std::int64_t patch) {
  VisionEncoder v;
  v.channels = c.whole("num_channels", 3);
  read_sides(c, "image_size", 224, v.height, v.width);
  read_sides(c, "patch_size", patch, v.patch_height, v.patch_width);
  return v;
}

Architecture vit(const Config& c, const Family&, Notes& notes) {
  VisionEncoder v = read_image(c, 16);
  Stack& s = v.stack;
  s = read_stack(c, kBertKeys, {768, 12, 12, 3072, "gelu"});
  s.norm.epsilon = c.real("layer_norm_eps", 1e-12);
  s.attention_dropout = c.real("attention_probs_dropout_prob", 0);
  s.residual_dropout = c.real("hidden_dropout_prob", 0);
  s.attention.query_bias = s.attention.key_bias = s.attention.value_bias = c.flag("qkv_bias", true);
  const std::string name = architecture(c);
  const bool classifies = name.ends_with("ForImageClassification");
  if (classifies)
    v.classes = classes_of(c);
  else
    v.pooled = c.whole("pooler_output_size", s.width);
  if (!name.empty() && !classifies && !name.ends_with("Model"))
    notes.push_back(fmt::format("the head of {} is not known; it is left out", printable(name, 100)));
  const std::string prefix = classifies ? "vit." : "";
  v.class_token = prefix + "embeddings.cls_token";
  v.position_table = prefix + "embeddings.position_embeddings";
  v.patches = prefix + "embeddings.patch_embeddings.projection";
  v.last_norm = prefix + "layernorm";
  v.pooler = prefix + "pooler.dense";
  s.names = LayerNames{.prefix = prefix + "encoder.layer.",
                       .attention = "attention.attention",
                       .mlp = "intermediate",
                       .attention_norm = "layernorm_before",
                       .query = "attention.attention.query",
                       .key = "attention.attention.key",
                       .value = "attention.attention.value",
                       .output = "attention.output.dense",
                       .mlp_norm = "layernorm_after",
                       .up = "intermediate.dense",
                       .down = "output.dense"};
  return v;
}

LayerNames clip_names(std::string prefix) {
  return LayerNames{.prefix = std::move(prefix),
                    .attention_norm = "layer_norm1",
                    .output = "self_attn.out_proj",
                    .mlp_norm = "layer_norm2",
                    .up = "mlp.fc1",
                    .down = "mlp.fc2"};
}

void read_clip_text(const Config& c, TwoTowers& t) {
  t.text_stack = read_stack(c, kBertKeys, {512, 12, 8, 2048, "quick_gelu"});
  t.text_stack.causal = true;
  t.text_stack.norm.epsilon = c.real("layer_norm_eps", 1e-5);
  t.text_stack.attention_dropout = c.real("attention_dropout", 0);
  t.text_stack.names = clip_names("text_model.encoder.layers.");
  t.vocabulary = c.whole("vocab_size", 49408);
  t.positions = c.whole("max_position_embeddings", 77);
}

void read_clip_image(const Config& c, TwoTowers& t) {
  VisionEncoder& v = t.vision;
  v = read_image(c, 32);
  v.stack = read_stack(c, kBertKeys, {768, 12, 12, 3072, "quick_gelu"});
  v.stack.norm.epsilon = c.real("layer_norm_eps", 1e-5);
  v.stack.attention_dropout = c.real("attention_dropout", 0);
  v.stack.names = clip_names("vision_model.encoder.layers.");
  v.patch_bias = false;
  v.norm_first = true;
  v.norm_all = false;
  v.flat_tokens = true;
  v.class_token = "vision_model.embeddings.class_embedding";
  v.position_table = "vision_model.embeddings.position_embedding";
  v.patches = "vision_model.embeddings.patch_embedding";
  v.last_norm = "vision_model.post_layernorm";
}

Architecture clip(const Config& c, const Family&, Notes& notes) {
  const std::string name = architecture(c);
  TwoTowers t;
  t.projection = c.whole("projection_dim", 512);
  // transformers completes "…_config_dict" with defaults and lets all of it override "…_config".
  read_clip_text(c.section(c.named("text_config", "text_config_dict")), t);
  read_clip_image(c.section(c.named("vision_config", "vision_config_dict")), t);
  if (!name.empty() && name != "CLIPModel")
    notes.push_back(fmt::format("{} is not known; CLIPModel is in its place", printable(name, 100)));
  return t;
}

Architecture clip_text(const Config& c, const Family&, Notes&) {
  TwoTowers t{.image = false};
  read_clip_text(c, t);
  if (architecture(c).ends_with("WithProjection")) t.projection = c.whole("projection_dim", 512);
  return t;
}

Architecture clip_vision(const Config& c, const Family&, Notes&) {
  TwoTowers t{.text = false};
  read_clip_image(c, t);
  if (architecture(c).ends_with("WithProjection")) t.projection = c.whole("projection_dim", 512);
  return t;
}

// ---- Speech

Stack whisper_stack(const Config& c, const StackKeys& keys, std::string prefix) {
  Stack s = read_stack(c, keys, {384, 4, 6, 1536, "gelu"});
  s.norm.epsilon = 1e-5;
  s.attention.key_bias = false;
  s.attention_dropout = c.real("attention_dropout", 0);
  s.residual_dropout = c.real("dropout", 0);
  s.names = LayerNames{.prefix = std::move(prefix),
                       .attention_norm = "self_attn_layer_norm",
                       .output = "self_attn.out_proj",
                       .mlp_norm = "final_layer_norm",
                       .up = "fc1",
                       .down = "fc2"};
  return s;
}

Architecture whisper(const Config& c, const Family&, Notes& notes) {
  SpeechModel m;
  const std::string_view width = c.named("d_model", "hidden_size");
  m.encoder = whisper_stack(
      c,
      {width, c.named("encoder_layers", "num_hidden_layers"),
       c.named("encoder_attention_heads", "num_attention_heads"), "encoder_ffn_dim", "activation_function"},
      "model.encoder.layers.");
  m.decoder = whisper_stack(
      c, {width, "decoder_layers", "decoder_attention_heads", "decoder_ffn_dim", "activation_function"},
      "model.decoder.layers.");
  m.decoder.causal = true;
  m.decoder.cross_attention = true;
  m.bands = c.whole("num_mel_bins", 80);
  m.source_positions = c.whole("max_source_positions", 1500);
  m.target_positions = c.whole("max_target_positions", 448);
  m.vocabulary = c.whole("vocab_size", 51865);
  m.dropout = c.real("dropout", 0);
  if (c.flag("scale_embedding", false)) m.embedding_scale = std::sqrt(static_cast<double>(m.decoder.width));
  const std::string name = architecture(c);
  m.head = !name.ends_with("Model");
  m.tied = c.flag("tie_word_embeddings", true);
  if (!name.empty() && m.head && !name.ends_with("ForConditionalGeneration"))
    notes.push_back(fmt::format("{} is not known; WhisperForConditionalGeneration is in its place",
                                printable(name, 100)));
  return m;
}

constexpr Family kEncoders[] = {
    {"bert", bert},       {"distilbert", distilbert},     {"vit", vit},
    {"clip", clip},       {"clip_text_model", clip_text}, {"clip_vision_model", clip_vision},
    {"whisper", whisper},
};

}  // namespace

std::span<const Family> encoder_families() {
  return kEncoders;
}

}  // namespace plimsoll::huggingface
