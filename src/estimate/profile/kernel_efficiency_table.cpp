// Written by bench/kernel_efficiency_fit from data/calibrations/h200.json; not to be edited by hand.
#include "estimate/profile/kernel_efficiency.hpp"

namespace plimsoll::estimate {
namespace {

using enum hardware::OperatorClass;
using enum hardware::Direction;
using enum KernelFormat;

// clang-format off
constexpr KernelEfficiencyRow kRows[] = {
    {convolution, forward, vector, {0.585, 0.603, 8.76e+05, 1e+04, 0.657}},  // 150 points
    {convolution, forward, tf32, {0.366, 0.276, 5.45e+06, 7.27e+04, 0.591}},  // 1500 points
    {convolution, forward, half, {0.289, 0.246, 1.38e+07, 9.41e+04, 0.739}},  // 860 points
    {convolution, backward_input, vector, {0.488, 0.131, 1.03e+06, 2.89e+04, 0.715}},  // 60 points
    {convolution, backward_input, tf32, {0.32, 0.344, 5.28e+06, 1.07e+05, 0.658}},  // 750 points
    {convolution, backward_input, half, {0.303, 0.516, 2.01e+07, 3.31e+05, 0.831}},  // 300 points
    {convolution, backward_weight, vector, {1, 0.0869, 4.62e+06, 5.75e+04, 0.671}},  // 60 points
    {convolution, backward_weight, tf32, {0.255, 0.301, 1.23e+07, 2.81e+05, 0.661}},  // 750 points
    {convolution, backward_weight, half, {0.313, 0.13, 2.28e+07, 9.12e+04, 0.803}},  // 300 points
    {grouped, forward, tf32, {0.492, 0.188, 1.98e+07, 1.29e+05, 0.639}},  // 150 points
    {grouped, forward, half, {0.428, 0.125, 3.78e+07, 1.08e+05, 0.461}},  // 100 points
    {grouped, backward_input, tf32, {0.536, 0.148, 6.19e+07, 3.31e+05, 1.04}},  // 80 points
    {grouped, backward_input, half, {0.585, 0.0743, 5.81e+07, 7.16e+04, 0.421}},  // 50 points
    {grouped, backward_weight, tf32, {0.303, 0.0869, 1.76e+07, 9.62e+04, 0.622}},  // 80 points
    {grouped, backward_weight, half, {0.294, 0.0829, 4.08e+06, 8.64e+04, 0.882}},  // 50 points
    {depthwise, forward, tf32, {0.0451, 0.183, 2.43e+04, 10, 0.217}},  // 150 points
    {depthwise, forward, half, {0.0423, 0.106, 2.66e+04, 11.7, 0.177}},  // 80 points
    {depthwise, backward_input, tf32, {0.0348, 0.0671, 4.83e+04, 1.27e+04, 0.463}},  // 80 points
    {depthwise, backward_input, half, {0.033, 0.0273, 4.19e+04, 1.71e+03, 0.482}},  // 40 points
    {depthwise, backward_weight, tf32, {0.0158, 0.303, 7.47e+04, 111, 0.603}},  // 80 points
    {depthwise, backward_weight, half, {0.0194, 0.157, 2.61e+05, 3.42e+05, 0.648}},  // 40 points
    {depthwise_channels_last, forward, tf32, {0.0985, 0.857, 3.12e+04, 342, 0.264}},  // 80 points
    {depthwise_channels_last, forward, half, {0.177, 0.535, 3.77e+05, 1.5e+05, 0.682}},  // 60 points
    {depthwise_channels_last, backward_input, tf32, {0.0896, 0.642, 4.94e+04, 1.65e+04, 0.613}},  // 40 points
    {depthwise_channels_last, backward_input, half, {0.0954, 0.27, 4.16e+04, 2.44e+04, 0.613}},  // 30 points
    {depthwise_channels_last, backward_weight, tf32, {0.0677, 0.402, 1.17e+06, 4.66e+04, 1.39}},  // 40 points
    {depthwise_channels_last, backward_weight, half, {0.199, 0.396, 1.06e+06, 2.44e+05, 0.494}},  // 30 points
    {matrix, forward, vector, {0.603, 0.411, 2.24e+06, 2.14e+05, 0.5}},  // 600 points
    {matrix, forward, tf32, {0.705, 0.603, 1.3e+07, 2.14e+05, 0.411}},  // 200 points
    {matrix, forward, half, {0.762, 0.448, 1.31e+07, 7.39e+04, 0.648}},  // 560 points
    {matrix, backward_input, vector, {0.673, 0.338, 2.04e+06, 1.46e+05, 0.36}},  // 240 points
    {matrix, backward_input, tf32, {0.637, 0.673, 1.28e+07, 2.58e+05, 0.331}},  // 60 points
    {matrix, backward_input, half, {0.745, 0.508, 9.79e+06, 8.12e+04, 0.587}},  // 150 points
    {matrix, backward_weight, vector, {0.689, 0.301, 5.19e+05, 1.93e+04, 0.262}},  // 240 points
    {matrix, backward_weight, tf32, {0.366, 0.637, 4.48e+06, 1.46e+05, 0.337}},  // 60 points
    {matrix, backward_weight, half, {0.774, 0.415, 7.22e+06, 3.66e+04, 0.509}},  // 150 points
    {batched, forward, vector, {0.47, 0.396, 5.88e+05, 6.47e+04, 0.319}},  // 150 points
    {batched, forward, tf32, {1, 0.504, 7.39e+06, 9.49e+04, 0.344}},  // 60 points
    {batched, forward, half, {0.727, 0.473, 7.39e+06, 4.7e+04, 0.526}},  // 120 points
    {batched, backward_input, vector, {0.466, 0.402, 1.76e+06, 1.96e+05, 0.199}},  // 80 points
    {batched, backward_input, half, {0.14, 0.313, 3.74e+06, 8.12e+04, 0.576}},  // 40 points
    {attention, forward, vector, {0.396, 0.188, 3.08e+06, 2.07e+05, 0.458}},  // 220 points
    {attention, forward, tf32, {0.0565, 0.191, 2.33e+06, 1.42e+05, 0.375}},  // 50 points
    {attention, forward, half, {0.244, 0.607, 1.08e+07, 2.58e+05, 0.503}},  // 250 points
    {attention, backward_input, vector, {0.36, 0.108, 6.03e+06, 2.1e+05, 0.443}},  // 120 points
    {attention, backward_input, half, {0.272, 0.292, 2.79e+07, 2.88e+05, 0.331}},  // 110 points
    {batch_norm, forward, vector, {1, 0.549, 1.35e+05, 2.57e+04, 0.526}},  // 60 points
    {batch_norm, forward, half, {0.824, 0.328, 1e+06, 8.31e+04, 0.385}},  // 40 points
    {batch_norm_training, forward, vector, {0.5, 0.571, 1e+06, 2.99e+05, 1.02}},  // 80 points
    {batch_norm_training, forward, half, {0.5, 0.12, 1e+06, 1.44e+05, 0.824}},  // 30 points
    {batch_norm_training, backward_input, vector, {1, 0.466, 1e+06, 1.72e+05, 1.2}},  // 70 points
    {batch_norm_training, backward_input, half, {0.5, 0.102, 1.35e+05, 1.67e+04, 1.27}},  // 20 points
    {layer_norm, forward, vector, {1, 0.438, 1e+06, 8.37e+04, 0.723}},  // 100 points
    {layer_norm, forward, half, {1, 0.366, 1e+06, 8.31e+04, 0.729}},  // 80 points
    {layer_norm, backward_input, vector, {0.824, 0.346, 1e+06, 8.84e+04, 0.538}},  // 70 points
    {layer_norm, backward_input, half, {0.5, 0.132, 1.35e+05, 3.1e+04, 0.786}},  // 40 points
    {group_norm, forward, vector, {0.112, 0.349, 1e+06, 5.55e+05, 0.883}},  // 50 points
    {group_norm, forward, half, {0.0677, 0.0985, 1.35e+05, 5.8e+04, 0.851}},  // 30 points
    {group_norm, backward_input, vector, {0.5, 0.336, 1e+06, 2.12e+05, 0.315}},  // 30 points
    {group_norm, backward_input, half, {0.0194, 0.184, 8.21e+04, 2.12e+04, 0.383}},  // 15 points
    {softmax, forward, vector, {1, 0.739, 1.35e+05, 3.03e+04, 0.455}},  // 100 points
    {softmax, forward, half, {1, 0.377, 1.35e+05, 2.72e+04, 0.469}},  // 60 points
    {softmax, backward_input, vector, {1, 0.455, 5.88e+05, 4.05e+04, 0.174}},  // 60 points
    {softmax, backward_input, half, {1, 0.402, 6.26e+05, 3.77e+04, 0.253}},  // 30 points
    {max_pool, forward, vector, {0.00916, 0.38, 3.75e+03, 3.36e+04, 0.353}},  // 60 points
    {max_pool, forward, half, {0.112, 0.113, 9.16e+04, 10, 0.455}},  // 30 points
    {max_pool, backward_input, vector, {0.0171, 0.135, 6.2e+04, 6.22e+04, 0.294}},  // 40 points
    {max_pool, backward_input, half, {0.0351, 0.0829, 123, 4.31e+04, 0.335}},  // 15 points
    {average_pool, forward, vector, {0.0291, 0.177, 1.98e+04, 3.4e+03, 0.305}},  // 50 points
    {average_pool, forward, half, {0.028, 0.0869, 100, 4.72e+03, 0.26}},  // 25 points
    {average_pool, backward_input, vector, {0.5, 0.0484, 1.35e+05, 9.54e+03, 0.329}},  // 30 points
    {average_pool, backward_input, half, {0.5, 0.0175, 1e+06, 4.51e+03, 0.262}},  // 15 points
    {global_pool, forward, vector, {1, 0.911, 1e+06, 2.15e+05, 0.327}},  // 40 points
    {global_pool, forward, half, {0.779, 0.608, 4.17e+05, 4.81e+04, 0.585}},  // 20 points
    {global_pool, backward_input, vector, {1, 0.352, 1.83e+04, 2.71e+03, 0.322}},  // 20 points
    {global_pool, backward_input, half, {1, 0.131, 1.35e+05, 1.27e+03, 0.292}},  // 10 points
    {unary, forward, vector, {1, 0.882, 100, 10, 0.166}},  // 60 points
    {unary, forward, half, {1, 0.869, 100, 10, 0.133}},  // 55 points
    {unary, backward_input, vector, {1, 0.911, 100, 10, 0.152}},  // 50 points
    {unary, backward_input, half, {1, 0.911, 100, 10, 0.113}},  // 25 points
    {function, forward, vector, {1, 0.882, 100, 11.3, 0.0974}},  // 50 points
    {function, forward, half, {1, 0.652, 1.43e+04, 1.33e+03, 0.177}},  // 50 points
    {function, backward_input, vector, {1, 0.911, 1.83e+04, 1.23e+04, 0.151}},  // 40 points
    {function, backward_input, half, {1, 0.711, 9.3e+04, 9.69e+03, 0.187}},  // 20 points
    {binary, forward, vector, {1, 0.911, 100, 10, 0.222}},  // 60 points
    {binary, forward, half, {1, 0.918, 100, 10, 0.156}},  // 55 points
    {broadcast, forward, vector, {1, 0.558, 1.35e+05, 1.37e+04, 0.254}},  // 60 points
    {broadcast, forward, half, {0.882, 0.178, 2.87e+05, 3e+03, 0.297}},  // 30 points
    {row_sum, forward, vector, {1, 0.842, 8.82e+05, 1.16e+05, 0.272}},  // 50 points
    {row_sum, forward, half, {1, 0.733, 6.07e+05, 8.05e+04, 0.236}},  // 25 points
    {column_sum, forward, vector, {1, 0.647, 7.79e+05, 8.37e+04, 0.566}},  // 60 points
    {column_sum, forward, half, {1, 0.598, 1e+06, 1.18e+05, 0.599}},  // 30 points
    {embedding, forward, vector, {0.5, 0.939, 1e+06, 1.42e+04, 0.58}},  // 50 points
    {embedding, forward, half, {0.5, 0.607, 1e+06, 24.8, 0.701}},  // 30 points
    {embedding, backward_input, vector, {0.242, 0.492, 1.02e+06, 1.01e+05, 1.04}},  // 40 points
    {embedding, backward_input, half, {0.377, 0.389, 1e+06, 8.57e+04, 1.07}},  // 20 points
    {copy, forward, vector, {0.5, 0.575, 1e+06, 10, 0.307}},  // 50 points
    {copy, forward, half, {0.5, 0.575, 1e+06, 10, 0.334}},  // 30 points
    {transpose, forward, vector, {0.5, 0.24, 1e+06, 2.05e+03, 0.303}},  // 70 points
    {transpose, forward, half, {0.5, 0.13, 1e+06, 4.76e+03, 0.346}},  // 40 points
    {optimizer_sgd, forward, vector, {1, 0.733, 1.35e+05, 1.19e+05, 0.8}},  // 30 points
    {optimizer_sgd, forward, half, {1, 0.166, 3.68e+05, 1.5e+04, 0.866}},  // 20 points
    {optimizer_momentum, forward, vector, {0.5, 0.408, 1e+06, 1.34e+05, 0.692}},  // 40 points
    {optimizer_momentum, forward, half, {0.5, 0.0876, 1.35e+05, 1.65e+04, 0.799}},  // 20 points
    {optimizer_adam, forward, vector, {0.5, 0.251, 1e+06, 6.14e+05, 0.693}},  // 40 points
    {optimizer_adam, forward, half, {0.5, 0.0574, 1e+06, 6.32e+04, 0.672}},  // 20 points
};
// clang-format on

}  // namespace

std::span<const KernelEfficiencyRow> kernel_efficiencies() {
  return kRows;
}

}  // namespace plimsoll::estimate
