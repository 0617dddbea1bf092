#include "huggingface/families.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/printable.hpp"
#include "base/suggest.hpp"

namespace plimsoll::huggingface {
namespace {

using network::zoo::Activation;

constexpr std::size_t kMostBytes = 16 << 20;  // names of 20,000 classes take two
constexpr int kMostLevels = 32;

struct NamedActivation {
  std::string_view name;
  Activation activation;
};
constexpr NamedActivation kActivations[] = {
    {"silu", Activation::silu},
    {"swish", Activation::silu},
    {"gelu", Activation::gelu},
    {"gelu_python", Activation::gelu},
    {"gelu_new", Activation::gelu_tanh},
    {"gelu_fast", Activation::gelu_tanh},
    {"gelu_pytorch_tanh", Activation::gelu_tanh_kernel},
    {"gelu_accurate", Activation::gelu_tanh},
    {"quick_gelu", Activation::quick_gelu},
    {"relu", Activation::relu},
    {"relu6", Activation::relu6},
    {"leaky_relu", Activation::leaky_relu},
    {"sigmoid", Activation::sigmoid},
    {"tanh", Activation::tanh},
    {"linear", Activation::none},
};

std::vector<Family> all_families() {
  std::vector<Family> all;
  for (const auto some : {decoder_families(), expert_families(), encoder_families()})
    all.insert(all.end(), some.begin(), some.end());
  std::ranges::sort(all, {}, &Family::model_type);
  return all;
}

const std::vector<Family>& families() {
  static const std::vector<Family> kAll = all_families();
  return kAll;
}

std::unexpected<Error> unknown(std::string_view model_type) {
  const std::vector<std::string_view> known = known_model_types();
  const std::string near = did_you_mean(model_type, known);
  Error error{fmt::format("model_type {} is not known", quote(model_type))};
  error.hint = fmt::format("{}{}Known are {}.", near, near.empty() ? "" : " ", fmt::join(known, ", "));
  return std::unexpected(std::move(error));
}

}  // namespace

Activation activation(const Config& config, std::string_view key, std::string_view otherwise) {
  const std::string name = config.text(key, otherwise);
  const auto* found = std::ranges::find(kActivations, name, &NamedActivation::name);
  if (found != std::end(kActivations)) return found->activation;
  config.complain(key, fmt::format("the activation {} is not known", quote(name)));
  return Activation::silu;
}

std::vector<network::transformers::Layer> read_layers(const Config& config, std::string_view key,
                                                      std::int64_t otherwise) {
  const std::int64_t count = config.whole(key, otherwise);
  const bool fits = count <= network::transformers::kMostLayers;
  if (!fits)
    config.complain(key,
                    fmt::format("{} layers are more than {}", count, network::transformers::kMostLayers));
  return std::vector<network::transformers::Layer>(fits ? static_cast<std::size_t>(count) : 1);
}

std::int64_t size_of_heads(const Config& config, std::string_view key, std::int64_t width,
                           std::int64_t heads) {
  if (heads > 0 && width % heads == 0) return width / heads;
  config.complain(key, fmt::format("{} heads cannot share a width of {}", heads, width));
  return 1;
}

std::string architecture(const Config& config) {
  const std::vector<std::string> names = config.texts("architectures");
  return names.empty() ? std::string() : names.front();
}

std::vector<std::string_view> known_model_types() {
  std::vector<std::string_view> names;
  for (const Family& family : families()) names.push_back(family.model_type);
  return names;
}

Result<Description> describe(std::string_view text) {
  const Result<job::Json> json = job::parse_within(text, kMostBytes, kMostLevels);
  PLIMSOLL_TRY(json);
  std::optional<Error> error;
  const Config config(*json, "", error);
  if (error) return std::unexpected(std::move(*error));
  if (!config.has("model_type")) {
    Error none{"it has no model_type: which architecture it is cannot be known"};
    none.hint = "A config.json of transformers has one; that of another library is not read.";
    return std::unexpected(std::move(none));
  }
  const std::string model_type = config.text("model_type", "");
  if (error) return std::unexpected(std::move(*error));
  const auto family = std::ranges::find(families(), model_type, &Family::model_type);
  if (family == families().end()) return unknown(model_type);
  Description d{.model_type = model_type, .architecture = {}, .notes = {}};
  d.architecture = family->read(config, *family, d.notes);
  if (error) return std::unexpected(std::move(*error));
  if (config.has("quantization_config")) d.notes.emplace_back(kQuantizationIgnored);
  return d;
}

Result<network::Network> build(const Description& description, std::string_view name, network::Mode mode) {
  return std::visit(
      [&](const auto& architecture) { return network::transformers::build(architecture, name, mode); },
      description.architecture);
}

}  // namespace plimsoll::huggingface
