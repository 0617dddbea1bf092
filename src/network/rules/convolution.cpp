#include <algorithm>
#include <initializer_list>
#include <limits>
#include <optional>

#include "network/inference.hpp"
#include "network/operators.hpp"
#include "network/rules/extents.hpp"
#include "network/rules/window.hpp"

namespace plimsoll::network {
namespace {

constexpr std::int64_t kLowest = std::numeric_limits<std::int64_t>::min();
constexpr std::size_t kFewestDimensions = 3;  // batch, channels, one spatial extent

/// Copies a list attribute of `count` numbers into `out`, or fills `out` where it is absent or empty.
Status read_list(InferenceContext& c, std::string_view name, std::span<std::int64_t> out,
                 std::int64_t otherwise) {
  const auto given = c.integers(name);
  if (given.empty()) {
    std::ranges::fill(out, otherwise);
    return {};
  }
  if (given.size() != out.size())
    return fail("{} has {} values; {} are needed", name, given.size(), out.size());
  std::ranges::copy(given, out.begin());
  return {};
}

Status read_positive(InferenceContext& c, std::string_view name, std::span<std::int64_t> out) {
  PLIMSOLL_TRY(read_list(c, name, out, 1));
  for (const std::int64_t n : out)
    if (n <= 0) return fail("{} has a {}; all must be positive", name, n);
  return {};
}

Status read_padding(InferenceContext& c, Window& w) {
  const std::string_view automatic = c.text("auto_pad", "NOTSET");
  if (automatic == "SAME_UPPER" || automatic == "SAME_LOWER") {
    w.padding = Window::Padding::same;
    return {};
  }
  if (automatic == "VALID") {
    w.padding = Window::Padding::valid;
    return {};
  }
  if (automatic != "NOTSET" && !automatic.empty())
    return fail("auto_pad is '{}', which is not NOTSET, SAME_UPPER, SAME_LOWER or VALID", automatic);
  std::array<std::int64_t, 2 * kMaxRank> pads{};
  PLIMSOLL_TRY(read_list(c, "pads", std::span(pads).first(2 * w.axes), 0));
  for (std::size_t i = 0; i < w.axes; ++i) {
    w.before[i] = pads[i];
    w.after[i] = pads[w.axes + i];
  }
  return {};
}

/// (kernel - 1) * dilation + 1: the extent that a window covers.
Result<Dim> reach(InferenceContext& c, const Window& w, std::size_t i) {
  Symbols& s = c.symbols();
  if (!w.kernel[i].valid()) return fail("kernel_shape is missing");
  if (w.kernel[i].is(0)) return fail("the kernel has the extent 0");
  const Dim covered = s.plus(s.times(s.minus(w.kernel[i], Dim::of(1)), Dim::of(w.dilation[i])), Dim::of(1));
  if (!covered.valid())
    return fail("a kernel of {} with dilation {} reaches beyond 2^63", s.text(w.kernel[i]), w.dilation[i]);
  return covered;
}

/// The sum, or nothing where it does not fit.
std::optional<std::int64_t> sum(std::initializer_list<std::int64_t> terms) {
  std::int64_t total = 0;
  for (const std::int64_t n : terms)
    if (__builtin_add_overflow(total, n, &total)) return std::nullopt;
  return total;
}

/// What an extent becomes where each of its elements is spread over a window: (x - 1) * stride + reach - pads
/// + extra.
Result<Dim> spread(InferenceContext& c, const Window& w, std::size_t i, Dim extent, std::int64_t extra) {
  Symbols& s = c.symbols();
  const Result<Dim> covered = reach(c, w, i);
  if (!covered) return covered;
  const Dim stride = Dim::of(w.stride[i]);
  if (covered->exact())
    // All numbers in one place, as in positions().
    if (const auto net = sum({covered->value(), -w.stride[i], extra}))
      if (const auto less =
              sum({*net, w.before[i] == kLowest ? 0 : -w.before[i], w.after[i] == kLowest ? 0 : -w.after[i]}))
        if (const Dim d = shifted(s, s.times(extent, stride), *less); d.valid() && !extent.is(0)) return d;
  Dim d = shifted(s, s.plus(s.times(s.minus(extent, Dim::of(1)), stride), *covered), extra);
  for (const std::int64_t pad : {w.before[i], w.after[i]})
    d = pad == kLowest ? Dim::invalid() : shifted(s, d, -pad);
  if (!d.valid())
    return fail("the extent {} with stride {} and a window of {} cannot lose the padding {} and {}",
                s.text(extent), w.stride[i], s.text(*covered), w.before[i], w.after[i]);
  return d;
}

/// Takes the kernel from the weights' spatial extents, which kernel_shape must repeat where it is given.
Status take_kernel(Window& w, std::span<const Dim> spatial) {
  for (std::size_t i = 0; i < w.axes; ++i) {
    if (w.kernel[i].valid() && differ(w.kernel[i], spatial[i]))
      return fail("kernel_shape says {}, the weights have {}", w.kernel[i].value(), spatial[i].value());
    if (!w.kernel[i].valid() || spatial[i].exact()) w.kernel[i] = spatial[i];
  }
  return {};
}

std::size_t channel_axis(ChannelsAt channels, std::size_t rank) {
  return channels == ChannelsAt::second ? 1 : rank - 1;
}
std::size_t first_spatial(ChannelsAt channels) {
  return channels == ChannelsAt::second ? 2 : 1;
}

/// The rank of an operator's data: of the input, else of the weights, else what kernel_shape implies.
std::optional<std::size_t> window_rank(InferenceContext& c, std::size_t x, std::size_t weights) {
  if (c.ranked(x)) return c.rank(x);
  if (weights != x && c.ranked(weights)) return c.rank(weights);
  if (const auto kernel = c.integers("kernel_shape"); !kernel.empty() && kernel.size() <= kMaxRank - 2)
    return kernel.size() + 2;
  return std::nullopt;
}

Status check_rank(InferenceContext& c, std::size_t input, std::size_t rank) {
  if (rank >= kFewestDimensions && rank <= kMaxRank) return {};
  return fail("the input has the shape {}; batch, channels and at least one spatial extent are needed",
              c.show(c.dims(input)));
}

}  // namespace

Result<Window> read_window(InferenceContext& c, std::size_t axes) {
  if (axes > kMaxRank) return fail("a window over {} dimensions is not supported", axes);
  Window w;
  w.axes = axes;
  const auto kernel = c.integers("kernel_shape");
  if (!kernel.empty() && kernel.size() != axes)
    return fail("kernel_shape has {} values; the input has {} spatial extents", kernel.size(), axes);
  for (std::size_t i = 0; i < axes; ++i) {
    w.kernel[i] = kernel.empty() ? Dim::invalid() : Dim::of(kernel[i]);
    if (!kernel.empty() && kernel[i] <= 0)
      return fail("kernel_shape has a {}; all must be positive", kernel[i]);
  }
  PLIMSOLL_TRY(read_positive(c, "strides", std::span(w.stride).first(axes)));
  PLIMSOLL_TRY(read_positive(c, "dilations", std::span(w.dilation).first(axes)));
  PLIMSOLL_TRY(read_padding(c, w));
  w.round_up = c.integer("ceil_mode", 0) != 0;
  return w;
}

Result<Dim> positions(InferenceContext& c, const Window& w, std::size_t i, Dim extent) {
  Symbols& s = c.symbols();
  const Dim stride = Dim::of(w.stride[i]);
  const Result<Dim> covered = reach(c, w, i);
  if (!covered) return covered;
  if (w.padding == Window::Padding::same) return s.divide_up(extent, stride);
  if (extent.symbolic() && covered->exact())
    // (x + pads - reach) / stride + 1 with all numbers in one place, so that a window that keeps the extent
    // gives the same symbol back.
    if (const auto net = sum({w.before[i], w.after[i], -covered->value(), w.stride[i]})) {
      const Dim room = shifted(s, extent, *net);
      if (!w.round_up) return s.divide(room, stride);
      return s.minimum(s.divide_up(room, stride), s.divide_up(shifted(s, extent, w.before[i]), stride));
    }
  const Dim padded = shifted(s, shifted(s, extent, w.before[i]), w.after[i]);
  if (!padded.valid())
    return fail("the extent {} cannot be padded by {} and {}", s.text(extent), w.before[i], w.after[i]);
  if (padded.exact() && covered->exact() && padded.value() < covered->value())
    return fail("the window reaches over {}, more than the extent {} padded to {}", covered->value(),
                s.text(extent), padded.value());
  const Dim room = s.minus(padded, *covered);
  if (!w.round_up) return s.plus(s.divide(room, stride), Dim::of(1));
  // Rounding up may add a window that starts in the padding behind the input; PyTorch and ONNX drop it.
  const Dim most = s.plus(s.divide_up(room, stride), Dim::of(1));
  const Dim starts = s.divide_up(shifted(s, extent, w.before[i]), stride);
  if (most.exact() && starts.exact())
    return Dim::of(most.value() > starts.value() ? most.value() - 1 : most.value());
  return s.minimum(most, starts);
}

Status infer_convolution(InferenceContext& c, ConvolutionInputs in, DataType type) {
  const auto rank = window_rank(c, in.x, in.weights);
  if (!rank) {
    c.set_unranked(0, type);
    return {};
  }
  PLIMSOLL_TRY(check_rank(c, c.ranked(in.x) ? in.x : in.weights, *rank));
  const Result<Shape> x = shape_of_rank(c, in.x, *rank, "the input");
  PLIMSOLL_TRY(x);
  const Result<Shape> weights = shape_of_rank(c, in.weights, *rank, "the weights");
  PLIMSOLL_TRY(weights);
  Result<Window> window = read_window(c, *rank - 2);
  PLIMSOLL_TRY(window);
  const Result<std::int64_t> group = positive_attribute(c, "group", 1);
  PLIMSOLL_TRY(group);

  const Dim channels = (*x)[channel_axis(in.channels, *rank)];
  const auto grouped = [&](Dim d) { return c.symbols().times(d, Dim::of(*group)); };
  // Optimisers that move channels last do so in the weights as well, or leave them; the channels tell.
  const bool weights_last = in.channels == ChannelsAt::last && differ(grouped((*weights)[1]), channels) &&
                            !differ(grouped((*weights)[*rank - 1]), channels);
  const Dim per_group = (*weights)[weights_last ? *rank - 1 : 1], made = (*weights)[0];
  if (differ(grouped(per_group), channels) || !grouped(per_group).valid())
    return fail("the input {} has {} channels; the weights {} want {} in each of {} groups",
                c.show(x->dims()), c.symbols().text(channels), c.show(weights->dims()),
                c.symbols().text(per_group), *group);
  if (made.exact() && made.value() % *group != 0)
    return fail("{} output channels cannot be divided into {} groups", made.value(), *group);
  PLIMSOLL_TRY(take_kernel(*window, weights->dims().subspan(weights_last ? 1 : 2)));

  Shape out = *x;
  out[channel_axis(in.channels, *rank)] = made;
  const std::size_t first = first_spatial(in.channels);
  for (std::size_t i = 0; i < window->axes; ++i) {
    const Result<Dim> n = positions(c, *window, i, (*x)[first + i]);
    PLIMSOLL_TRY(n);
    out[first + i] = *n;
  }
  c.set(0, type, out);
  return {};
}

Status infer_transposed_convolution(InferenceContext& c, DataType type, std::size_t pads) {
  const auto rank = window_rank(c, 0, 1);
  if (!rank) {
    c.set_unranked(0, type);
    return {};
  }
  PLIMSOLL_TRY(check_rank(c, c.ranked(0) ? 0 : 1, *rank));
  const Result<Shape> x = shape_of_rank(c, 0, *rank, "the input");
  PLIMSOLL_TRY(x);
  const Result<Shape> weights = shape_of_rank(c, 1, *rank, "the weights");
  PLIMSOLL_TRY(weights);
  Result<Window> window = read_window(c, *rank - 2);
  PLIMSOLL_TRY(window);
  const Result<std::int64_t> group = positive_attribute(c, "group", 1);
  PLIMSOLL_TRY(group);
  const Dim channels = agreed((*x)[1], (*weights)[0]);
  if (differ((*x)[1], (*weights)[0]))
    return fail("the input {} has {} channels; the weights {} want {}", c.show(x->dims()), (*x)[1].value(),
                c.show(weights->dims()), (*weights)[0].value());
  if (channels.exact() && channels.value() % *group != 0)
    return fail("{} input channels cannot be divided into {} groups", channels.value(), *group);
  PLIMSOLL_TRY(take_kernel(*window, weights->dims().subspan(2)));

  std::array<std::int64_t, kMaxRank> extra{};
  PLIMSOLL_TRY(read_list(c, "output_padding", std::span(extra).first(window->axes), 0));
  auto asked = c.integers("output_shape");
  if (asked.size() == *rank) asked = asked.subspan(2);  // some exporters count batch and channels too
  if (!asked.empty() && asked.size() != window->axes)
    return fail("output_shape has {} values; {} are needed", asked.size(), window->axes);

  bool pads_known = true;
  if (pads != kAttribute && c.has(pads)) {
    const auto given = c.integers(pads);
    pads_known = given.has_value();
    if (pads_known && given->size() != 2 * window->axes)
      return fail("pads has {} values; {} are needed", given->size(), 2 * window->axes);
    for (std::size_t i = 0; pads_known && i < window->axes; ++i) {
      window->before[i] = (*given)[i];
      window->after[i] = (*given)[window->axes + i];
    }
  }

  Symbols& s = c.symbols();
  Shape out{(*x)[0], s.times((*weights)[1], Dim::of(*group))};
  for (std::size_t i = 0; i < window->axes; ++i) {
    const Dim extent = (*x)[2 + i], stride = Dim::of(window->stride[i]);
    if (!asked.empty()) {
      if (asked[i] < 0) return fail("output_shape has a {}", asked[i]);
      out.push_back(Dim::of(asked[i]));
    } else if (window->padding == Window::Padding::same) {
      out.push_back(s.times(extent, stride));
    } else {
      const Result<Dim> d = spread(c, *window, i, extent, extra[i]);
      PLIMSOLL_TRY(d);
      out.push_back(pads_known ? *d : c.unknown("extent", {0, s.bounds(*d).high}));
    }
  }
  c.set(0, type, out);
  return {};
}

Status infer_pool(InferenceContext& c, DataType type, ChannelsAt channels) {
  const auto rank = window_rank(c, 0, 0);
  if (!rank) {
    c.set_unranked(0, type);
    c.set_unranked(1, DataType::int64);
    return {};
  }
  if (c.ranked(0)) PLIMSOLL_TRY(check_rank(c, 0, *rank));
  Result<Shape> shape = shape_of_rank(c, 0, *rank, "the input");
  PLIMSOLL_TRY(shape);
  const Result<Window> window = read_window(c, *rank - 2);
  PLIMSOLL_TRY(window);
  for (std::size_t i = 0; i < window->axes; ++i) {
    Dim& d = (*shape)[first_spatial(channels) + i];
    const Result<Dim> n = positions(c, *window, i, d);
    PLIMSOLL_TRY(n);
    d = *n;
  }
  c.set(0, type, *shape);
  c.set(1, DataType::int64, *shape);
  return {};
}

Status infer_global_pool(InferenceContext& c, DataType type, ChannelsAt channels) {
  if (!c.ranked(0)) {
    c.set_unranked(0, type);
    return {};
  }
  if (c.rank(0) < 2)
    return fail("the input has the shape {}; batch and channels are needed", c.show(c.dims(0)));
  Shape shape(c.dims(0));
  for (std::size_t i = 1; i < shape.rank(); ++i)
    if (i != channel_axis(channels, shape.rank())) shape[i] = Dim::of(1);
  c.set(0, type, shape);
  return {};
}

namespace {

Status convolution(InferenceContext& c) {
  return infer_convolution(c, {}, c.type(0));
}
Status transposed_convolution(InferenceContext& c) {
  return infer_transposed_convolution(c, c.type(0));
}
Status pool(InferenceContext& c) {
  return infer_pool(c, c.type(0));
}
Status global_pool(InferenceContext& c) {
  return infer_global_pool(c, c.type(0));
}

Status max_unpool(InferenceContext& c) {
  const auto rank = window_rank(c, 0, 1);
  if (!rank) {
    c.set_unranked(0, c.type(0));
    return {};
  }
  PLIMSOLL_TRY(check_rank(c, c.ranked(0) ? 0 : 1, *rank));
  Result<Shape> out = shape_of_rank(c, 0, *rank, "the input");
  PLIMSOLL_TRY(out);
  const Result<Window> window = read_window(c, *rank - 2);
  PLIMSOLL_TRY(window);
  if (c.has_value(2)) {
    const auto asked = c.value(2);
    if (asked.size() != *rank) return fail("output_shape has {} values; {} are needed", asked.size(), *rank);
    for (std::size_t i = 0; i < *rank; ++i) (*out)[i] = asked[i].dim();
    c.set(0, c.type(0), *out);
    return {};
  }
  for (std::size_t i = 0; i < window->axes; ++i) {
    Dim& d = (*out)[2 + i];
    if (c.has(2)) {  // a size that only the data tells
      d = c.unknown("extent", {});
      continue;
    }
    const Result<Dim> whole = spread(c, *window, i, d, 0);
    PLIMSOLL_TRY(whole);
    d = *whole;
  }
  c.set(0, c.type(0), *out);
  return {};
}

constexpr OperatorInfo kConvolutionOperators[] = {
    {"AveragePool", 1, 1, 1, pool},
    {"Conv", 2, 3, 1, convolution},
    {"ConvTranspose", 2, 3, 1, transposed_convolution},
    {"DeformConv", 3, 5, 1, convolution},
    {"GlobalAveragePool", 1, 1, 1, global_pool},
    {"GlobalLpPool", 1, 1, 1, global_pool},
    {"GlobalMaxPool", 1, 1, 1, global_pool},
    {"LpPool", 1, 1, 1, pool},
    {"MaxPool", 1, 1, 2, pool},
    {"MaxUnpool", 2, 3, 1, max_unpool},
};

}  // namespace

std::span<const OperatorInfo> convolution_operators() {
  return kConvolutionOperators;
}

}  // namespace plimsoll::network
