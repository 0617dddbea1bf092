#include "network/rules/product.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "network/operators.hpp"
#include "network/rules/extents.hpp"

namespace plimsoll::network {

Result<Shape> matrix_product(InferenceContext& c, std::span<const Dim> a, std::span<const Dim> b,
                             Transposed t) {
  if (a.empty() || b.empty())
    return fail("{} times {}: a scalar has no matrix product", c.show(a), c.show(b));
  const std::size_t ra = a.size(), rb = b.size();
  // A vector is a row on the left and a column on the right, and its own extent vanishes.
  const bool swap_a = t.a && ra > 1, swap_b = t.b && rb > 1;
  const Dim inner_a = a[swap_a ? ra - 2 : ra - 1];
  const Dim inner_b = rb == 1 ? b[0] : b[swap_b ? rb - 1 : rb - 2];
  if (differ(inner_a, inner_b))
    return fail("{}{} times {}{}: the inner extents {} and {} differ", c.show(a), swap_a ? " transposed" : "",
                c.show(b), swap_b ? " transposed" : "", inner_a.value(), inner_b.value());
  Result<Shape> out = c.broadcast(ra > 2 ? a.first(ra - 2) : std::span<const Dim>{},
                                  rb > 2 ? b.first(rb - 2) : std::span<const Dim>{});
  if (!out) return out;
  if (ra > 1) out->push_back(a[swap_a ? ra - 1 : ra - 2]);
  if (rb > 1) out->push_back(b[swap_b ? rb - 2 : rb - 1]);
  return out;
}

Status infer_matrix_product(InferenceContext& c, std::size_t a, std::size_t b, DataType type,
                            Transposed transposed) {
  if (!c.ranked(a) || !c.ranked(b)) {
    c.set_unranked(0, type);
    return {};
  }
  const Result<Shape> shape = matrix_product(c, c.dims(a), c.dims(b), transposed);
  PLIMSOLL_TRY(shape);
  c.set(0, type, *shape);
  return {};
}

Status infer_gemm(InferenceContext& c, std::size_t a, std::size_t b, std::size_t bias, DataType type) {
  const Result<Shape> left = shape_of_rank(c, a, 2, "A");
  PLIMSOLL_TRY(left);
  const Result<Shape> right = shape_of_rank(c, b, 2, "B");
  PLIMSOLL_TRY(right);
  const Result<Shape> shape = matrix_product(c, left->dims(), right->dims(),
                                             {c.integer("transA", 0) != 0, c.integer("transB", 0) != 0});
  PLIMSOLL_TRY(shape);
  if (c.ranked(bias)) {
    const Result<Shape> whole = c.broadcast(shape->dims(), c.dims(bias));
    PLIMSOLL_TRY(whole);
    if (whole->rank() != 2 || differ((*whole)[0], (*shape)[0]) || differ((*whole)[1], (*shape)[1]))
      return fail("C has the shape {}, which does not broadcast to the product's {}", c.show(c.dims(bias)),
                  c.show(shape->dims()));
  }
  c.set(0, type, *shape);
  return {};
}

namespace {

Status matmul(InferenceContext& c) {
  return infer_matrix_product(c, 0, 1, c.type(0));
}
Status matmul_integer(InferenceContext& c) {
  return infer_matrix_product(c, 0, 1, DataType::int32);
}
Status gemm(InferenceContext& c) {
  return infer_gemm(c, 0, 1, 2, c.type(0));
}

Status det(InferenceContext& c) {
  if (!c.ranked(0)) {
    c.set_unranked(0, c.type(0));
    return {};
  }
  const auto dims = c.dims(0);
  if (dims.size() < 2 || differ(dims[dims.size() - 1], dims[dims.size() - 2]))
    return fail("{} is not a square matrix", c.show(dims));
  c.set(0, c.type(0), Shape(dims.first(dims.size() - 2)));
  return {};
}

/// What the inputs say about the labels of an Einsum's equation.
class Equation {
 public:
  explicit Equation(InferenceContext& c) : c_(c) {}

  Status input(std::size_t index, std::string_view term) {
    const Result<std::size_t> labels = count_labels(term);
    PLIMSOLL_TRY(labels);
    const std::size_t dots = term.find('.');
    const bool ellipsis = dots != std::string_view::npos;
    if (!c_.ranked(index)) {
      if (ellipsis) ellipsis_known_ = false;
      for (const char label : term)
        if (label != '.') PLIMSOLL_TRY(meet(label, c_.unknown("extent", {}), true));
      return {};
    }
    const auto dims = c_.dims(index);
    if (dims.size() < *labels || (!ellipsis && dims.size() != *labels))
      return fail("equation's term '{}' names {} extents of the input {}", term, *labels, c_.show(dims));
    std::size_t at = 0;
    for (std::size_t i = 0; i < term.size(); ++i) {
      if (term[i] != '.') {
        PLIMSOLL_TRY(meet(term[i], dims[at++], false));
        continue;
      }
      const std::size_t covered = dims.size() - *labels;
      const Result<Shape> both = c_.broadcast(ellipsis_.dims(), dims.subspan(at, covered));
      PLIMSOLL_TRY(both);
      ellipsis_ = *both;
      at += covered;
      i += 2;
    }
    return {};
  }

