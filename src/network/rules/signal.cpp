#include "network/inference.hpp"
#include "network/operators.hpp"
#include "network/rules/extents.hpp"

namespace plimsoll::network {
namespace {

/// floor(n / 2) + 1: the bins that a transform of real numbers has of its own.
Dim unique_bins(InferenceContext& c, Dim n) {
  return c.symbols().plus(c.symbols().divide(n, Dim::of(2)), Dim::of(1));
}

/// The axis is an attribute up to opset 19 and an input from 20 on.
Result<std::int64_t> transform_axis(InferenceContext& c) {
  if (c.opset() < 20) return c.integer("axis", 1);
  if (!c.has(2)) return -2;
  const auto value = c.integers(std::size_t{2});
  if (!value || value->size() != 1) return fail("the axis is not a constant");
  return value->front();
}

Status dft(InferenceContext& c) {
  if (!c.ranked(0)) {
    c.set_unranked(0, c.type(0));
    return {};
  }
  Shape shape(c.dims(0));
  if (shape.rank() < 2)
    return fail("the input has the shape {}; a signal and real and imaginary parts are needed",
                c.show(shape.dims()));
  const Result<std::int64_t> asked = transform_axis(c);
  const bool unknown_axis = !asked && c.has(2) && !c.has_value(2);
  if (unknown_axis) {  // any extent but the last may be the one that changes
    for (std::size_t i = 0; i + 1 < shape.rank(); ++i) shape[i] = c.unknown("extent", {});
    shape[shape.rank() - 1] = Dim::of(2);
    c.set(0, c.type(0), shape);
    return {};
  }
  PLIMSOLL_TRY(asked);
  const Result<std::size_t> axis = InferenceContext::axis(*asked, shape.rank());
  PLIMSOLL_TRY(axis);
  if (*axis + 1 == shape.rank()) return fail("axis {} is the one of real and imaginary parts", *asked);
  const bool inverse = c.integer("inverse", 0) != 0, onesided = c.integer("onesided", 0) != 0;
  Dim& n = shape[*axis];
  // The inverse of a one-sided transform is real again and, unless told, of an even length.
  const bool to_real = inverse && onesided;
  if (c.has(1)) {
    const Result<Dim> length = extent_input(c, 1, "length");
    PLIMSOLL_TRY(length);
    n = *length;
  } else if (to_real) {
    n = c.symbols().times(c.symbols().minus(n, Dim::of(1)), Dim::of(2));
  }
  if (onesided && !inverse) n = unique_bins(c, n);
  shape[shape.rank() - 1] = Dim::of(to_real ? 1 : 2);
  c.set(0, c.type(0), shape);
  return {};
}

/// Inputs signal, frame_step, window, frame_length.
Status stft(InferenceContext& c) {
  Dim batch, length;
  if (c.ranked(0)) {
    if (c.rank(0) < 2 || c.rank(0) > 3)
      return fail("the signal has the shape {}; batch, length and parts are needed", c.show(c.dims(0)));
    batch = c.dims(0)[0];
    length = c.dims(0)[1];
  } else {
    batch = c.unknown("batch", {});
    length = c.unknown("length", {});
  }
  Dim frame = length;
  if (c.has(3)) {
    const Result<Dim> given = extent_input(c, 3, "frame", {1, c.symbols().bounds(length).high});
    PLIMSOLL_TRY(given);
    frame = *given;
  } else if (c.has(2)) {
    const Result<Shape> window = shape_of_rank(c, 2, 1, "the window");
    PLIMSOLL_TRY(window);
    frame = (*window)[0];
  }
  const Result<Dim> step = extent_input(c, 1, "step", {1, kUnbounded});
  PLIMSOLL_TRY(step);
  if (step->is(0)) return fail("frame_step is 0");
  if (frame.exact() && length.exact() && frame.value() > length.value())
    return fail("a frame of {} is longer than the signal of {}", frame.value(), length.value());
  Symbols& s = c.symbols();
  const Dim frames = s.plus(s.divide(s.minus(length, frame), *step), Dim::of(1));
  const Dim bins = c.integer("onesided", 1) != 0 ? unique_bins(c, frame) : frame;
  c.set(0, c.type(0), {batch, frames, bins, Dim::of(2)});
  return {};
}

Status window_function(InferenceContext& c) {
  const Result<DataType> type = type_attribute(c, "output_datatype", DataType::float32);
  PLIMSOLL_TRY(type);
  const Result<Dim> size = extent_input(c, 0, "size");
  PLIMSOLL_TRY(size);
  c.set(0, *type, {*size});
  return {};
}

Status mel_weights(InferenceContext& c) {
  const Result<DataType> type = type_attribute(c, "output_datatype", DataType::float32);
  PLIMSOLL_TRY(type);
  const Result<Dim> bins = extent_input(c, 0, "mel_bins");
  PLIMSOLL_TRY(bins);
  const Result<Dim> length = extent_input(c, 1, "dft_length");
  PLIMSOLL_TRY(length);
  c.set(0, *type, {unique_bins(c, *length), *bins});
  return {};
}

Status random(InferenceContext& c) {
  const Result<DataType> type = type_attribute(c, "dtype", DataType::float32);
  PLIMSOLL_TRY(type);
  Shape shape;
  for (const std::int64_t d : c.integers("shape")) {
    if (d < 0) return fail("shape has a {}", d);
    shape.push_back(Dim::of(d));
  }
  c.set(0, *type, shape);
  return {};
}

Status random_like(InferenceContext& c) {
  const Result<DataType> type = type_attribute(c, "dtype", c.type(0));
  PLIMSOLL_TRY(type);
  set_like(c, 0, 0, *type);
  return {};
}

Status multinomial(InferenceContext& c) {
  const Result<DataType> type = type_attribute(c, "dtype", DataType::int32);
  PLIMSOLL_TRY(type);
  const Result<std::int64_t> samples = positive_attribute(c, "sample_size", 1);
  PLIMSOLL_TRY(samples);
  const Result<Shape> input = shape_of_rank(c, 0, 2, "the input");
  PLIMSOLL_TRY(input);
  c.set(0, *type, {(*input)[0], Dim::of(*samples)});
  return {};
}

Status image_decoder(InferenceContext& c) {
  const bool grey = c.text("pixel_format", "RGB") == "Grayscale";
  c.set(0, DataType::uint8, {c.unknown("height", {}), c.unknown("width", {}), Dim::of(grey ? 1 : 3)});
  return {};
}

constexpr OperatorInfo kSignalOperators[] = {
    {"Bernoulli", 1, 1, 1, random_like},
    {"BlackmanWindow", 1, 1, 1, window_function},
    {"DFT", 1, 3, 1, dft},
    {"HammingWindow", 1, 1, 1, window_function},
    {"HannWindow", 1, 1, 1, window_function},
    {"ImageDecoder", 1, 1, 1, image_decoder},
    {"MelWeightMatrix", 5, 5, 1, mel_weights},
    {"Multinomial", 1, 1, 1, multinomial},
    {"RandomNormal", 0, 0, 1, random},
    {"RandomNormalLike", 1, 1, 1, random_like},
    {"RandomUniform", 0, 0, 1, random},
    {"RandomUniformLike", 1, 1, 1, random_like},
    {"STFT", 2, 4, 1, stft},
};

}  // namespace

std::span<const OperatorInfo> signal_operators() {
  return kSignalOperators;
}

}  // namespace plimsoll::network
