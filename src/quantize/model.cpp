#include "quantize/model.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <optional>

#include "base/printable.hpp"
#include "quantize/edit.hpp"

namespace plimsoll::quantize {
namespace {

using network::DataType;
using network::kNoTensor;
using network::Network;
using network::Operator;
using network::TensorId;

constexpr std::int64_t kLeastOpset = 13;
constexpr double kEpsilon = 1e-5;

Status check_opset(const Network& network) {
  const auto own = std::ranges::find(network.opsets, "", &network::Opset::domain);
  const std::int64_t version = own == network.opsets.end() ? 1 : own->version;
  if (version >= kLeastOpset) return {};
  return std::unexpected(
      Error{fmt::format("it is written in operator set {}, in which a quantised weight has one scale alone",
                        version),
            {},
            fmt::format("Export it again with opset_version={} or later.", kLeastOpset)});
}

Status check_not_quantized(const Network& network) {
  static constexpr std::array<std::string_view, 7> kQuantized = {
      "QuantizeLinear", "DequantizeLinear", "DynamicQuantizeLinear", "QLinearConv",
      "QLinearMatMul",  "ConvInteger",      "MatMulInteger"};
  for (const network::Graph& graph : network.graphs)
    for (const Operator& op : graph.operators)
      if (std::ranges::find(kQuantized, network.type_of(op)) != kQuantized.end())
        return std::unexpected(Error{"it is quantised already", describe(network, op),
                                     "Give the network that it was made from: its weights in float32."});
  return {};
}

class Inference {
 public:
  Inference(const Network& network, const ReadFloats& read)
      : network_(network), readers_(network), read_(read), edit_(network) {}

  Result<Model> run() {
    for (const Operator& op : network_.main().operators) find_folding(op);
    for (const Operator& op : edit_.operators()) PLIMSOLL_TRY(write(op));
    return std::move(edit_).finish();
  }

 private:
  struct Normalization {
    std::array<TensorId, 4> numbers;  ///< scale, shift, mean, variance
    double epsilon = kEpsilon;
    TensorId output = kNoTensor;
  };

  [[nodiscard]] bool is(const Operator& op, std::string_view type) const {
    return network_.type_of(op) == type && network_.domain_of(op).empty();
  }
  [[nodiscard]] TensorId stored_floats(TensorId id) const {
    const Readers::Stored found = readers_.stored(id);
    return found.turned || found.tensor == kNoTensor ||
                   network_.tensor(found.tensor).type != DataType::float32
               ? kNoTensor
               : found.tensor;
  }

  void find_folding(const Operator& op) {
    if (!is(op, "BatchNormalization")) return;
    const auto inputs = network_.inputs(op);
    if (inputs.size() < 5 || network_.outputs(op).empty()) return;
    const Operator* convolution = readers_.maker(inputs[0]);
    if (convolution == nullptr || !is(*convolution, "Conv") || readers_.reads(inputs[0]) != 1) return;
    const auto of = network_.inputs(*convolution);
    if (of.size() < 2 || stored_floats(of[1]) == kNoTensor) return;
    if (of.size() > 2 && of[2] != kNoTensor && stored_floats(of[2]) == kNoTensor) return;
    Normalization found{.numbers = {}, .output = network_.outputs(op)[0]};
    for (std::size_t i = 0; i < 4; ++i) {
      found.numbers[i] = stored_floats(inputs[i + 1]);
      if (found.numbers[i] == kNoTensor) return;
    }
    if (const network::Attribute* epsilon = network_.find(op, "epsilon")) found.epsilon = epsilon->real;
    folded_.emplace(network_.outputs(*convolution)[0], found);
    skipped_.insert(network_.outputs(op)[0]);
  }

  [[nodiscard]] TensorId now(TensorId id) const {
    for (auto found = instead_.find(id); found != instead_.end(); found = instead_.find(id))
      id = found->second;
    return id;
  }

  Status write(const Operator& op) {
    std::vector<TensorId> inputs, outputs;
    for (const TensorId id : network_.inputs(op)) inputs.push_back(now(id));
    for (const TensorId id : network_.outputs(op)) outputs.push_back(id);
    if (!outputs.empty() && skipped_.contains(outputs[0])) return {};
    const bool passes = is(op, "Identity") || is(op, "Dropout");
    const auto& ends = network_.main().outputs;
    if (passes && !inputs.empty() && !outputs.empty() && std::ranges::find(ends, outputs[0]) == ends.end() &&
        (outputs.size() < 2 || readers_.reads(outputs[1]) == 0)) {
      instead_[outputs[0]] = inputs[0];
      return {};
    }
    if (const auto found = folded_.find(outputs.empty() ? kNoTensor : outputs[0]); found != folded_.end())
      return write_folded(op, std::move(inputs), found->second);
    if (is(op, "BatchNormalization")) return write_plain_normalization(op, inputs, outputs);
    edit_.keep(op, inputs, outputs);
    return {};
  }

