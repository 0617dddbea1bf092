#pragma once
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/error.hpp"
#include "network/network.hpp"
#include "network/setting.hpp"
#include "network/transformers/decoder.hpp"
#include "network/transformers/encoder.hpp"
#include "network/transformers/speech.hpp"
#include "network/transformers/two_towers.hpp"
#include "network/transformers/vision.hpp"

namespace plimsoll::huggingface {

/// What a config.json describes.
using Architecture = std::variant<network::transformers::Decoder, network::transformers::TextEncoder,
                                  network::transformers::VisionEncoder, network::transformers::TwoTowers,
                                  network::transformers::SpeechModel>;

/// A note where a file has a quantization_config. What lies beside it may tell better.
inline constexpr std::string_view kQuantizationIgnored =
    "quantization_config is not followed: weights count as if they were not quantised";
inline constexpr std::string_view kQuantizationIgnoredInPart =
    "quantization_config is not followed: weights that did not match count as if they were not quantised";

struct Description {
  std::string model_type;
  Architecture architecture;
  std::vector<std::string> notes = {};  ///< what of the file was not followed
};

/// Every `model_type` that is known, by name.
[[nodiscard]] std::vector<std::string_view> known_model_types();

/// Reads the text of a config.json. Absent keys have the defaults of transformers. Fails where the text is
/// no JSON, a key's value is of a wrong kind or out of range, and where the model_type is not known.
[[nodiscard]] Result<Description> describe(std::string_view text);

/// The network that transformers' model of this description runs, weights in float32.
[[nodiscard]] Result<network::Network> build(const Description& description, std::string_view name,
                                             network::Mode mode);

}  // namespace plimsoll::huggingface
