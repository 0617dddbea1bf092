#pragma once
#include <functional>
#include <string>
#include <vector>

#include "huggingface/families.hpp"

namespace plimsoll::huggingface {

/// Of the keys that Llama and all after it share, as a configuration class has them.
struct DecoderDefaults {
  std::int64_t vocabulary, width, hidden, layers, heads;
  std::int64_t key_heads;  ///< 0: as heads
  std::int64_t head_size;  ///< 0: width / heads
  double epsilon = 1e-6;
  std::string_view activation = "silu";
  bool tied = false;
};
[[nodiscard]] network::transformers::Decoder read_decoder(const Config& c, const DecoderDefaults& o);

/// What "architectures" says of the head. Without it these are language models.
void read_head(const Config& config, network::transformers::Decoder& decoder,
               std::vector<std::string>& notes);

void set_biases(network::transformers::Attention& attention, bool projections, bool output);

/// "sliding_window" for every layer; null: none.
void slide_all(const Config& config, network::transformers::Stack& stack, std::int64_t otherwise);
/// For the layers that "layer_types" names where the file has it, else for those that `slides`.
void slide_some(const Config& config, network::transformers::Stack& stack, std::int64_t window,
                const std::function<bool(std::size_t layer)>& slides);
/// For those after the first "max_window_layers", where "use_sliding_window" says so (Qwen).
void slide_later(const Config& config, network::transformers::Stack& stack, std::int64_t otherwise);
/// For every other one of the first "max_window_layers", from the first on, where "use_sliding_window" says
/// so (Qwen 2 with experts).
void slide_every_other(const Config& config, network::transformers::Stack& stack, std::int64_t otherwise);

/// Of each head, the part that is turned: a key of the file or of its "rope_parameters".
void turn_part(const Config& config, network::transformers::Stack& stack, double otherwise);

}  // namespace plimsoll::huggingface
