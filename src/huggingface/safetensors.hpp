#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "job/safetensors.hpp"
#include "network/network.hpp"

namespace plimsoll::huggingface {

/// The weights that lie beside a config.json, by name: type, extents and bytes, from the files' headers.
struct Checkpoint {
  std::map<std::string, job::StoredArray> weights;
  std::int64_t files = 0;
};

/// Which file has each weight, as a model.safetensors.index.json says. Files are plain names: they lie beside
/// the index.
[[nodiscard]] Result<std::map<std::string, std::string>> read_index(std::string_view text);

/// What all files of a checkpoint may hold together, several times what the largest that are published do.
struct CheckpointLimits {
  std::uint64_t header_bytes = 400'000'000;
  std::size_t tensors = std::size_t{1} << 20;
};

/// Reads model.safetensors, or the shards that model.safetensors.index.json names. Nothing where the folder
/// has neither. A file that, links followed, lies elsewhere is refused, unless it lies in the "blobs" of the
/// cache that the folder is a snapshot of; so is what is no regular file.
[[nodiscard]] Result<std::optional<Checkpoint>> read_checkpoint(const std::filesystem::path& folder,
                                                                const CheckpointLimits& limits = {});

struct Matches {
  std::vector<std::string> notes;  ///< what did not match, in words
  std::size_t unmatched = 0;       ///< weights of the network that keep the type they had
};

/// Gives the network's weights the types and bytes of the checkpoint. A weight of the network is that of the
/// checkpoint with the same name, or with the same name once one of the two has lost its first part
/// ("model.", "transformer."), and with the same extents in some order. A layer's experts, which a checkpoint
/// has one by one, are together those that a network has stacked; what a checkpoint has beside an expert's
/// "weight" (scales of FP8) is none of them.
/// Numbers in 16 to 64 bits are converted to what is computed in when they are loaded; whatever is smaller
/// stays as it is stored.
[[nodiscard]] Matches apply(const Checkpoint& checkpoint, network::Network& network);

}  // namespace plimsoll::huggingface
