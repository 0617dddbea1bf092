#pragma once
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "gguf/file.hpp"
#include "network/transformers/decoder.hpp"

namespace plimsoll::gguf {

/// Every "general.architecture" that is known, by name.
[[nodiscard]] std::vector<std::string_view> known_architectures();

/// The transformer that a file holds, from its metadata; what those leave open (biases, a head of its own,
/// joined projections) from which tensors there are. Weights are called as in the file. Fails where the
/// architecture is not known, and where a key that it needs is absent or of a wrong kind.
[[nodiscard]] Result<network::transformers::Decoder> describe(const File& file);

}  // namespace plimsoll::gguf
