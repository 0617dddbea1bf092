// Layers on eight-bit numbers, by LibTorch's quantised operators. These are looked up by name, which needs
// none of their headers: those differ between versions.
#include "engine/quantized.hpp"

#include <algorithm>
#include <array>
#include <memory>

#include <ATen/Context.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/_make_per_channel_quantized_tensor.h>
#include <ATen/ops/_make_per_tensor_quantized_tensor.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/max_pool2d.h>
#include <ATen/ops/quantize_per_tensor.h>
#include <ATen/ops/zeros.h>

#include "engine/operators/window.hpp"

namespace plimsoll::engine {
namespace {

using at::Tensor;
using c10::IValue;
using network::kNoTensor;
using network::LevelsTensor;
using network::QuantizedLayer;
using network::TensorId;
using Kind = QuantizedLayer::Kind;

struct Library {
  std::string_view name;
  at::QEngine engine;
  /// Activations as signed levels, 128 less: that is how LibTorch's QNNPACK engine is asked for XNNPACK.
  bool is_signed = false;
};
constexpr std::array<Library, 5> kLibraries = {{{"FBGEMM and oneDNN (x86)", at::QEngine::X86},
                                                {"oneDNN", at::QEngine::ONEDNN},
                                                {"FBGEMM", at::QEngine::FBGEMM},
                                                {"XNNPACK", at::QEngine::QNNPACK, true},
                                                {"QNNPACK", at::QEngine::QNNPACK}}};

/// Of the process, as the engine of LibTorch is.
bool levels_are_signed = false;

bool is_there(const Library& library) {
  const auto& there = at::globalContext().supportedQEngines();
  return std::ranges::find(there, library.engine) != there.end();
}

std::vector<IValue> call(const char* name, const char* overload, std::vector<IValue> stack) {
  c10::Dispatcher::singleton().findSchemaOrThrow(name, overload).callBoxed(&stack);
  return stack;
}

double number(Call& c, std::size_t i) {
  return c.where_it_lies(i).to(at::kDouble).item().toDouble();
}

/// How an activation is read; known once the weights are there.
struct Reading {
  double scale = 1;
  std::int64_t zero = 0;
};
/// Of inputs i (scale) and i + 1 (zero point) of the kernel.
Reading reading(Call& c, std::size_t i) {
  Reading out{number(c, i), 0};
  if (c.has(i + 1)) out.zero = c.where_it_lies(i + 1).to(at::kLong).item().toLong();
  if (levels_are_signed) out.zero -= 128;
  return out;
}

/// A weight with a scale for each output, as the library's tensor of such.
Tensor quantized_weight(Call& c, std::size_t first, bool turned) {
  Tensor levels = c.where_it_lies(first);
  if (turned) levels = levels.t();
  levels = levels.contiguous();
  const std::int64_t channels = levels.size(0);
  Tensor scales = c.where_it_lies(first + 1).to(at::kDouble).reshape({-1});
  if (scales.numel() == 1) scales = scales.expand({channels}).contiguous();
  const Tensor zeros = at::zeros({channels}, at::TensorOptions().dtype(at::kLong));
  TORCH_CHECK(!c.has(first + 2) || c.where_it_lies(first + 2).count_nonzero().item().toLong() == 0,
              "its weights' levels do not lie around zero");
  return at::_make_per_channel_quantized_tensor(levels, scales, zeros, 0);
}

/// Nothing, to the library, where there is none.
IValue real_bias(Call& c, std::size_t first) {
  if (!c.has(first)) return {};
  const Tensor& bias = c.where_it_lies(first);
  if (!c.has(first + 1)) return bias.to(at::kFloat).contiguous();
  return bias.to(at::kDouble).mul(c.where_it_lies(first + 1).to(at::kDouble)).to(at::kFloat).contiguous();
}

/// What is cut off after a layer beyond what its levels reach.
struct Cut {
  bool at_zero = false;
  std::optional<double> low, high;
};

/// Nothing is left to do where the levels themselves reach no further.
Tensor after(Tensor levels, const Cut& cut, const Reading& r) {
  const std::int64_t lowest = levels_are_signed ? -128 : 0;
  const double low = static_cast<double>(lowest - r.zero) * r.scale,
               high = static_cast<double>(lowest + 255 - r.zero) * r.scale;
  const double slack = r.scale / 2;
  const bool below = cut.low && low < *cut.low - slack, above = cut.high && high > *cut.high + slack;
  if (!below && !above) return levels;
  return levels.clamp(at::Scalar(below ? *cut.low : low), at::Scalar(above ? *cut.high : high));
}

// What kernels read, in order: the levels of the inputs; of the weight levels, scale, zero point; of the bias
// levels (or numbers), scale; of the output scale, zero point; the bounds of a Clip.
constexpr std::size_t kWeight = 1, kBias = 4, kOutput = 6, kBounds = 8;

Cut cut_of(Call& c, std::size_t bounds, bool at_zero) {
  Cut cut{.at_zero = at_zero, .low = {}, .high = {}};
  if (c.has(bounds)) cut.low = number(c, bounds);
  if (c.has(bounds + 1)) cut.high = number(c, bounds + 1);
  return cut;
}

/// A layer's weights as the library wants them, made at its first call.
struct Packed {
  IValue weights;
  Reading output;
  Cut cut;
  bool ready = false;
};

Kernel convolution(const QuantizedLayer& layer, const Preparation& p) {
  return [window = window_of(p), groups = p.integer("group", 1), relu = layer.cut_at_zero,
          packed = std::make_shared<Packed>()](Call& c) {
    Tensor x = c.in(0);
    const at::IntArrayRef kernel = c.where_it_lies(kWeight).sizes().slice(2);
    const Padding padding = padding_of(window, x.sizes().slice(2), kernel);
    if (!packed->ready) {
      const std::vector<std::int64_t> pads = padding.symmetric() ? padding.begin : Integers{0, 0};
      packed->weights = call("quantized::conv2d_prepack", "",
                             {quantized_weight(c, kWeight, false), real_bias(c, kBias), strides_of(window, 2),
                              pads, dilations_of(window, 2), groups})[0];
      packed->output = reading(c, kOutput);
      packed->cut = cut_of(c, kBounds, relu);
      packed->ready = true;
    }
    if (!padding.symmetric())
      x = at::constant_pad_nd(x, {padding.begin[1], padding.end[1], padding.begin[0], padding.end[0]}, 0);
    const Tensor y = call(relu ? "quantized::conv2d_relu" : "quantized::conv2d", "new",
                          {x, packed->weights, packed->output.scale, packed->output.zero})[0]
                         .toTensor();
    c.out(0, after(y, packed->cut, packed->output));
  };
}

/// The same numbers by other levels: XNNPACK has signed ones, but no linear layer of them.
Tensor shifted(const Tensor& x, int by) {
  const auto raw = x.int_repr().to(at::kShort).add(by).to(by > 0 ? at::kByte : at::kChar);
  return at::_make_per_tensor_quantized_tensor(raw, x.q_scale(), x.q_zero_point() + by);
}

Kernel linear(const QuantizedLayer& layer) {
  return [relu = layer.cut_at_zero, turned = layer.turned, packed = std::make_shared<Packed>()](Call& c) {
    if (!packed->ready) {
      packed->weights = call("quantized::linear_prepack", "",
                             {quantized_weight(c, kWeight, turned), real_bias(c, kBias)})[0];
      packed->output = reading(c, kOutput);
      packed->cut = cut_of(c, kBounds, relu);
      packed->ready = true;
    }
    const int by = levels_are_signed ? 128 : 0;
    const Tensor x = by > 0 ? shifted(c.in(0), by) : c.in(0);
    const Tensor y =
        call(relu ? "quantized::linear_relu" : "quantized::linear", "",
             {x.contiguous(), packed->weights, packed->output.scale, packed->output.zero + by})[0]
            .toTensor();
    c.out(0, after(by > 0 ? shifted(y, -by) : y, packed->cut, packed->output));
  };
}

/// Two inputs, then the output's scale and zero point.
Kernel sum(const QuantizedLayer& layer) {
  return [relu = layer.cut_at_zero](Call& c) {
    const Reading output = reading(c, 2);
    if (c.in(0).sizes() != c.in(1).sizes()) {
      Tensor real = c.in(0).dequantize().add(c.in(1).dequantize());
      if (relu) real = real.relu();
      const auto type = levels_are_signed ? at::kQInt8 : at::kQUInt8;
      return c.out(0, after(at::quantize_per_tensor(real, output.scale, output.zero, type),
                            cut_of(c, 4, relu), output));
    }
    const Tensor y = call(relu ? "quantized::add_relu" : "quantized::add", "",
                          {c.in(0), c.in(1), output.scale, output.zero})[0]
                         .toTensor();
    c.out(0, after(y, cut_of(c, 4, relu), output));
  };
}

/// The input, then the output's scale and zero point.
Kernel max_pool(const QuantizedLayer& layer, const Preparation& p) {
  return [window = window_of(p), relu = layer.cut_at_zero](Call& c) {
    const Tensor& x = c.in(0);
    const Padding padding = padding_of(window, x.sizes().slice(2), window.kernel);
    Tensor y = at::max_pool2d(x, window.kernel, strides_of(window, 2), padding.begin, dilations_of(window, 2),
                              window.ceil);
    const Reading output = reading(c, 1);
    const Cut cut = cut_of(c, 3, relu);
    if (relu) y = y.relu();
    // The largest of levels is a level: nothing is rounded anew where they are read as before.
    if (y.q_zero_point() != output.zero || y.q_scale() != output.scale)
      y = at::quantize_per_tensor(y.dequantize(), output.scale, output.zero, y.scalar_type());
    c.out(0, after(y, cut, output));
  };
}

Kernel quantize() {
  return [](Call& c) {
    const Reading r = reading(c, 1);
    Tensor x = c.in(0);
    const bool image = x.dim() == 4;
    // Kernels of images go through channels first.
    x = image ? x.contiguous(at::MemoryFormat::ChannelsLast) : x.contiguous();
    c.out(0, at::quantize_per_tensor(x, r.scale, r.zero, levels_are_signed ? at::kQInt8 : at::kQUInt8));
  };
}

}  // namespace

std::string_view name(Kind kind) {
  switch (kind) {
    case Kind::convolution: return "int8 convolution";
    case Kind::linear: return "int8 linear";
    case Kind::sum: return "int8 sum";
    case Kind::max_pool: return "int8 max pooling";
    default: return "";
  }
}

FusedKernel quantized_kernel(const QuantizedLayer& layer, const Preparation& p) {
  FusedKernel fused;
  std::vector<TensorId>& in = fused.inputs;
  const auto add = [&in](std::initializer_list<TensorId> ids) { in.insert(in.end(), ids); };
  for (const LevelsTensor& input : layer.inputs) in.push_back(input.levels);
  switch (layer.kind) {
    case Kind::convolution:
    case Kind::linear:
      add({layer.weight.levels, layer.weight.scale, layer.weight.zero});
      if (layer.real_bias != kNoTensor)
        add({layer.real_bias, kNoTensor});
      else
        add({layer.bias.levels, layer.bias.scale});
      fused.kernel = layer.kind == Kind::convolution ? convolution(layer, p) : linear(layer);
      break;
    case Kind::sum: fused.kernel = sum(layer); break;
    case Kind::max_pool: fused.kernel = max_pool(layer, p); break;
    case Kind::quantize: fused.kernel = quantize(); break;
    case Kind::dequantize:
      fused.kernel = [](Call& c) { c.out(0, c.in(0).dequantize().contiguous()); };
      return fused;
    case Kind::none:
    case Kind::skipped: return fused;
  }
  add({layer.output.scale, layer.output.zero});
  if (layer.kind != Kind::quantize) add({layer.low, layer.high});
  return fused;
}

std::vector<std::string> quantized_libraries() {
  std::vector<std::string> out;
  for (const Library& library : kLibraries)
    if (is_there(library)) out.emplace_back(library.name);
  return out;
}

Result<std::string> choose_quantized_library(const std::string& name) {
  for (const Library& library : kLibraries) {
    if (!is_there(library) || (!name.empty() && name != library.name)) continue;
    at::globalContext().setQEngine(library.engine);
    levels_are_signed = library.is_signed;
    return std::string(library.name);
  }
  return std::unexpected(Error{name.empty()
                                   ? std::string("this LibTorch has no eight-bit kernels")
                                   : fmt::format("this LibTorch has no eight-bit kernels of {}", name),
                               {},
                               "--literal computes quantised networks in real numbers.",
                               Error::Kind::machine_lacks});
}

}  // namespace plimsoll::engine
