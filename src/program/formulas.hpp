#pragma once
#include "program/work_table.hpp"

namespace plimsoll::program {

/// The formulas that rows of the work table point to. Each gives the MACs of an operator and the FLOPs
/// beyond them, for the numbers that its Site shows.
namespace formula {

Operations nothing(const Site&, const WorkRow&);
Operations per_output(const Site&, const WorkRow&);       ///< cost per element of the first output
Operations per_input(const Site&, const WorkRow&);        ///< cost per element of the first input
Operations per_extra_input(const Site&, const WorkRow&);  ///< (inputs - 1) per output element: Sum, Max
Operations batch_norm(const Site&, const WorkRow&);
Operations dropout(const Site&, const WorkRow&);
Operations convolution(const Site&, const WorkRow&);            ///< weight is input 1, bias input 2
Operations convolution_quantized(const Site&, const WorkRow&);  ///< weight is input 3, bias input 8
Operations convolution_transposed(const Site&, const WorkRow&);
Operations convolution_deformed(const Site&, const WorkRow&);
Operations matmul(const Site&, const WorkRow&);
Operations matmul_scaled(const Site&, const WorkRow&);  ///< FusedMatMul: transA, transB, alpha
Operations matmul_nbits(const Site&, const WorkRow&);
Operations gemm(const Site&, const WorkRow&);
Operations einsum(const Site&, const WorkRow&);
Operations recurrent(const Site&, const WorkRow&);
Operations pool(const Site&, const WorkRow&);
Operations resize(const Site&, const WorkRow&);
Operations grid_sample(const Site&, const WorkRow&);
Operations roi_align(const Site&, const WorkRow&);
Operations roi_pool(const Site&, const WorkRow&);
Operations non_max_suppression(const Site&, const WorkRow&);
Operations fourier(const Site&, const WorkRow&);
Operations short_time_fourier(const Site&, const WorkRow&);
Operations determinant(const Site&, const WorkRow&);
Operations attention(const Site&, const WorkRow&);         ///< ONNX's own, opset 23
Operations attention_packed(const Site&, const WorkRow&);  ///< com.microsoft Attention: projections inside
Operations attention_multi_head(const Site&, const WorkRow&);
Operations attention_grouped(const Site&, const WorkRow&);
Operations experts(const Site&, const WorkRow&);  ///< experts.cpp: com.microsoft MoE

}  // namespace formula
}  // namespace plimsoll::program
