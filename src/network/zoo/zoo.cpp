#include "network/zoo/zoo.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/printable.hpp"
#include "base/suggest.hpp"
#include "network/zoo/arguments.hpp"
#include "network/zoo/families.hpp"

namespace plimsoll::network::zoo {
namespace {

/// Another name for an entry, with the options it stands for.
struct Alias {
  std::string_view name;
  std::string_view entry;
  std::string_view options = {};
};

constexpr Alias kAliases[] = {
    {"mobilenet_v1_1.0", "mobilenet_v1", "alpha=1"},
    {"mobilenet_v1_0.75", "mobilenet_v1", "alpha=0.75"},
    {"mobilenet_v1_0.5", "mobilenet_v1", "alpha=0.5"},
    {"mobilenet_v1_0.50", "mobilenet_v1", "alpha=0.5"},
    {"mobilenet_v1_0.25", "mobilenet_v1", "alpha=0.25"},
    {"mobilenet_v1_1.0_224", "mobilenet_v1", "alpha=1,input=224x224"},
    {"mobilenet_v1_0.5_160", "mobilenet_v1", "alpha=0.5,input=160x160"},
    {"mobilenet_v1_0.25_128", "mobilenet_v1", "alpha=0.25,input=128x128"},
    {"wide_resnet50", "wide_resnet50_2"},
    {"wide_resnet101", "wide_resnet101_2"},
    {"resnext50", "resnext50_32x4d"},
    {"resnext101", "resnext101_32x8d"},
    {"vit_base_16", "vit_b_16"},
    {"vit_base_patch16_224", "vit_b_16"},
    {"vit_large_16", "vit_l_16"},
    {"cait_s24_224", "cait_s24"},
    {"cait_m36_384", "cait_m36"},
    {"yolo_v3", "yolov3"},
    {"tiny_yolov3", "yolov3_tiny"},
    {"yolo_v3_tiny", "yolov3_tiny"},
    {"ssd300", "ssd300_vgg16"},
    {"ssd", "ssd300_vgg16"},
    {"faster_rcnn", "fasterrcnn_resnet50_fpn"},
    {"bert", "bert_base"},
    {"bert_base_uncased", "bert_base"},
    {"bert_large_uncased", "bert_large"},
    {"gpt2_small", "gpt2"},
    {"gpt3_175b", "gpt3"},
    {"llama2", "llama2_7b"},
    {"llama3", "llama3_8b"},
};

std::vector<Entry> join_families() {
  std::vector<Entry> all;
  for (const auto& family :
       {alexnet_vgg_entries(), inception_entries(), resnet_entries(), densenet_squeezenet_entries(),
        mobilenet_entries(), efficientnet_entries(), vision_transformer_entries(), yolo_entries(),
        ssd_entries(), faster_rcnn_entries(), bert_entries(), gpt_entries(), llama_entries(), dlrm_entries()})
    all.insert(all.end(), family.begin(), family.end());
  return all;
}

/// A name as it is compared: letters in lower case and digits, separators left out.
std::string plain(std::string_view name) {
  std::string out;
  for (const char c : name) {
    if (c == '-' || c == '_' || c == '.' || c == ' ') continue;
    out += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return out;
}

std::string_view name_part(std::string_view spec) {
  return spec.substr(0, spec.find(':'));
}

const Entry* find_entry(std::string_view plain_name) {
  for (const Entry& entry : entries())
    if (plain(entry.name) == plain_name) return &entry;
  return nullptr;
}

const Alias* find_alias(std::string_view plain_name) {
  for (const Alias& alias : kAliases)
    if (plain(alias.name) == plain_name) return &alias;
  return nullptr;
}

std::unexpected<Error> unknown(std::string_view name) {
  std::vector<std::string_view> names;
  for (const Entry& entry : entries()) names.push_back(entry.name);
  for (const Alias& alias : kAliases) names.push_back(alias.name);
  const std::string hint = did_you_mean(name, names);
  return std::unexpected(
      Error{fmt::format("there is no network named {} in the zoo", quote(name)),
            {},
            hint.empty() ? "`plimsoll zoo` lists them" : hint + " `plimsoll zoo` lists them all."});
}

}  // namespace

std::span<const Entry> entries() {
  static const std::vector<Entry> kEntries = join_families();
  return kEntries;
}

const Entry* find(std::string_view spec) {
  const std::string name = plain(name_part(spec));
  if (const Entry* entry = find_entry(name)) return entry;
  const Alias* alias = find_alias(name);
  return alias ? find_entry(plain(alias->entry)) : nullptr;
}

bool names_zoo_model(std::string_view spec) {
  return find(spec) != nullptr;
}

Result<Network> build(std::string_view spec, Mode mode) {
  const std::string_view name = name_part(spec);
  std::string options(name.size() < spec.size() ? spec.substr(name.size() + 1) : std::string_view());
  const std::string wanted = plain(name);
  const Entry* entry = find_entry(wanted);
  if (!entry) {
    const Alias* alias = find_alias(wanted);
    if (!alias) return unknown(name);
    entry = find_entry(plain(alias->entry));
    if (!entry) return unknown(alias->entry);
    // What the person writes out wins over what the alias stands for.
    for (std::string_view rest = alias->options; !rest.empty();) {
      const std::string_view item = rest.substr(0, rest.find(','));
      rest.remove_prefix(std::min(rest.size(), item.size() + 1));
      if (options.find(item.substr(0, item.find('=') + 1)) == std::string::npos)
        options = options.empty() ? std::string(item) : fmt::format("{},{}", options, item);
    }
  }
  auto arguments = Arguments::parse(*entry, options);
  if (!arguments) return std::unexpected(std::move(arguments.error()).within(entry->name));
  auto network = entry->build(*entry, *arguments, mode);
  if (!network) return std::unexpected(std::move(network.error()).within(entry->name));
  return network;
}

}  // namespace plimsoll::network::zoo
