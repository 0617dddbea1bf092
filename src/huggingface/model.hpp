#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "network/network.hpp"
#include "network/setting.hpp"

namespace plimsoll::huggingface {

struct Model {
  network::Network network;  ///< weights in float32; what files beside the config store may replace that
  std::vector<std::string> notes;
};

/// The configuration that a path means: a folder's config.json, or the JSON file itself. Empty where it is
/// neither.
[[nodiscard]] std::filesystem::path config_at(const std::filesystem::path& path);

/// Reads that file and builds what it describes.
[[nodiscard]] Result<Model> read(const std::filesystem::path& config, network::Mode mode);

}  // namespace plimsoll::huggingface