  Status output(std::string_view term) {
    const Result<std::size_t> labels = count_labels(term);
    PLIMSOLL_TRY(labels);
    Shape shape;
    std::array<bool, 128> used{};
    for (std::size_t i = 0; i < term.size(); ++i) {
      if (term[i] == '.') {
        if (!ellipsis_known_) {
          c_.set_unranked(0, c_.type(0));
          return {};
        }
        shape.append(ellipsis_.dims());
        i += 2;
        continue;
      }
      const auto label = static_cast<unsigned char>(term[i]);
      if (uses_[label] == 0) return fail("the equation's result names '{}', which no input has", term[i]);
      if (std::exchange(used[label], true)) return fail("the equation's result names '{}' twice", term[i]);
      shape.push_back(extents_[label]);
    }
    c_.set(0, c_.type(0), shape);
    return {};
  }

  /// Without "->" the result has the ellipsis and then, in alphabetical order, the labels that occur once.
  [[nodiscard]] std::string implicit_output(bool ellipsis) const {
    std::string term = ellipsis ? "..." : "";
    for (std::size_t label = 0; label < uses_.size(); ++label)
      if (uses_[label] == 1) term += static_cast<char>(label);
    return term;
  }

 private:
  static Result<std::size_t> count_labels(std::string_view term) {
    std::size_t labels = 0;
    bool ellipsis = false;
    for (std::size_t i = 0; i < term.size(); ++i) {
      const char x = term[i];
      if ((x >= 'a' && x <= 'z') || (x >= 'A' && x <= 'Z')) {
        ++labels;
      } else if (!ellipsis && term.substr(i).starts_with("...")) {
        ellipsis = true;
        i += 2;
      } else {
        return fail("the equation's term '{}' cannot be read", term);
      }
    }
    return labels;
  }

  Status meet(char name, Dim extent, bool guessed) {
    const auto label = static_cast<unsigned char>(name);
    Dim& known = extents_[label];
    const bool first = uses_[label] == 0;
    if (uses_[label] < 2) ++uses_[label];
    if (first || (guesses_[label] && !guessed)) {
      known = extent;
      guesses_[label] = guessed;
      return {};
    }
    if (guessed) return {};
    const Result<Shape> both = c_.broadcast({&known, 1}, {&extent, 1});
    if (!both)
      return fail("label '{}' stands for {} and for {}", name, c_.symbols().text(known),
                  c_.symbols().text(extent));
    known = (*both)[0];
    return {};
  }

  InferenceContext& c_;
  std::array<Dim, 128> extents_{};
  std::array<std::uint8_t, 128> uses_{};
  std::array<bool, 128> guesses_{};
  Shape ellipsis_;
  bool ellipsis_known_ = true;
};

Status einsum(InferenceContext& c) {
  std::string text(c.text("equation", ""));
  std::erase(text, ' ');
  const std::string_view whole = text;
  const std::size_t arrow = whole.find("->");
  std::string_view left = whole.substr(0, arrow);
  const bool ellipsis = left.find('.') != std::string_view::npos;

  Equation equation(c);
  std::size_t terms = 0;
  for (bool more = true; more; ++terms) {
    const std::size_t comma = left.find(',');
    more = comma != std::string_view::npos;
    if (terms == c.inputs())
      return fail("equation '{}' has more terms than the {} inputs", whole, c.inputs());
    PLIMSOLL_TRY(equation.input(terms, left.substr(0, comma)));
    if (more) left.remove_prefix(comma + 1);
  }
  if (terms != c.inputs()) return fail("equation '{}' has {} terms for {} inputs", whole, terms, c.inputs());
  if (arrow == std::string_view::npos) return equation.output(equation.implicit_output(ellipsis));
  return equation.output(whole.substr(arrow + 2));
}

constexpr OperatorInfo kProductOperators[] = {
    {"Det", 1, 1, 1, det},
    {"Einsum", 1, kAny, 1, einsum},
    {"Gemm", 2, 3, 1, gemm},
    {"MatMul", 2, 2, 1, matmul},
    {"MatMulInteger", 2, 4, 1, matmul_integer},
};

}  // namespace

std::span<const OperatorInfo> product_operators() {
  return kProductOperators;
}

}  // namespace plimsoll::network
