#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/embedded.hpp"
#include "base/error.hpp"

namespace plimsoll {
/// data/published_accuracy.csv as it was when the program was built.
[[nodiscard]] std::span<const EmbeddedFile> embedded_published();
}  // namespace plimsoll

namespace plimsoll::hardware {

/// How often a network was right on ImageNet-1K, as its publisher says. Never mixed with what was measured
/// here.
struct PublishedAccuracy {
  std::string collection;  ///< "torchvision"
  std::string network;     ///< as the zoo calls it where it has it: "resnet50"
  std::string pair;        ///< rows of one pair are of one network in several precisions
  std::string precision;   ///< "fp32", "int8"
  std::string how;         ///< quantised after training, or while it was trained; empty where nobody says
  std::optional<int> input;
  double top1 = 0, top5 = 0;  ///< shares
  std::optional<double> bytes, seconds;
  std::string on;  ///< what the seconds were measured on
  std::string source;
};

[[nodiscard]] Result<std::vector<PublishedAccuracy>> parse_published(std::string_view text,
                                                                     std::string_view where);
[[nodiscard]] const Result<std::vector<PublishedAccuracy>>& built_in_published();

}  // namespace plimsoll::hardware
