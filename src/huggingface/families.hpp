#pragma once
#include <optional>
#include <string_view>

#include "huggingface/config.hpp"
#include "huggingface/description.hpp"
#include "network/zoo/blocks.hpp"

namespace plimsoll::huggingface {

/// One model_type: how its keys are read. Errors go to the Config.
struct Family {
  std::string_view model_type;
  Architecture (*read)(const Config& config, const Family& family, std::vector<std::string>& notes);
};

// One function per kind, each in a file of its own; families.cpp joins them.
[[nodiscard]] std::span<const Family> decoder_families();
[[nodiscard]] std::span<const Family> expert_families();
[[nodiscard]] std::span<const Family> encoder_families();

/// By the name that transformers gives it; SiLU, and an error, where it is not known.
[[nodiscard]] network::zoo::Activation activation(const Config& config, std::string_view key,
                                                  std::string_view otherwise);
/// So many equal layers. They are made before they are checked: a hostile number makes one, and an error.
[[nodiscard]] std::vector<network::transformers::Layer> read_layers(const Config& config,
                                                                    std::string_view key,
                                                                    std::int64_t otherwise);
/// Width over heads; an error, at `key`, where they do not share it.
[[nodiscard]] std::int64_t size_of_heads(const Config& config, std::string_view key, std::int64_t width,
                                         std::int64_t heads);
/// The class that "architectures" names; empty where none is.
[[nodiscard]] std::string architecture(const Config& config);

}  // namespace plimsoll::huggingface
