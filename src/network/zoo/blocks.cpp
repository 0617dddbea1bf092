#include "network/zoo/blocks.hpp"

#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace plimsoll::network::zoo {

Blocks::Blocks(std::string_view network_name, Mode mode, std::int64_t opset)
    : builder_(network_name), mode_(mode) {
  builder_.opset("", opset);
}

Image Blocks::image_input(std::string_view name, const ImageShape& shape) {
  const TensorId id =
      builder_.input(name, DataType::float32,
                     {batch(), Dim::of(shape.channels), Dim::of(shape.height), Dim::of(shape.width)});
  return {id, shape.channels, {shape.height, shape.width}};
}

Result<Network> Blocks::finish() && {
  if (error_) return std::unexpected(std::move(*error_));
  return std::move(builder_).finish();
}

void Blocks::refuse(std::string message) {
  if (!error_) error_ = Error{std::move(message)};
}

TensorId Blocks::add_operator(std::string_view type, std::string_view name, std::span<const TensorId> inputs,
                              std::span<const AttributeValue> attributes) {
  if (weights_only_) return kNoTensor;
  const TensorId out = builder_.tensor(name);
  builder_.add(type, "", name, inputs, std::span(&out, 1), attributes);
  return out;
}

TensorId Blocks::add(std::string_view type, std::string_view name, std::span<const TensorId> inputs,
                     std::initializer_list<AttributeValue> attributes) {
  return add_operator(type, name, inputs, std::span(attributes.begin(), attributes.size()));
}

std::vector<TensorId> Blocks::add_many(std::string_view type, std::string_view name,
                                       std::initializer_list<TensorId> inputs, std::size_t outputs,
                                       std::initializer_list<AttributeValue> attributes) {
  std::vector<TensorId> out(outputs, kNoTensor);
  if (weights_only_) return out;
  for (std::size_t i = 0; i < outputs; ++i) out[i] = builder_.tensor(fmt::format("{}.{}", name, i));
  builder_.add(type, "", name, std::span(inputs.begin(), inputs.size()), out,
               std::span(attributes.begin(), attributes.size()));
  return out;
}

void Blocks::output(TensorId id) {
  if (id != kNoTensor) builder_.output(id);
}

// ---- Constants

TensorId Blocks::integers(std::span<const std::int64_t> values) {
  const std::string name = fmt::format("constant.[{}]", fmt::join(values, ","));
  const auto [found, fresh] = constants_.try_emplace(name, kNoTensor);
  if (!fresh) return found->second;
  const Dim extent = Dim::of(static_cast<std::int64_t>(values.size()));
  found->second = builder_.weight(name, DataType::int64, std::span(&extent, 1), Role::buffer);
  std::vector<Scalar> scalars;
  for (const std::int64_t value : values) scalars.push_back(Scalar::integer(value));
  builder_.set_value(found->second, scalars);
  return found->second;
}

TensorId Blocks::integer(std::int64_t value) {
  const std::string name = fmt::format("constant.{}", value);
  const auto [found, fresh] = constants_.try_emplace(name, kNoTensor);
  if (fresh) found->second = builder_.constant_scalar(name, value);
  return found->second;
}

TensorId Blocks::real(double value) {
  const std::string name = fmt::format("constant.real.{}", value);
  const auto [found, fresh] = constants_.try_emplace(name, kNoTensor);
  if (fresh) found->second = builder_.constant_scalar(name, value);
  return found->second;
}

TensorId Blocks::yes() {
  const auto [found, fresh] = constants_.try_emplace("constant.true", kNoTensor);
  if (!fresh) return found->second;
  found->second = builder_.buffer("constant.true", {}, DataType::boolean);
  const Scalar scalar = Scalar::integer(1);
  builder_.set_value(found->second, std::span(&scalar, 1));
  return found->second;
}

TensorId Blocks::filled(std::string_view name, TensorId extents, double value) {
  // The attribute's tensor belongs to the operator: it is not among the graph's weights.
  const TensorId fill = builder_.tensor(fmt::format("{}.value", name));
  const Dim one = Dim::of(1);
  builder_.declare(fill, DataType::float32, std::span(&one, 1));
  builder_.set_role(fill, Role::buffer);
  const Scalar scalar = Scalar::real(value);
  builder_.set_value(fill, std::span(&scalar, 1));
  return add("ConstantOfShape", name, {extents}, {{"value", fill}});
}

// ---- Anything

TensorId Blocks::activate(std::string_view name, TensorId x, Activation activation) {
  switch (activation) {
    case Activation::none: return x;
    case Activation::relu: return add("Relu", name, {x});
    case Activation::relu6: return add("Clip", name, {x, real(0), real(6)});
    case Activation::leaky_relu: return add("LeakyRelu", name, {x}, {{"alpha", 0.1}});
    case Activation::silu: return add("Mul", name, {x, add("Sigmoid", fmt::format("{}.sigmoid", name), {x})});
    case Activation::hard_swish: return add("HardSwish", name, {x});
    case Activation::sigmoid: return add("Sigmoid", name, {x});
    case Activation::hard_sigmoid: return add("HardSigmoid", name, {x}, {{"alpha", 1.0 / 6}, {"beta", 0.5}});
    case Activation::gelu: return add("Gelu", name, {x});
    case Activation::gelu_tanh: return gelu_tanh(std::string(name), x);
    case Activation::gelu_tanh_kernel: return add("Gelu", name, {x}, {{"approximate", "tanh"}});
    case Activation::quick_gelu: {
      const TensorId scaled = add("Mul", fmt::format("{}.scale", name), {x, real(1.702)});
      return add("Mul", name, {x, add("Sigmoid", fmt::format("{}.sigmoid", name), {scaled})});
    }
    case Activation::tanh: return add("Tanh", name, {x});
  }
  std::unreachable();
}

// As Hugging Face's NewGELUActivation computes it, one operator at a time.
TensorId Blocks::gelu_tanh(const std::string& name, TensorId x) {
  const TensorId half = add("Mul", name + ".half", {x, real(0.5)});
  const TensorId cube = add("Pow", name + ".pow", {x, real(3)});
  const TensorId small = add("Mul", name + ".mul", {cube, real(0.044715)});
  const TensorId inner = add("Add", name + ".add", {x, small});
  const TensorId scaled = add("Mul", name + ".scale", {inner, real(0.7978845608028654)});  // sqrt(2/π)
  const TensorId bent = add("Add", name + ".add_1", {add("Tanh", name + ".tanh", {scaled}), real(1)});
  return add("Mul", name, {half, bent});
}

TensorId Blocks::dropout(std::string_view name, TensorId x, double ratio) {
  if (!training() || ratio == 0 || weights_only_) return x;
  const TensorId outputs[] = {builder_.tensor(name), builder_.tensor(fmt::format("{}.mask", name))};
  const TensorId inputs[] = {x, real(ratio), yes()};
  builder_.add("Dropout", "", name, inputs, outputs, {});
  return outputs[0];
}

}  // namespace plimsoll::network::zoo
