#pragma once
#include <algorithm>
#include <span>
#include <string_view>
#include <vector>

#include "network/zoo/zoo.hpp"

namespace plimsoll::network::zoo {

// One function per family, each in a file of its own; zoo.cpp joins them.
[[nodiscard]] std::vector<Entry> alexnet_vgg_entries();
[[nodiscard]] std::vector<Entry> inception_entries();
[[nodiscard]] std::vector<Entry> resnet_entries();
[[nodiscard]] std::vector<Entry> mobilenet_entries();
[[nodiscard]] std::vector<Entry> efficientnet_entries();
[[nodiscard]] std::vector<Entry> densenet_squeezenet_entries();
[[nodiscard]] std::vector<Entry> vision_transformer_entries();
[[nodiscard]] std::vector<Entry> yolo_entries();
[[nodiscard]] std::vector<Entry> ssd_entries();
[[nodiscard]] std::vector<Entry> faster_rcnn_entries();
[[nodiscard]] std::vector<Entry> bert_entries();
[[nodiscard]] std::vector<Entry> gpt_entries();
[[nodiscard]] std::vector<Entry> llama_entries();
[[nodiscard]] std::vector<Entry> dlrm_entries();

inline constexpr std::string_view kClassification = "image classification";
inline constexpr std::string_view kDetection = "detection";
inline constexpr std::string_view kLanguage = "language";
inline constexpr std::string_view kRecommendation = "recommendation";

/// The row of a family's table of configurations; every entry was made from one, so that it is there.
template <class Row, std::size_t N>
[[nodiscard]] const Row& row_of(const Row (&table)[N], const Entry& entry) {
  return *std::ranges::find(table, entry.name, &Row::name);
}

}  // namespace plimsoll::network::zoo
