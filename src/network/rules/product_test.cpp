#include "network/rules/one_operator.hpp"

namespace plimsoll::network::testing {
namespace {

TEST(Product, MultipliesAsNumpyDoes) {
  check(std::to_array<OneOperator>({
      {"MatMul", "2x3 3x4", "", "2x4"},
      {"MatMul", "3 3", "", "scalar"},
      {"MatMul", "3 3x4", "", "4"},
      {"MatMul", "5x2x3 3", "", "5x2"},
      {"MatMul", "3 5x3x4", "", "5x4"},
      {"MatMul", "7x1x2x3 5x3x4", "", "7x5x2x4"},
      {"MatMul", "nx12xsx64 nx12x64xs", "", "nx12xsxs"},
      {"MatMul", "0x3 3x4", "", "0x4"},
      {"MatMul", "? 3x4", "", "?"},
      {"MatMul", "2x3 4x5", "", "error: 2x3 times 4x5: the inner extents 3 and 4 differ"},
      {"MatMul", "scalar 4x5", "", "error: a scalar has no matrix product"},
      {"MatMul", "2x2x3 5x3x4", "", "error: do not broadcast"},
      {"MatMulInteger", "2x3:uint8 3x4:int8", "", "int32 2x4"},
      {"Gemm", "3x2 4x3 4", "transA=1 transB=1", "2x4"},
      {"Gemm", "2x3 3x4 2x1", "", "2x4"},
      {"Gemm", "2x3 3x4 5", "", "error: do not broadcast"},
      {"Gemm", "2x3 3x1 2x4", "", "error: does not broadcast to the product's 2x1"},
      {"Gemm", "? 3x4", "", "Gemm_1.Ax4"},
      {"Gemm", "2x3x4 4x5", "", "error: A has the shape 2x3x4; it must have 2 dimensions"},
      {"Det", "5x3x3", "", "5"},
      {"Det", "3x3", "", "scalar"},
      {"Det", "3x4", "", "error: 3x4 is not a square matrix"},
  }));
}

TEST(Product, ReadsEquations) {
  check(std::to_array<OneOperator>({
      {"Einsum", "2x3 3x4", "equation=ij,jk->ik", "2x4"},
      {"Einsum", "2x3 3x4", "equation=ij,jk", "2x4"},
      {"Einsum", "2x3", "equation=ji", "3x2"},
      {"Einsum", "3x3", "equation=ii->i", "3"},
      {"Einsum", "3x3", "equation=ii", "scalar"},
      {"Einsum", "5x3x3", "equation=...ii->...i", "5x3"},
      {"Einsum", "5x2x3 1x3x4", "equation=...ij,...jk", "5x2x4"},
      {"Einsum", "2x8x12x64 2x9x12x64", "equation=bqhd,bkhd->bhqk", "2x12x8x9"},
      {"Einsum", "? 3x4", "equation=ij,jk->ik", "Einsum_1.extentx4"},
      {"Einsum", "? 3x4", "equation=...ij,jk->...ik", "?"},
      {"Einsum", "2x3 4x5", "equation=ij,jk->ik", "error: label 'j' stands for 3 and for 4"},
      {"Einsum", "2x3", "equation=ijk->i", "error: names 3 extents of the input 2x3"},
      {"Einsum", "2x3", "equation=ij,jk->i", "error: more terms"},
      {"Einsum", "2x3 3x4", "equation=ij->i", "error: 1 terms for 2 inputs"},
      {"Einsum", "2x3", "equation=ij->k", "error: names 'k', which no input has"},
      {"Einsum", "2x3", "equation=ij->ii", "error: twice"},
      {"Einsum", "2x3", "equation=i%->i", "error: cannot be read"},
      {"Einsum", "2x3", "equation=ij->.", "error: cannot be read"},
  }));
}

}  // namespace
}  // namespace plimsoll::network::testing
