#include <string_view>

#include "network/saturating.hpp"
#include "network/transformers/decoder.hpp"

namespace plimsoll::network::transformers {
namespace {

Status within(std::string_view what, std::int64_t n, std::int64_t least, std::int64_t most) {
  if (n < least || n > most) return fail("{} is {}; it must be between {} and {}", what, n, least, most);
  return {};
}

Status check_attention(const Attention& a, std::int64_t rotary) {
  PLIMSOLL_TRY(within("the number of heads", a.heads, 1, kMostHeads));
  PLIMSOLL_TRY(within("the number of key heads", a.key_heads, 1, kMostHeads));
  PLIMSOLL_TRY(within("the size of a head", a.head_size, 1, kMostHeads));
  PLIMSOLL_TRY(within("the size of a head's value", a.value_size, 0, kMostHeads));
  if (a.heads % a.key_heads != 0) return fail("{} heads cannot share {} heads of keys", a.heads, a.key_heads);
  PLIMSOLL_TRY(within("the width of all heads", product(a.heads, a.head_size), 1, kMostHidden));
  PLIMSOLL_TRY(within("the width of all values", product(a.heads, a.value_size), 0, kMostHidden));
  if (a.latent) {
    PLIMSOLL_TRY(within("the rank of queries", a.latent->query_rank, 0, kMostWidth));
    PLIMSOLL_TRY(within("the rank of keys and values", a.latent->key_value_rank, 1, kMostWidth));
    PLIMSOLL_TRY(within("the part of a head that is turned", a.latent->rotary_size, 1, kMostHeads));
    PLIMSOLL_TRY(within("the part of a head that is not turned", a.latent->plain_size, 1, kMostHeads));
    if (a.latent->rotary_size + a.latent->plain_size != a.head_size)
      return fail("a head of {} values is not {} turned and {} others", a.head_size, a.latent->rotary_size,
                  a.latent->plain_size);
    if (a.heads != a.key_heads || a.value_size == 0)
      return fail("latent attention has as many heads of keys as of queries, and a size of values");
    if (rotary != a.latent->rotary_size)
      return fail("latent attention turns {} values, not {}", a.latent->rotary_size, rotary);
  }
  PLIMSOLL_TRY(within("the part of a head that is turned", rotary, 0, a.head_size));
  if (rotary % 2 != 0) return fail("rotary positions turn pairs; {} values are not", rotary);
  return {};
}

Status check_experts(const Experts& e) {
  PLIMSOLL_TRY(within("the number of experts", e.count, 1, kMostExperts));
  PLIMSOLL_TRY(within("the experts of a token", e.per_token, 1, e.count));
  PLIMSOLL_TRY(within("the width of an expert", e.hidden, 1, kMostHidden));
  return within("the width of the shared expert", e.shared_hidden, 0, kMostHidden);
}

}  // namespace

Status check(const Stack& s) {
  PLIMSOLL_TRY(within("the width", s.width, 1, kMostWidth));
  PLIMSOLL_TRY(within("the number of layers", static_cast<std::int64_t>(s.layers.size()), 1, kMostLayers));
  PLIMSOLL_TRY(check_attention(s.attention, s.rotary_size));
  bool experts = false, dense = false;
  for (const Layer& layer : s.layers) {
    PLIMSOLL_TRY(within("the window of a layer", layer.window, 0, kUnbounded - 1));
    (layer.experts ? experts : dense) = true;
  }
  if (experts) PLIMSOLL_TRY(check_experts(s.experts));
  if (dense) PLIMSOLL_TRY(within("the width of the MLP", s.mlp.hidden, 1, kMostHidden));
  if (s.attention.joined && s.attention.latent) return fail("latent attention has no joined projection");
  return {};
}

Status check(const Decoder& d) {
  PLIMSOLL_TRY(check(d.stack));
  PLIMSOLL_TRY(within("the vocabulary", d.vocabulary, 1, kMostVocabulary));
  PLIMSOLL_TRY(within("the number of positions", d.positions, 0, kMostVocabulary));
  PLIMSOLL_TRY(within("the positions left out", d.position_offset, 0, kMostVocabulary));
  return within("the width of the word table", d.embedding_width, 0, kMostWidth);
}

}  // namespace plimsoll::network::transformers
