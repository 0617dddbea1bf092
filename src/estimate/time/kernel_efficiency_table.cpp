// Written by bench/kernel_efficiency_fit from data/calibrations/h200.json; not to be edited by hand.
#include "estimate/time/kernel_efficiency.hpp"

namespace plimsoll::estimate {
namespace {

using enum hardware::OperatorClass;
using enum hardware::Direction;
using enum KernelFormat;

// clang-format off
constexpr KernelEfficiencyRow kRows[] = {
    {convolution, forward, vector, {0.575, 0.642, 1.01e+06, 1e+04, 0.659}},  // 200 points
    {convolution, forward, tf32, {0.369, 0.294, 6.73e+06, 9.94e+04, 0.625}},  // 1150 points
    {convolution, forward, half, {0.268, 0.585, 1.23e+07, 2.6e+05, 0.757}},  // 700 points
    {convolution, backward_input, vector, {0.508, 0.135, 1.11e+06, 2.99e+04, 0.678}},  // 80 points
    {convolution, backward_input, tf32, {0.333, 0.338, 6.94e+06, 1.28e+05, 0.638}},  // 600 points
    {convolution, backward_input, half, {0.251, 0.162, 1.45e+07, 7.26e+04, 0.829}},  // 200 points
    {convolution, backward_weight, vector, {0.787, 0.202, 4.52e+06, 183, 0.679}},  // 80 points
    {convolution, backward_weight, tf32, {0.259, 0.285, 1.22e+07, 2.58e+05, 0.698}},  // 600 points
    {convolution, backward_weight, half, {0.229, 0.208, 1.44e+07, 1.27e+05, 0.85}},  // 200 points
    {grouped, forward, tf32, {0.5, 0.181, 2.35e+07, 8.91e+04, 0.665}},  // 110 points
    {grouped, forward, half, {0.524, 0.132, 4.74e+07, 1.16e+05, 0.501}},  // 60 points
    {grouped, backward_input, tf32, {0.496, 0.143, 2.95e+07, 2.01e+05, 1.04}},  // 60 points
    {grouped, backward_input, half, {1, 0.0704, 1.35e+05, 7.8e+04, 0.368}},  // 25 points
    {grouped, backward_weight, tf32, {0.325, 0.0925, 2.24e+07, 1.08e+05, 0.659}},  // 60 points
    {grouped, backward_weight, half, {0.438, 0.0849, 1.83e+04, 1.29e+05, 1.02}},  // 25 points
    {depthwise, forward, tf32, {0.0451, 0.184, 2.75e+04, 10, 0.217}},  // 150 points
    {depthwise, forward, half, {0.0395, 0.207, 2.37e+04, 40.9, 0.174}},  // 80 points
    {depthwise, backward_input, tf32, {0.5, 0.0626, 1.35e+05, 7.61e+03, 0.365}},  // 80 points
    {depthwise, backward_input, half, {0.0417, 0.028, 6.81e+04, 2.84e+03, 0.415}},  // 40 points
    {depthwise, backward_weight, tf32, {0.015, 0.117, 2.33e+04, 4.34e+04, 0.593}},  // 80 points
    {depthwise, backward_weight, half, {0.0158, 0.0484, 7.53e+04, 1.69e+04, 0.592}},  // 40 points
    {matrix, forward, vector, {0.594, 0.408, 2.05e+06, 1.92e+05, 0.538}},  // 550 points
    {matrix, forward, tf32, {0.705, 0.683, 1.3e+07, 2.42e+05, 0.357}},  // 200 points
    {matrix, forward, half, {0.767, 0.5, 1.18e+07, 7.39e+04, 0.394}},  // 460 points
    {matrix, backward_input, vector, {0.662, 0.492, 1.9e+06, 2.01e+05, 0.362}},  // 220 points
    {matrix, backward_input, tf32, {0.603, 0.441, 9.71e+06, 1.37e+05, 0.365}},  // 60 points
    {matrix, backward_input, half, {0.722, 0.383, 8.98e+06, 4.48e+04, 0.498}},  // 100 points
    {matrix, backward_weight, vector, {0.662, 0.363, 5.52e+05, 3.83e+04, 0.255}},  // 220 points
    {matrix, backward_weight, tf32, {0.363, 0.678, 4.02e+06, 1.23e+05, 0.259}},  // 60 points
    {matrix, backward_weight, half, {0.72, 0.657, 7.51e+06, 6.47e+04, 0.28}},  // 100 points
    {batched, forward, vector, {0.492, 0.333, 7.37e+05, 6.62e+04, 0.309}},  // 150 points
    {batched, forward, tf32, {0.289, 0.791, 3.44e+06, 1.8e+05, 0.381}},  // 60 points
    {batched, forward, half, {0.303, 0.519, 2.7e+06, 6.73e+04, 0.563}},  // 120 points
    {batched, backward_input, vector, {0.448, 0.431, 1.55e+06, 2.07e+05, 0.315}},  // 79 points
    {batched, backward_input, half, {0.344, 0.804, 1.35e+06, 3.47e+05, 0.515}},  // 40 points
    {attention, forward, vector, {0.392, 0.208, 2.68e+06, 2.01e+05, 0.426}},  // 180 points
    {attention, forward, tf32, {0.0461, 0.171, 2.49e+06, 1.92e+05, 0.309}},  // 50 points
    {attention, forward, half, {0.283, 0.472, 1.26e+07, 2.04e+05, 0.494}},  // 210 points
    {attention, backward_input, vector, {0.315, 0.0992, 5.41e+06, 1.99e+05, 0.414}},  // 100 points
    {attention, backward_input, half, {0.224, 0.233, 2.19e+07, 1.93e+05, 0.287}},  // 90 points
    {batch_norm, forward, vector, {1, 0.613, 1e+06, 1.28e+05, 0.66}},  // 60 points
    {batch_norm, forward, half, {0.5, 0.336, 1e+06, 1.27e+05, 0.523}},  // 40 points
    {batch_norm_training, forward, vector, {0.5, 0.402, 1e+06, 1.53e+05, 1.03}},  // 80 points
    {batch_norm_training, forward, half, {0.041, 0.131, 1.35e+05, 9.49e+04, 1.01}},  // 30 points
    {batch_norm_training, backward_input, vector, {1, 0.608, 2.72e+06, 5.46e+05, 1.33}},  // 70 points
    {batch_norm_training, backward_input, half, {0.303, 0.278, 3.68e+05, 5.49e+04, 1.51}},  // 20 points
    {layer_norm, forward, vector, {1, 0.336, 1e+06, 5.62e+04, 0.744}},  // 70 points
    {layer_norm, forward, half, {1, 0.308, 1e+06, 5.08e+04, 0.924}},  // 50 points
    {layer_norm, backward_input, vector, {0.824, 0.352, 1e+06, 9.12e+04, 0.603}},  // 50 points
    {layer_norm, backward_input, half, {0.607, 0.303, 7.79e+05, 7.16e+04, 0.655}},  // 25 points
    {group_norm, forward, vector, {0.5, 0.346, 1e+06, 2.68e+05, 0.786}},  // 50 points
    {group_norm, forward, half, {0.5, 0.2, 1e+06, 1.48e+05, 0.571}},  // 30 points
    {group_norm, backward_input, vector, {0.5, 0.349, 1e+06, 2.66e+05, 0.33}},  // 30 points
    {group_norm, backward_input, half, {0.0303, 0.21, 2.89e+05, 1.23e+05, 0.36}},  // 15 points
    {softmax, forward, vector, {1, 0.774, 2.23e+05, 4.38e+04, 0.394}},  // 70 points
    {softmax, forward, half, {0.607, 0.27, 1.35e+05, 1.03e+04, 0.361}},  // 40 points
    {softmax, backward_input, vector, {1, 0.452, 5.7e+05, 3.83e+04, 0.103}},  // 40 points
    {softmax, backward_input, half, {1, 0.434, 7.32e+05, 4.59e+04, 0.154}},  // 20 points
    {max_pool, forward, vector, {1, 0.184, 6.07e+05, 9.25e+03, 0.561}},  // 60 points
    {max_pool, forward, half, {0.0131, 0.231, 7.58e+03, 10, 0.199}},  // 30 points
    {max_pool, backward_input, vector, {0.0354, 0.129, 1.01e+05, 5.2e+04, 0.35}},  // 40 points
    {max_pool, backward_input, half, {0.0348, 0.0709, 4e+04, 1.09e+04, 0.278}},  // 15 points
    {average_pool, forward, vector, {0.0291, 0.17, 2.01e+04, 2.91e+03, 0.396}},  // 50 points
    {average_pool, forward, half, {0.0383, 0.0876, 2.35e+04, 1.08e+03, 0.381}},  // 25 points
    {average_pool, backward_input, vector, {0.0677, 0.0362, 1.35e+05, 6.98e+03, 0.282}},  // 30 points
    {average_pool, backward_input, half, {0.0086, 0.0159, 5.3e+04, 5.23e+03, 0.303}},  // 15 points
    {global_pool, forward, vector, {1, 0.694, 1.16e+06, 5.23e+04, 0.459}},  // 40 points
    {global_pool, forward, half, {1, 0.357, 7.09e+05, 3.41e+04, 0.409}},  // 20 points
    {global_pool, backward_input, vector, {1, 0.202, 1.83e+04, 47.7, 0.315}},  // 20 points
    {global_pool, backward_input, half, {0.779, 0.143, 1.35e+05, 483, 0.317}},  // 10 points
    {unary, forward, vector, {1, 0.882, 100, 10, 0.154}},  // 60 points
    {unary, forward, half, {1, 0.876, 100, 10, 0.114}},  // 55 points
    {unary, backward_input, vector, {1, 0.911, 100, 10, 0.15}},  // 50 points
    {unary, backward_input, half, {1, 0.911, 100, 10, 0.1}},  // 25 points
    {function, forward, vector, {0.105, 0.882, 100, 111, 0.115}},  // 50 points
    {function, forward, half, {1, 0.652, 1.83e+04, 2.93e+03, 0.166}},  // 50 points
    {function, backward_input, vector, {0.223, 0.911, 1.83e+04, 1.78e+04, 0.116}},  // 40 points
    {function, backward_input, half, {1, 0.727, 1.05e+05, 1.6e+04, 0.153}},  // 20 points
    {binary, forward, vector, {1, 0.911, 100, 10, 0.18}},  // 60 points
    {binary, forward, half, {1, 0.918, 100, 10, 0.158}},  // 55 points
    {broadcast, forward, vector, {1, 0.558, 1.35e+05, 1.55e+04, 0.233}},  // 60 points
    {broadcast, forward, half, {1, 0.32, 1.35e+05, 1.69e+04, 0.252}},  // 30 points
    {row_sum, forward, vector, {1, 0.797, 1.35e+05, 6.27e+04, 0.387}},  // 50 points
    {row_sum, forward, half, {0.417, 0.562, 1.53e+05, 3.28e+04, 0.424}},  // 25 points
    {column_sum, forward, vector, {1, 0.768, 6.07e+05, 9.56e+04, 0.58}},  // 60 points
    {column_sum, forward, half, {1, 0.762, 7.79e+05, 1.3e+05, 0.626}},  // 30 points
    {embedding, forward, vector, {0.5, 0.799, 1e+06, 1.61e+04, 0.635}},  // 50 points
    {embedding, forward, half, {0.5, 0.524, 1e+06, 1.25e+04, 0.635}},  // 30 points
    {embedding, backward_input, vector, {1, 0.141, 7.79e+05, 1.24e+04, 1.29}},  // 40 points
    {embedding, backward_input, half, {0.001, 0.627, 6.58e+03, 24.8, 0.79}},  // 20 points
    {copy, forward, vector, {0.5, 0.575, 1e+06, 10, 0.33}},  // 50 points
    {copy, forward, half, {0.5, 0.575, 1e+06, 10, 0.344}},  // 30 points
    {transpose, forward, vector, {0.5, 0.24, 1e+06, 2.45e+03, 0.282}},  // 70 points
    {transpose, forward, half, {0.5, 0.134, 1e+06, 5.19e+03, 0.313}},  // 40 points
    {optimizer_sgd, forward, vector, {1, 0.541, 9.09e+04, 7.04e+03, 0.813}},  // 30 points
    {optimizer_sgd, forward, half, {1, 0.108, 1.44e+05, 2.16e+03, 0.763}},  // 10 points
    {optimizer_momentum, forward, vector, {0.5, 0.438, 1e+06, 1.96e+05, 0.766}},  // 30 points
    {optimizer_momentum, forward, half, {0.5, 0.119, 1.35e+05, 6.57e+04, 0.789}},  // 10 points
    {optimizer_adam, forward, vector, {0.5, 0.213, 1e+06, 2.39e+05, 0.593}},  // 40 points
    {optimizer_adam, forward, half, {0.5, 0.0687, 1e+06, 6.47e+04, 0.662}},  // 10 points
};
// clang-format on

}  // namespace

std::span<const KernelEfficiencyRow> kernel_efficiencies() {
  return kRows;
}

}  // namespace plimsoll::estimate
