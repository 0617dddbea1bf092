#include "huggingface/decoder_keys.hpp"

#include <fmt/format.h>

#include "base/printable.hpp"

namespace plimsoll::huggingface {

using network::transformers::Attention;
using network::transformers::Decoder;
using network::transformers::Layer;
using network::transformers::Stack;

namespace {

/// Null says that there is none.
std::int64_t window_of(const Config& c, std::int64_t otherwise) {
  return c.is_null("sliding_window") ? 0 : c.whole("sliding_window", otherwise, 0);
}

/// Qwen: where "use_sliding_window" says so.
std::int64_t window_in_use(const Config& c, std::int64_t otherwise) {
  return c.flag("use_sliding_window", false) ? window_of(c, otherwise) : 0;
}

}  // namespace

void read_head(const Config& c, Decoder& d, std::vector<std::string>& notes) {
  const std::string name = architecture(c);
  if (name.empty() || name.ends_with("ForCausalLM") || name.ends_with("LMHeadModel")) return;
  if (name.ends_with("Model") && !name.ends_with("HeadsModel")) {  // GPT2DoubleHeadsModel has two
    d.head = false;
    return;
  }
  notes.push_back(fmt::format("the head of {} is not known; that of the language model is in its place",
                              printable(name, 100)));
}

Decoder read_decoder(const Config& c, const DecoderDefaults& o) {
  Decoder d;
  Stack& s = d.stack;
  d.vocabulary = c.whole("vocab_size", o.vocabulary);
  d.tied = c.flag("tie_word_embeddings", o.tied);
  s.width = c.whole("hidden_size", o.width);
  s.layers = read_layers(c, "num_hidden_layers", o.layers);
  s.mlp.hidden = c.whole("intermediate_size", o.hidden);
  s.mlp.activation =
      activation(c, c.has("hidden_activation") ? "hidden_activation" : "hidden_act", o.activation);
  s.norm.epsilon = c.real(c.has("layer_norm_eps") ? "layer_norm_eps" : "rms_norm_eps", o.epsilon);
  s.attention_dropout = c.real("attention_dropout", 0);
  Attention& a = s.attention;
  a.heads = c.whole("num_attention_heads", o.heads);
  const bool as_heads = o.key_heads == 0 || c.is_null("num_key_value_heads");
  a.key_heads = c.whole("num_key_value_heads", as_heads ? a.heads : o.key_heads);
  const bool derived = o.head_size == 0 || c.is_null("head_dim");
  a.head_size = c.has("head_dim") ? c.whole("head_dim", 1)
                : derived         ? size_of_heads(c, "hidden_size", s.width, a.heads)
                                  : o.head_size;
  s.rotary_size = a.head_size;
  return d;
}

void set_biases(Attention& a, bool projections, bool output) {
  a.query_bias = a.key_bias = a.value_bias = projections;
  a.output_bias = output;
}

void slide_all(const Config& c, Stack& s, std::int64_t otherwise) {
  const std::int64_t window = window_of(c, otherwise);
  for (Layer& layer : s.layers) layer.window = window;
}

void slide_some(const Config& c, Stack& s, std::int64_t window,
                const std::function<bool(std::size_t layer)>& slides) {
  const std::vector<std::string> types = c.texts("layer_types");
  if (!types.empty() && types.size() != s.layers.size())
    return c.complain("layer_types",
                      fmt::format("has {} entries for {} layers", types.size(), s.layers.size()));
  for (std::size_t i = 0; i < s.layers.size(); ++i) {
    if (!types.empty() && types[i] != "sliding_attention" && types[i] != "full_attention")
      return c.complain("layer_types", fmt::format("{} is not known", quote(types[i])));
    const bool local = types.empty() ? slides(i) : types[i] == "sliding_attention";
    s.layers[i].window = local ? window : 0;
  }
}

void slide_later(const Config& c, Stack& s, std::int64_t otherwise) {
  const std::int64_t first = c.whole("max_window_layers", 28, 0);
  slide_some(c, s, window_in_use(c, otherwise),
             [&](std::size_t i) { return static_cast<std::int64_t>(i) >= first; });
}

void slide_every_other(const Config& c, Stack& s, std::int64_t otherwise) {
  const std::int64_t end = c.whole("max_window_layers", 28, 0);
  slide_some(c, s, window_in_use(c, otherwise),
             [&](std::size_t i) { return i % 2 == 0 && static_cast<std::int64_t>(i) < end; });
}

void turn_part(const Config& c, Stack& s, double otherwise) {
  const Config rope = c.section("rope_parameters");
  const double part = rope.has("partial_rotary_factor") ? rope.real("partial_rotary_factor", otherwise)
                                                        : c.real("partial_rotary_factor", otherwise);
  if (part > 1) return c.complain("partial_rotary_factor", "is more than 1");
  s.rotary_size = static_cast<std::int64_t>(static_cast<double>(s.attention.head_size) * part);
}

}  // namespace plimsoll::huggingface