  Status write_plain_normalization(const Operator& op, std::span<const TensorId> inputs,
                                   std::span<const TensorId> outputs) {
    double epsilon = kEpsilon;
    if (const network::Attribute* given = network_.find(op, "epsilon")) epsilon = given->real;
    if (inputs.size() != 5 || outputs.empty())
      return fail("{}: has {} inputs", describe(network_, op), inputs.size());
    edit_.add("BatchNormalization", std::string(network_.name_of(op)),
              {inputs[0], inputs[1], inputs[2], inputs[3], inputs[4]}, {{"epsilon", epsilon}}, outputs[0]);
    return {};
  }

  Status write_folded(const Operator& op, std::vector<TensorId> inputs, const Normalization& n) {
    const auto own = network_.inputs(op);
    const TensorId weight = stored_floats(own[1]);
    Result<std::vector<float>> numbers = read_(weight);
    PLIMSOLL_TRY(numbers);
    std::array<std::vector<float>, 4> of;
    for (std::size_t i = 0; i < 4; ++i) {
      Result<std::vector<float>> read = read_(n.numbers[i]);
      PLIMSOLL_TRY(read);
      of[i] = *std::move(read);
    }
    const std::vector<std::int64_t> dims = extents_of(network_, weight);
    const std::size_t channels = dims.empty() ? 0 : static_cast<std::size_t>(dims[0]);
    std::vector<float> bias(channels, 0);
    if (own.size() > 2 && own[2] != kNoTensor) {
      Result<std::vector<float>> read = read_(stored_floats(own[2]));
      PLIMSOLL_TRY(read);
      bias = *std::move(read);
    }
    if (channels == 0 || bias.size() != channels || numbers->size() % channels != 0 ||
        std::ranges::any_of(of, [&](const auto& v) { return v.size() != channels; }))
      return fail("{}: its normalisation has other channels than it", describe(network_, op));
    const std::size_t inner = numbers->size() / channels;
    for (std::size_t c = 0; c < channels; ++c) {
      const double factor =
          static_cast<double>(of[0][c]) / std::sqrt(static_cast<double>(of[3][c]) + n.epsilon);
      for (std::size_t i = c * inner; i < (c + 1) * inner; ++i)
        (*numbers)[i] = static_cast<float>(static_cast<double>((*numbers)[i]) * factor);
      bias[c] = static_cast<float>((static_cast<double>(bias[c]) - static_cast<double>(of[2][c])) * factor +
                                   static_cast<double>(of[1][c]));
    }
    const std::string name(network_.name_of(weight));
    inputs.resize(3, kNoTensor);
    inputs[1] = edit_.store<float>(name, DataType::float32, dims, *numbers, network::Role::parameter);
    inputs[2] = edit_.store<float>(name + "_bias", DataType::float32, std::span(dims).first(1), bias,
                                   network::Role::parameter);
    edit_.keep(op, inputs, std::span(&n.output, 1));
    return {};
  }

  const Network& network_;
  Readers readers_;
  const ReadFloats& read_;
  Edit edit_;
  std::map<TensorId, Normalization> folded_;  ///< by what the convolution made
  std::set<TensorId> skipped_;                ///< what normalisations made that are in a convolution now
  std::map<TensorId, TensorId> instead_;
};

}  // namespace

ReadFloats floats_of(const Model& model, const ReadFloats& original) {
  return [&model, original](TensorId id) -> Result<std::vector<float>> {
    const auto found = model.contents.find(id);
    if (found == model.contents.end()) return original(id);
    std::vector<float> out(found->second.size() / sizeof(float));
    std::memcpy(out.data(), found->second.data(), out.size() * sizeof(float));
    return out;
  };
}

Result<Model> for_inference(const Network& network, const ReadFloats& read) {
  PLIMSOLL_TRY(check_not_quantized(network));
  PLIMSOLL_TRY(check_opset(network));
  return Inference(network, read).run();
}

}  // namespace plimsoll::quantize
