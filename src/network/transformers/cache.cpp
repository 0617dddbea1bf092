#include <algorithm>

#include "network/saturating.hpp"
#include "network/transformers/stack.hpp"

namespace plimsoll::network::transformers {

std::vector<LayerCache> cache_of(const Stack& stack) {
  const Attention& a = stack.attention;
  const std::int64_t value_size = a.value_size > 0 ? a.value_size : a.head_size;
  const std::int64_t values = a.latent ? sum(a.latent->key_value_rank, a.latent->rotary_size)
                                       : product(a.key_heads, sum(a.head_size, value_size));
  std::vector<LayerCache> caches;
  for (const Layer& layer : stack.layers) caches.push_back({stack.causal ? values : 0, layer.window});
  return caches;
}

std::int64_t cache_bytes(const Stack& stack, std::int64_t tokens, std::int64_t bytes_per_value) {
  std::int64_t values = 0;
  for (const LayerCache& layer : cache_of(stack)) {
    const std::int64_t kept = layer.window > 0 ? std::min(tokens, layer.window) : tokens;
    values = sum(values, product(kept, layer.values_per_token));
  }
  return product(values, bytes_per_value);
}

}  // namespace plimsoll::network::transformers
