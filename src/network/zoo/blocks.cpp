#include "network/zoo/blocks.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace plimsoll::network::zoo {

Blocks::Blocks(std::string_view network_name, Mode mode, std::int64_t opset) : builder_(network_name), mode_(mode) {
  builder_.opset("", opset);
}

Image Blocks::image_input(std::string_view name, const ImageShape& shape) {
  const TensorId id = builder_.input(
      name, DataType::float32, {batch(), Dim::of(shape.channels), Dim::of(shape.height), Dim::of(shape.width)});
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

// ---- Images

std::int64_t Blocks::checked(std::string_view name, std::int64_t extent) {
  if (extent >= 1) return extent;
  if (weights_only_) return 1;  // what is not run need not fit
  refuse(fmt::format("the input is too small: nothing is left of it at '{}'", name));
  return 1;
}

Image Blocks::conv(const std::string& name, Image x, const Convolution& c) {
  const Size end = c.pad_end.value_or(c.pad);
  const auto side = [&](std::int64_t n, std::int64_t pads, std::int64_t kernel, std::int64_t dilation, std::int64_t stride) {
    const std::int64_t room = n + pads - dilation * (kernel - 1) - 1;
    return checked(name, room < 0 ? 0 : room / stride + 1);
  };
  const Size size{side(x.size.height, c.pad.height + end.height, c.kernel.height, c.dilation.height, c.stride.height),
                  side(x.size.width, c.pad.width + end.width, c.kernel.width, c.dilation.width, c.stride.width)};
  std::vector<TensorId> inputs = {
      x.id, builder_.parameter(name + ".weight", {c.out, x.channels / c.groups, c.kernel.height, c.kernel.width})};
  if (c.bias) inputs.push_back(builder_.parameter(name + ".bias", {c.out}));
  const TensorId id = add("Conv", name, inputs,
                          {{"dilations", {c.dilation.height, c.dilation.width}},
                           {"group", c.groups},
                           {"kernel_shape", {c.kernel.height, c.kernel.width}},
                           {"pads", {c.pad.height, c.pad.width, end.height, end.width}},
                           {"strides", {c.stride.height, c.stride.width}}});
  return {id, c.out, size};
}

Image Blocks::normalize(const std::string& name, Image x, double epsilon, Role role, bool learn) {
  const Dim channels = Dim::of(x.channels);
  const auto weight = [&](const char* part, Role r) {
    return builder_.weight(name + part, DataType::float32, std::span(&channels, 1), r);
  };
  const TensorId scale = weight(".weight", role);
  const TensorId bias = weight(".bias", role);
  const TensorId mean = weight(".running_mean", Role::buffer);
  const TensorId variance = weight(".running_var", Role::buffer);
  if (!learn || weights_only_)
    return {add("BatchNormalization", name, {x.id, scale, bias, mean, variance}, {{"epsilon", epsilon}, {"momentum", 0.9}}),
            x.channels, x.size};
  const TensorId outputs[] = {builder_.tensor(name), builder_.tensor(name + ".new_running_mean"),
                              builder_.tensor(name + ".new_running_var")};
  const TensorId inputs[] = {x.id, scale, bias, mean, variance};
  const AttributeValue attributes[] = {{"epsilon", epsilon}, {"momentum", 0.9}, {"training_mode", 1}};
  builder_.add("BatchNormalization", "", name, inputs, outputs, attributes);
  return {outputs[0], x.channels, x.size};
}

Image Blocks::batch_norm(const std::string& name, Image x, double epsilon) {
  return normalize(name, x, epsilon, Role::parameter, training());
}

Image Blocks::frozen_batch_norm(const std::string& name, Image x, double epsilon) {
  return normalize(name, x, epsilon, Role::buffer, false);
}

Image Blocks::pool(std::string_view type, std::string_view name, Image x, const Pooling& p,
                   std::span<const AttributeValue> extra) {
  const auto side = [&](std::int64_t n, std::int64_t pad, std::int64_t kernel, std::int64_t stride) {
    const std::int64_t room = n + 2 * pad - kernel;
    if (room < 0) return checked(name, 0);
    std::int64_t out = (room + (p.ceil ? stride - 1 : 0)) / stride + 1;
    if (p.ceil && (out - 1) * stride >= n + pad) --out;  // PyTorch: the last window starts within the image
    return checked(name, out);
  };
  const Size size{side(x.size.height, p.pad.height, p.kernel.height, p.stride.height),
                  side(x.size.width, p.pad.width, p.kernel.width, p.stride.width)};
  const std::int64_t kernel[] = {p.kernel.height, p.kernel.width};
  const std::int64_t pads[] = {p.pad.height, p.pad.width, p.pad.height, p.pad.width};
  const std::int64_t strides[] = {p.stride.height, p.stride.width};
  std::vector<AttributeValue> attributes = {{"ceil_mode", p.ceil ? 1 : 0},
                                            {"kernel_shape", std::span<const std::int64_t>(kernel)},
                                            {"pads", std::span<const std::int64_t>(pads)},
                                            {"strides", std::span<const std::int64_t>(strides)}};
  attributes.insert(attributes.end(), extra.begin(), extra.end());
  return {add_operator(type, name, std::span(&x.id, 1), attributes), x.channels, size};
}

Image Blocks::max_pool(std::string_view name, Image x, const Pooling& p) { return pool("MaxPool", name, x, p, {}); }

Image Blocks::average_pool(std::string_view name, Image x, const Pooling& p) {
  const AttributeValue count_pad("count_include_pad", p.count_pad ? 1 : 0);
  return pool("AveragePool", name, x, p, std::span(&count_pad, 1));
}

Image Blocks::global_average_pool(std::string_view name, Image x) {
  return {add("GlobalAveragePool", name, {x.id}), x.channels, 1};
}

Image Blocks::adaptive_average_pool(std::string_view name, Image x, Size out) {
  if (out == Size(1)) return global_average_pool(name, x);
  // PyTorch's adaptive windows differ in size where the sides do not divide; ONNX has no such operator, so
  // that equal windows of the same number stand in for them. A smaller image is repeated, as PyTorch does.
  if (x.size.height < out.height || x.size.width < out.width) {
    const Size larger{std::max(x.size.height, out.height), std::max(x.size.width, out.width)};
    x = upsample(fmt::format("{}.resize", name), x, larger);
  }
  const Size stride{x.size.height / out.height, x.size.width / out.width};
  const Size kernel{x.size.height - (out.height - 1) * stride.height, x.size.width - (out.width - 1) * stride.width};
  return average_pool(name, x, {.kernel = kernel, .stride = stride});
}

Image Blocks::activate(std::string_view name, Image x, Activation activation) {
  return {activate(name, x.id, activation), x.channels, x.size};
}

Image Blocks::sum(std::string_view name, Image a, Image b) {
  if (a.size != b.size || a.channels != b.channels) refuse(fmt::format("the input's sides do not fit together at '{}'", name));
  return {add("Add", name, {a.id, b.id}), a.channels, a.size};
}

Image Blocks::concat(std::string_view name, std::span<const Image> images) {
  Image out = images.front();
  out.channels = 0;
  std::vector<TensorId> ids;
  for (const Image& image : images) {
    if (image.size != out.size) refuse(fmt::format("the input's sides do not fit together at '{}'", name));
    out.channels += image.channels;
    ids.push_back(image.id);
  }
  out.id = add("Concat", name, ids, {{"axis", 1}});
  return out;
}

Image Blocks::upsample(std::string_view name, Image x, Size to) {
  const TensorId id = add("Resize", name, {x.id, kNoTensor, kNoTensor, integers({to.height, to.width})},
                          {{"axes", {2, 3}}, {"coordinate_transformation_mode", "asymmetric"}, {"mode", "nearest"},
                           {"nearest_mode", "floor"}});
  return {id, x.channels, to};
}

Features Blocks::flatten(std::string_view name, Image x) {
  return {add("Flatten", name, {x.id}, {{"axis", 1}}), x.channels * x.size.height * x.size.width};
}

Image Blocks::squeeze_excite(const std::string& name, Image x, std::int64_t squeezed, Activation inner, Activation gate) {
  Image s = global_average_pool(name + ".avgpool", x);
  s = activate(name + ".activation", conv(name + ".fc1", s, {.out = squeezed, .bias = true}), inner);
  s = activate(name + ".scale_activation", conv(name + ".fc2", s, {.out = x.channels, .bias = true}), gate);
  return {add("Mul", name + ".mul", {s.id, x.id}), x.channels, x.size};
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
