#pragma once
#include <cstdint>
#include <span>
#include <string_view>

#include "base/error.hpp"
#include "network/network.hpp"
#include "network/setting.hpp"

/// The named architectures: Networks as torchvision's or Hugging Face's modules export them, nothing folded.
namespace plimsoll::network::zoo {

class Arguments;

/// One "name=value" that a spec may carry after the colon.
struct Option {
  enum class Kind : std::uint8_t { integer, real, image };
  std::string_view name;
  std::string_view meaning;
  std::string_view otherwise;  ///< the default, as text
  Kind kind = Kind::integer;
  double low = 1;  ///< both ends included; of each side for an image
  double high = 1;
};

struct Entry {
  std::string_view name;
  std::string_view title;
  std::string_view family;  ///< "image classification", "detection", "language", "recommendation"
  std::string_view input;   ///< by default, of one sample: "3x224x224", "sequence (at most 1024)"
  std::span<const Option> options;
  Result<Network> (*build)(const Entry&, const Arguments&, Mode) = nullptr;
};

/// Every architecture, by family and then in the order in which people list them.
[[nodiscard]] std::span<const Entry> entries();

/// Whether the name part of "resnet50:classes=10" is an entry or an alias of one. Case, '-', '_' and '.' do
/// not matter: "ResNet-50" is resnet50.
[[nodiscard]] bool names_zoo_model(std::string_view spec);

/// "resnet50", "resnet50:classes=10,input=1x32x32", "mobilenet_v1:alpha=0.25". The batch is the symbol
/// "batch"; the tokens of a language model are the symbol "sequence".
[[nodiscard]] Result<Network> build(std::string_view spec, Mode mode);

}  // namespace plimsoll::network::zoo
