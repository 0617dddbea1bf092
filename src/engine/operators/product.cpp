#include <array>
#include <string>

#include <ATen/ops/addmm.h>
#include <ATen/ops/einsum.h>
#include <ATen/ops/linalg_det.h>
#include <ATen/ops/linear.h>

#include "engine/operators/forms.hpp"

namespace plimsoll::engine {
namespace {

using at::Tensor;

/// alpha A B + beta C. As PyTorch's Linear wherever it is one: the weight turned, a bias of one dimension.
struct Gemm {
  double alpha, beta;
  bool turn_a, turn_b;

  void operator()(Call& c) const {
    Tensor a = c.in(0), b = c.in(1);
    const Tensor bias = optional_input(c, 2);
    if (alpha == 1 && beta == 1 && !turn_a && turn_b && is_floating(a) &&
        (!bias.defined() || bias.dim() == 1))
      return c.out(0, at::linear(a, b, bias));
    if (turn_a) a = a.t();
    if (turn_b) b = b.t();
    if (bias.defined())
      return c.out(0, is_floating(a) ? at::addmm(bias, a, b, beta, alpha) : integers(a, b, bias));
    const Tensor product = a.mm(b);
    c.out(0, alpha == 1 ? product : product.mul(alpha));
  }

  /// Whole numbers scaled by reals: in double precision, which holds them.
  [[nodiscard]] Tensor integers(const Tensor& a, const Tensor& b, const Tensor& bias) const {
    const auto real = [](const Tensor& x) { return x.to(at::kDouble); };
    return at::addmm(real(bias), real(a), real(b), beta, alpha).to(a.scalar_type());
  }
};

Result<Kernel> prepare_gemm(const Preparation& p) {
  return Gemm{p.real("alpha", 1), p.real("beta", 1), p.integer("transA", 0) != 0,
              p.integer("transB", 0) != 0};
}

Result<Kernel> prepare_einsum(const Preparation& p) {
  std::string equation(p.text("equation", ""));
  return [equation](Call& c) {
    std::vector<Tensor> operands;
    for (std::size_t i = 0; i < c.inputs(); ++i) operands.push_back(c.in(i));
    c.out(0, at::einsum(equation, operands));
  };
}

Result<Kernel> prepare_fused_matmul(const Preparation& p) {
  if (p.integer("transBatchA", 0) != 0 || p.integer("transBatchB", 0) != 0)
    return fail("FusedMatMul that moves the batch cannot be executed");
  return [alpha = p.real("alpha", 1), turn_a = p.integer("transA", 0) != 0,
          turn_b = p.integer("transB", 0) != 0](Call& c) {
    const auto turned = [](const Tensor& x, bool turn) {
      return turn && x.dim() > 1 ? x.transpose(-1, -2) : x;
    };
    const Tensor product = turned(c.in(0), turn_a).matmul(turned(c.in(1), turn_b));
    c.out(0, alpha == 1 ? product : product.mul(alpha));
  };
}

constexpr auto kProductRows = std::to_array<OperatorRow>({
    {"Det", unary<[](const Tensor& x) { return at::linalg_det(x); }>},
    {"Einsum", prepare_einsum},
    {"Gemm", prepare_gemm},
    {"MatMul", binary<[](const Tensor& a, const Tensor& b) { return a.matmul(b); }>},
    {"FusedMatMul", prepare_fused_matmul, kMicrosoft},
});

}  // namespace

std::span<const OperatorRow> product_rows() {
  return kProductRows;
}

}  // namespace plimsoll::engine
