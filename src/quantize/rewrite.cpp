#include "quantize/rewrite.hpp"

#include <algorithm>
#include <array>
#include <numeric>

#include <fmt/format.h>

#include "base/printable.hpp"
#include "quantize/edit.hpp"

namespace plimsoll::quantize {
namespace {

using network::DataType;
using network::kNoTensor;
using network::Network;
using network::Operator;
using network::TensorId;

/// They only choose among the numbers they are given, or move them: levels stay what they are.
bool keeps_levels(std::string_view type) {
  static constexpr std::array<std::string_view, 6> kKeeps = {"Flatten",   "MaxPool", "Reshape",
                                                             "Transpose", "Squeeze", "Unsqueeze"};
  return std::ranges::find(kKeeps, type) != kKeeps.end();
}

class Writer {
 public:
  Writer(const Model& model, const ReadFloats& read, const std::vector<Layer>& layers, const Options& options)
      : network_(model.network), read_(read), options_(options), edit_(model.network) {
    for (const Layer& layer : layers) layers_[layer.op] = &layer;
  }

  Result<Model> run(const std::map<TensorId, Range>& ranges) {
    PLIMSOLL_TRY(choose_levels(ranges));
    for (const TensorId id : network_.main().inputs)
      if (levels_.contains(id)) write_pair(id, id, kNoTensor);
    const auto& operators = edit_.operators();
    for (std::uint32_t i = 0; i < operators.size(); ++i) PLIMSOLL_TRY(write(operators[i], i));
    return std::move(edit_).finish();
  }

 private:
  Status choose_levels(const std::map<TensorId, Range>& ranges) {
    const auto add = [&](TensorId id) -> Status {
      const auto range = ranges.find(id);
      if (range == ranges.end()) return fail("the range of {} is not known", quote(network_.name_of(id)));
      levels_[id] = levels_of(range->second);
      return {};
    };
    for (const auto& [op, layer] : layers_) {
      PLIMSOLL_TRY(add(layer->input));
      PLIMSOLL_TRY(add(layer->output));
    }
    for (const Operator& op : network_.main().operators) {
      if (!keeps_levels(network_.type_of(op)) || network_.inputs(op).empty()) continue;
      const auto from = levels_.find(network_.inputs(op)[0]), to = levels_.find(network_.outputs(op)[0]);
      if (from != levels_.end() && to != levels_.end()) to->second = from->second;
    }
    return {};
  }

  /// QuantizeLinear of `made`, and back; from now on what reads `id` reads the result.
  void write_pair(TensorId id, TensorId made, TensorId result) {
    const Levels levels = levels_.at(id);
    // Short names: of a small network they are a tenth of the file.
    const std::string number = fmt::format("{}", ++numbered_);
    const TensorId scale = scalar<float>("s" + number, DataType::float32, levels.scale);
    const TensorId zero = scalar<std::uint8_t>("z" + number, DataType::uint8, levels.zero);
    const TensorId quantized = edit_.add("QuantizeLinear", "q" + number, {made, scale, zero}, {});
    instead_[id] = edit_.add("DequantizeLinear", "d" + number, {quantized, scale, zero}, {}, result);
  }

  template <class T>
  TensorId scalar(const std::string& name, DataType type, T value) {
    return edit_.store<T>(name, type, {}, std::span<const T>(&value, 1), network::Role::buffer);
  }

  Status write(const Operator& op, std::uint32_t index) {
    std::vector<TensorId> inputs, outputs, quantized;
    for (const TensorId id : network_.inputs(op)) {
      const auto found = instead_.find(id);
      inputs.push_back(found == instead_.end() ? id : found->second);
    }
    if (const auto layer = layers_.find(index); layer != layers_.end())
      PLIMSOLL_TRY(replace_weights(*layer->second, op, inputs));
    const auto& ends = network_.main().outputs;
    for (const TensorId id : network_.outputs(op)) {
      const bool end = id != kNoTensor && std::ranges::find(ends, id) != ends.end();
      const bool pair = id != kNoTensor && levels_.contains(id);
      outputs.push_back(end && pair ? edit_.tensor(std::string(network_.name_of(id)) + "_float") : id);
      if (pair) quantized.push_back(id);
    }
    edit_.keep(op, inputs, outputs);
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const TensorId id = network_.outputs(op)[i];
      if (id != kNoTensor && levels_.contains(id))
        write_pair(id, outputs[i], outputs[i] == id ? kNoTensor : id);
    }
    return {};
  }

