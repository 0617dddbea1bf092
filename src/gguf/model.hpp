#pragma once
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "gguf/file.hpp"
#include "network/network.hpp"
#include "network/setting.hpp"

namespace plimsoll::gguf {

struct Model {
  network::Network network;  ///< its weights stay as they are stored
  std::vector<std::string> notes;
};

/// The network that a file holds, every weight with the bytes that it takes there. Fails where a tensor that
/// the architecture needs is absent or of other extents, by its name.
[[nodiscard]] Result<Model> build(const File& file, std::string_view name, network::Mode mode);

/// Whether a file begins as GGUF files do.
[[nodiscard]] bool is_gguf(const std::filesystem::path& path);

[[nodiscard]] Result<Model> read_model(const std::filesystem::path& path, network::Mode mode);

}  // namespace plimsoll::gguf
