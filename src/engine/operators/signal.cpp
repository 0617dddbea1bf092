#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include <ATen/ops/arange.h>
#include <ATen/ops/fft_fft.h>
#include <ATen/ops/fft_ifft.h>
#include <ATen/ops/view_as_complex.h>
#include <ATen/ops/view_as_real.h>
#include <ATen/ops/zeros.h>

#include "engine/operators/forms.hpp"

namespace plimsoll::engine {
namespace {

using at::Tensor;

/// ONNX keeps complex numbers as pairs along the last axis, real ones as a last axis of extent 1.
Tensor as_complex(const Tensor& x) {
  return x.size(-1) == 1 ? x.select(-1, 0) : at::view_as_complex(x.contiguous());
}

Tensor one_side(const Tensor& spectrum, std::int64_t axis, bool wanted) {
  return wanted ? spectrum.narrow(axis, 0, spectrum.size(axis) / 2 + 1) : spectrum;
}

/// The axis is an attribute before operator set 20, then the third input.
Result<Kernel> prepare_dft(const Preparation& p) {
  const auto known = p.known_integers(2);
  const std::int64_t otherwise = p.opset() < 20 ? p.integer("axis", 1) : -2;
  return [=, inverse = p.integer("inverse", 0) != 0, onesided = p.integer("onesided", 0) != 0](Call& c) {
    const Tensor& x = c.in(0);
    const std::int64_t given = !c.has(2) ? otherwise : known ? known->at(0) : c.integers(2).at(0);
    const std::int64_t axis = wrapped(given, x.dim());
    const std::int64_t size = c.has(1) ? c.integers(1).at(0) : x.size(axis);
    const Tensor signal = as_complex(x);
    const Tensor spectrum = inverse ? at::fft_ifft(signal, size, axis) : at::fft_fft(signal, size, axis);
    c.out(0, at::view_as_real(one_side(spectrum, axis, onesided)));
  };
}

Result<Kernel> prepare_stft(const Preparation& p) {
  return [onesided = p.integer("onesided", 1) != 0](Call& c) {
    const Tensor signal = as_complex(c.in(0));
    const std::int64_t step = c.integers(1).at(0);
    const std::int64_t length = c.has(3) ? c.integers(3).at(0) : c.in(2).size(0);
    Tensor frames = signal.unfold(1, length, step);
    if (c.has(2)) frames = frames.mul(c.in(2));
    c.out(0, at::view_as_real(one_side(at::fft_fft(frames), 2, onesided && !signal.is_complex())));
  };
}

/// a0 - a1 cos(2 pi n / N) + a2 cos(4 pi n / N).
struct Cosines {
  double a0, a1, a2;
};
constexpr Cosines kHann = {0.5, 0.5, 0}, kHamming = {25.0 / 46, 21.0 / 46, 0}, kBlackman = {0.42, 0.5, 0.08};

template <const Cosines& window>
Result<Kernel> prepare_window(const Preparation& p) {
  const Result<at::ScalarType> type = stored_type(p, p.integer("output_datatype", 1));
  PLIMSOLL_TRY(type);
  return [type = *type, periodic = p.integer("periodic", 1) != 0](Call& c) {
    const std::int64_t size = c.integers(0).at(0);
    const auto period = static_cast<double>(std::max<std::int64_t>(1, periodic ? size : size - 1));
    const Tensor turn = at::arange(size, at::TensorOptions(at::kDouble).device(c.device()))
                            .mul(2 * std::numbers::pi / period);
    const Tensor values = turn.cos().mul(-window.a1).add(turn.mul(2).cos().mul(window.a2)).add(window.a0);
    c.out(0, values.to(type));
  };
}

/// Triangles whose corners are spaced evenly in mels, on the bins of a transform.
Tensor mel_weights(std::int64_t bands, std::int64_t length, double rate, double low, double high) {
  TORCH_CHECK(bands > 0 && bands < 1 << 20 && length > 0, "bands or a length that no transform has");
  const auto to_mel = [](double hertz) { return 2595 * std::log10(1 + hertz / 700); };
  const double step = (to_mel(high) - to_mel(low)) / static_cast<double>(bands + 2);
  Integers corners;
  for (std::int64_t i = 0; i < bands + 2; ++i) {
    const double hertz = 700 * (std::pow(10, (static_cast<double>(i) * step + to_mel(low)) / 2595) - 1);
    corners.push_back(static_cast<std::int64_t>(std::floor(static_cast<double>(length + 1) * hertz / rate)));
  }
  const std::int64_t bins = length / 2 + 1;
  TORCH_CHECK(corners.front() >= 0 && corners.back() <= bins, "frequencies beyond the transform's");
  Tensor weights = at::zeros({bins, bands}, at::TensorOptions(at::kDouble));
  const auto set = [&](std::int64_t bin, std::int64_t band, double value) {
    if (bin < bins) weights.data_ptr<double>()[bin * bands + band] = value;
  };
  for (std::int64_t band = 0; band < bands; ++band) {
    const auto i = static_cast<std::size_t>(band);
    const std::int64_t from = corners[i], centre = corners[i + 1], to = corners[i + 2];
    if (from == centre) set(centre, band, 1);
    for (std::int64_t bin = from; bin <= centre && from < centre; ++bin)
      set(bin, band, static_cast<double>(bin - from) / static_cast<double>(centre - from));
    for (std::int64_t bin = centre; bin < to; ++bin)
      set(bin, band, static_cast<double>(to - bin) / static_cast<double>(to - centre));
  }
  return weights;
}

Result<Kernel> prepare_mel_weight_matrix(const Preparation& p) {
  const Result<at::ScalarType> type = stored_type(p, p.integer("output_datatype", 1));
  PLIMSOLL_TRY(type);
  return [type = *type](Call& c) {
    const Tensor weights =
        mel_weights(c.integers(0).at(0), c.integers(1).at(0), c.number(2), c.number(3), c.number(4));
    c.out(0, weights.to(c.device(), type));
  };
}

constexpr auto kSignalRows = std::to_array<OperatorRow>({
    {"BlackmanWindow", prepare_window<kBlackman>},
    {"DFT", prepare_dft},
    {"HammingWindow", prepare_window<kHamming>},
    {"HannWindow", prepare_window<kHann>},
    {"MelWeightMatrix", prepare_mel_weight_matrix},
    {"STFT", prepare_stft},
});

}  // namespace

std::span<const OperatorRow> signal_rows() {
  return kSignalRows;
}

}  // namespace plimsoll::engine
