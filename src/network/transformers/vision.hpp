#pragma once
#include <string>
#include <string_view>

#include "network/network.hpp"
#include "network/transformers/stack.hpp"

namespace plimsoll::network::transformers {

inline constexpr std::int64_t kMostPixels = 1 << 16;  ///< of a side

/// A vision transformer: patches of an image, a class token before them, layers.
struct VisionEncoder {
  Stack stack = {};
  std::int64_t channels = 3, height = 0, width = 0;
  std::int64_t patch_height = 0, patch_width = 0;
  bool patch_bias = true;
  bool norm_first = false;   ///< a norm before the layers too (CLIP)
  bool norm_all = true;      ///< the last norm is over all tokens; else over the class token alone (CLIP)
  std::int64_t pooled = 0;   ///< width of a linear layer and tanh over the class token; 0: none
  std::int64_t classes = 0;  ///< of a linear layer over it; 0: none

  // Whole names, but for ".weight" and ".bias" of linear layers and norms.
  std::string class_token = "vit.embeddings.cls_token";
  std::string position_table = "vit.embeddings.position_embeddings";
  bool flat_tokens = false;  ///< both are stored without leading dimensions of 1 (CLIP)
  std::string patches = "vit.embeddings.patch_embeddings.projection";
  std::string first_norm = "vision_model.pre_layrnorm", last_norm = "vit.layernorm";
  std::string pooler = "vit.pooler.dense", head = "classifier";
};

[[nodiscard]] Status check(const VisionEncoder& v);

/// Input "pixel_values", batch x channels x height x width. Result: the classes, else tokens and what the
/// pooler makes of the first.
[[nodiscard]] Result<Network> build(const VisionEncoder& v, std::string_view name, Mode mode);

/// The tokens after the last layer, before the last norm.
[[nodiscard]] zoo::Tokens add_vision(zoo::Blocks& b, const VisionEncoder& v);
[[nodiscard]] zoo::Features first_token(zoo::Blocks& b, const std::string& name, zoo::Tokens x);

}  // namespace plimsoll::network::transformers
