#pragma once

namespace plimsoll::hardware {

/// What operators and kernels compute: each formula once, for whoever counts. A Number is a double where
/// kernels are timed (work_of), and a saturating count where a network's operators are counted from their
/// shapes (program/formulas). What counts as one is in docs/counting.md.
template <class Number>
struct Operations {
  Number macs{};
  Number other_flops{};  ///< beyond those of the MACs
};

/// FLOPs per element: of the result, and backward of its gradient.
struct ElementCost {
  int forward = 0, backward = 0;
};
inline constexpr ElementCost kBatchNormCost{2, 10};          ///< with stored statistics
inline constexpr ElementCost kBatchNormTrainingCost{7, 10};  ///< mean, variance (3), scale and shift (3)
inline constexpr ElementCost kLayerNormCost{8, 12};
inline constexpr ElementCost kGroupNormCost{7, 10};
inline constexpr ElementCost kSoftmaxCost{5, 4};
inline constexpr ElementCost kPoolCost{1, 1};       ///< per value in the window
inline constexpr ElementCost kRectifierCost{1, 1};  ///< ReLU, for which kernels of its kind stand
inline constexpr ElementCost kGeluCost{5, 9};       ///< for which kernels with a function stand
inline constexpr ElementCost kSumCost{1, 0};        ///< of two, or of all

namespace formula {

template <class Number>
[[nodiscard]] constexpr Operations<Number> per_element(Number elements, int cost) {
  return {Number{}, elements * cost};
}

/// Each result is a sum of `depth` products. Of a convolution that is a group's input channels times the
/// positions of the window; a bias is one more addition per result.
template <class Number>
[[nodiscard]] constexpr Operations<Number> contraction(Number results, Number depth, bool bias = false) {
  return {results * depth, bias ? results : Number{}};
}

/// Scores, their softmax, and the values' sum weighted with them.
template <class Number>
[[nodiscard]] constexpr Operations<Number> attention(Number scores, Number query_width, Number value_width) {
  return {scores * (query_width + value_width), scores * kSoftmaxCost.forward};
}

/// Sums, means or maxima over a window.
template <class Number>
[[nodiscard]] constexpr Operations<Number> pooling(Number results, Number window,
                                                   int cost = kPoolCost.forward) {
  return per_element(results * window, cost);
}

}  // namespace formula

}  // namespace plimsoll::hardware
