#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "network/network.hpp"
#include "network/transformers/stack.hpp"

namespace plimsoll::network::transformers {

/// A linear layer at the end: over every token, or over one vector of each sample.
struct ClassHead {
  enum class From : std::uint8_t { tokens, first, pooled };
  From from = From::tokens;
  std::int64_t classes = 0;
  std::string name = "classifier";
  std::string before = {};  ///< a linear layer and a ReLU before it (DistilBERT); empty: none
};

/// Words guessed from every token: a linear layer, an activation, a norm, and the word table.
struct WordHead {
  std::string dense, norm, bias;  ///< `bias`: the whole name
  bool tied = true;
  std::string table = {};     ///< the whole name of a table of its own, where it is not tied
  std::string own_bias = {};  ///< of a bias that such a table brings; `bias` is then there, unused (BERT)
};

/// A text encoder: BERT, DistilBERT.
struct TextEncoder {
  Stack stack = {};
  std::int64_t vocabulary = 0;
  std::int64_t positions = 0;
  std::int64_t token_types = 0;  ///< 0: none
  double embedding_dropout = 0;
  std::string pooler = {};  ///< a linear layer and tanh over the first token; empty: none
  std::optional<WordHead> words = {};
  std::vector<ClassHead> heads = {};
  std::string prefix = {};  ///< before "embeddings." and the pooler
};

[[nodiscard]] Status check(const TextEncoder& encoder);

/// Inputs "input_ids" and, with token types, "token_type_ids", batch x sequence; nothing is padded. Results:
/// the words, else the heads in their order, else the tokens and what the pooler makes.
[[nodiscard]] Result<Network> build(const TextEncoder& encoder, std::string_view name, Mode mode);

/// x plus the first rows of a learned table, as many as `ids` (batch x sequence) has tokens.
[[nodiscard]] zoo::Tokens add_positions(zoo::Blocks& b, const std::string& name, zoo::Tokens x, TensorId ids,
                                        std::int64_t rows, std::int64_t skipped = 0);

}  // namespace plimsoll::network::transformers