  Status replace_weights(const Layer& layer, const Operator& op, std::vector<TensorId>& inputs) {
    Result<std::vector<float>> weight = read_(layer.weight);
    PLIMSOLL_TRY(weight);
    std::vector<std::int64_t> dims = extents_of(network_, layer.weight);
    if (layer.turned) {
      *weight = turned(*weight, dims[0], dims[1]);
      std::swap(dims[0], dims[1]);
    }
    const std::int64_t axis = axis_of(layer, op);
    const auto product = [&](std::size_t from, std::size_t to) {
      return std::accumulate(dims.begin() + static_cast<std::ptrdiff_t>(from),
                             dims.begin() + static_cast<std::ptrdiff_t>(to), std::int64_t{1},
                             std::multiplies<>());
    };
    const auto at = static_cast<std::size_t>(axis);
    const Channels channels{product(0, at), dims[at], product(at + 1, dims.size())};
    const float input_scale = levels_.at(layer.input).scale;
    std::vector<float> bias, floors;
    if (layer.bias != kNoTensor) {
      Result<std::vector<float>> read = read_(layer.bias);
      PLIMSOLL_TRY(read);
      bias = *std::move(read);
      for (const float b : bias) floors.push_back(bias_scale_floor(b, input_scale));
    }
    if (std::ssize(*weight) != channels.outer * channels.channels * channels.inner ||
        (!bias.empty() && std::ssize(bias) != channels.channels))
      return fail("{}: its weights are not as many as its shape says", describe(network_, op));
    const WeightLevels levels =
        quantize_weight(*weight, channels, options_.reduced ? kMostReducedLevel : kMostLevel, floors);
    inputs[1] = dequantized<std::int8_t>(std::string(network_.name_of(layer.weight)), DataType::int8, dims,
                                         levels.levels, levels.scales, axis);
    if (bias.empty()) return {};
    std::vector<std::int32_t> whole;
    std::vector<float> scales;
    for (std::size_t c = 0; c < bias.size(); ++c) {
      scales.push_back(input_scale * levels.scales[c]);
      whole.push_back(bias_level(bias[c], input_scale, levels.scales[c]));
    }
    inputs[2] = dequantized<std::int32_t>(std::string(network_.name_of(layer.bias)), DataType::int32,
                                          std::span(&channels.channels, 1), whole, scales, 0);
    return {};
  }

  template <class T>
  TensorId dequantized(const std::string& name, DataType type, std::span<const std::int64_t> dims,
                       const std::vector<T>& levels, const std::vector<float>& scales, std::int64_t axis) {
    const std::int64_t channels = std::ssize(scales);
    const std::span<const std::int64_t> one(&channels, 1);
    const TensorId stored = edit_.store<T>(name, type, dims, levels, network::Role::parameter);
    const std::string number = fmt::format("{}", ++numbered_);
    const TensorId scale =
        edit_.store<float>("s" + number, DataType::float32, one, scales, network::Role::buffer);
    // Levels around zero need no zero point.
    return edit_.add("DequantizeLinear", "d" + number, {stored, scale}, {{"axis", axis}});
  }

  /// Of the outputs.
  [[nodiscard]] std::int64_t axis_of(const Layer& layer, const Operator& op) const {
    if (layer.kind == Layer::Kind::convolution) return 0;
    if (layer.kind == Layer::Kind::product) return 1;
    const network::Attribute* turn = network_.find(op, "transB");
    return turn != nullptr && turn->integer != 0 ? 0 : 1;
  }

  static std::vector<float> turned(const std::vector<float>& m, std::int64_t rows, std::int64_t columns) {
    std::vector<float> out(m.size());
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t c = 0; c < columns; ++c)
        out[static_cast<std::size_t>(c * rows + r)] = m[static_cast<std::size_t>(r * columns + c)];
    return out;
  }

  const Network& network_;
  const ReadFloats& read_;
  const Options& options_;
  Edit edit_;
  std::map<std::uint32_t, const Layer*> layers_;
  std::map<TensorId, Levels> levels_;
  std::map<TensorId, TensorId> instead_;
  int numbered_ = 0;
};

}  // namespace

Result<Model> quantize(const Model& model, const ReadFloats& read, const std::vector<Layer>& layers,
                       const std::map<TensorId, Range>& ranges, const Options& options) {
  Result<Model> written = Writer(model, read, layers, options).run(ranges);
  if (!written) return written;
  for (const auto& [id, bytes] : model.contents)
    if (std::ranges::find(written->network.main().weights, id) != written->network.main().weights.end())
      written->contents.emplace(id, bytes);
  return written;
}

}  // namespace plimsoll::quantize
