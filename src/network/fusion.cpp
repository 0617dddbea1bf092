// Finds, in an exported graph, the operators that are one kernel in the framework that exported it.
#include "network/fusion.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>

#include "network/operators.hpp"

namespace plimsoll::network {
namespace {

using Kind = Fusion::Kind;

constexpr std::uint32_t kNone = 0xffffffff;
constexpr int kLongestChain = 8;     // of Identity; exporters write one
constexpr double kNear = 1e-3;       // constants are stored in half precision at worst
constexpr double kForbidden = -1e4;  // what masks add to scores that must not count, or less

struct Kinds {
  OperatorKind add = find_operator("", "Add"), sub = find_operator("", "Sub"), mul = find_operator("", "Mul"),
               div = find_operator("", "Div"), erf = find_operator("", "Erf"),
               sigmoid = find_operator("", "Sigmoid"), hard_sigmoid = find_operator("", "HardSigmoid"),
               softmax = find_operator("", "Softmax"), mat_mul = find_operator("", "MatMul"),
               where = find_operator("", "Where"), is_nan = find_operator("", "IsNaN"),
               transpose = find_operator("", "Transpose"), reshape = find_operator("", "Reshape"),
               pow = find_operator("", "Pow"), sqrt = find_operator("", "Sqrt"),
               mean = find_operator("", "ReduceMean"), dropout = find_operator("", "Dropout"),
               identity = find_operator("", "Identity"), cast = find_operator("", "Cast"),
               shape = find_operator("", "Shape"), size = find_operator("", "Size");
};

class Recogniser {
 public:
  Recogniser(const Network& network, const Shapes& shapes)
      : network_(network),
        shapes_(shapes),
        operators_(network.main().operators),
        found_(operators_.size()),
        maker_(network.tensors.size(), kNone),
        uses_(network.tensors.size(), 0),
        user_(network.tensors.size(), kNone) {
    for (std::uint32_t i = 0; i < operators_.size(); ++i) {
      for (const TensorId id : network.outputs(operators_[i]))
        if (id != kNoTensor) maker_[index(id)] = i;
      if (is(i, k_.shape) || is(i, k_.size))
        continue;  // ask for the extents alone, which are known without the tensor
      for (const TensorId id : network.inputs(operators_[i])) {
        if (id == kNoTensor) continue;
        ++uses_[index(id)];
        user_[index(id)] = i;
      }
    }
    for (const TensorId id : network.main().outputs) uses_[index(id)] += 2;
  }

  std::vector<Fusion> run() {
    for (std::uint32_t i = 0; i < operators_.size(); ++i) {
      const OperatorKind kind = operators_[i].kind;
      if (kind == k_.softmax)
        attention(i);
      else if (kind == k_.erf)
        gelu(i);
      else if (kind == k_.sigmoid)
        gated(i, Kind::silu);
      else if (kind == k_.hard_sigmoid)
        gated(i, Kind::hard_swish);
      else if (kind == k_.mat_mul)
        linear(i);
      else if (kind == k_.sqrt)
        layer_norm(i);
    }
    return std::move(found_);
  }

 private:
  static std::size_t index(TensorId id) { return static_cast<std::size_t>(id); }
  [[nodiscard]] TensorId in(std::uint32_t op, std::size_t i) const {
    const auto inputs = network_.inputs(operators_[op]);
    return i < inputs.size() ? inputs[i] : kNoTensor;
  }
  [[nodiscard]] TensorId out(std::uint32_t op) const {
    const auto outputs = network_.outputs(operators_[op]);
    return outputs.empty() ? kNoTensor : outputs.front();
  }
  [[nodiscard]] std::uint32_t maker(TensorId id) const { return id == kNoTensor ? kNone : maker_[index(id)]; }
  [[nodiscard]] bool is(std::uint32_t op, OperatorKind kind) const {
    return op != kNone && operators_[op].kind == kind;
  }
  /// The operator that alone uses the tensor.
  [[nodiscard]] std::uint32_t only_user(TensorId id) const {
    return id != kNoTensor && uses_[index(id)] == 1 ? user_[index(id)] : kNone;
  }
  [[nodiscard]] bool weight(TensorId id) const {
    // Exporters store equal weights once, and hand them on by Identity.
    for (int i = 0; i < kLongestChain && is(maker(id), k_.identity); ++i) id = in(maker(id), 0);
    if (id == kNoTensor) return false;
    const auto role = network_.tensor(id).role;
    return role == Role::parameter || role == Role::buffer;
  }
  [[nodiscard]] std::optional<double> number(TensorId id) const {
    if (id == kNoTensor || !shapes_.at(id).has_value) return std::nullopt;
    const auto value = shapes_.value(id);
    if (value.size() != 1 || value[0].is_symbol()) return std::nullopt;
    return value[0].real();
  }
  /// A number that the graph computes from shapes, or stores: no tensor of the device.
  [[nodiscard]] bool scalar(TensorId id) const { return id != kNoTensor && shapes_.elements(id).high == 1; }
  void skip(std::initializer_list<std::uint32_t> ops) {
    for (const std::uint32_t op : ops)
      if (op != kNone) found_[op].kind = Kind::skipped;
  }
  /// Whether no operator but these and `last` reads what these make: only then need it not be there.
  [[nodiscard]] bool closed(std::initializer_list<std::uint32_t> inner, std::uint32_t last) const {
    const auto reads = [&](std::uint32_t op, TensorId id) {
      return op == kNone ? 0 : std::ranges::count(network_.inputs(operators_[op]), id);
    };
    for (const std::uint32_t op : inner) {
      if (op == kNone) continue;
      for (const TensorId made : network_.outputs(operators_[op])) {
        if (made == kNoTensor) continue;
        auto inside = reads(last, made);
        for (const std::uint32_t other : inner) inside += reads(other, made);
        if (inside != uses_[index(made)]) return false;
      }
    }
    return true;
  }
  Fusion& fuse(std::uint32_t last, Kind kind, TensorId a, TensorId b = kNoTensor, TensorId c = kNoTensor) {
    found_[last] = {.kind = kind, .inputs = {a, b, c}};
    return found_[last];
  }
  [[nodiscard]] bool near(TensorId id, double wanted) const {
    const std::optional<double> found = number(id);
    return found && std::abs(*found - wanted) <= kNear * std::abs(wanted);
  }
  /// The other operand of a product or sum of two.
  [[nodiscard]] TensorId beside(std::uint32_t op, TensorId one) const {
    return in(op, 0) == one ? in(op, 1) : in(op, 0);
  }
  [[nodiscard]] bool last_axis_only(std::uint32_t mean) const {
    const Operator& op = operators_[mean];
    std::optional<std::int64_t> axis;
    if (const Attribute* axes = network_.find(op, "axes"); axes != nullptr) {
      if (const auto list = network_.integers_of(*axes); list.size() == 1) axis = list[0];
    } else if (const std::optional<double> given = number(in(mean, 1))) {
      axis = static_cast<std::int64_t>(*given);
    }
    if (!axis || !shapes_.ranked(in(mean, 0))) return false;
    return *axis == -1 || *axis + 1 == static_cast<std::int64_t>(shapes_.dims(in(mean, 0)).size());
  }

  // x/sqrt(2) -> Erf -> +1 -> times x -> times 0.5, the last two in either order and place.
  void gelu(std::uint32_t erf) {
    const std::uint32_t scale = maker(in(erf, 0));
    if (!is(scale, k_.div) && !is(scale, k_.mul)) return;
    const TensorId x = in(scale, 0);
    if (!near(in(scale, 1), is(scale, k_.div) ? std::numbers::sqrt2 : 1 / std::numbers::sqrt2)) return;
    const std::uint32_t plus = only_user(out(erf));
    if (!is(plus, k_.add) || !near(beside(plus, out(erf)), 1)) return;
    const std::uint32_t first = only_user(out(plus));
    if (!is(first, k_.mul)) return;
    const TensorId other = beside(first, out(plus));
    if (near(other, 0.5)) {  // 0.5 (1 + erf) times x
      const std::uint32_t last = only_user(out(first));
      if (!is(last, k_.mul) || (in(last, 0) != x && in(last, 1) != x)) return;
      if (!closed({scale, erf, plus, first}, last)) return;
      skip({scale, erf, plus, first});
      fuse(last, Kind::gelu, x);
      return;
    }
    if (other == x) {  // x (1 + erf), then times 0.5
      const std::uint32_t last = only_user(out(first));
      if (!is(last, k_.mul) || !near(beside(last, out(first)), 0.5)) return;
      if (!closed({scale, erf, plus, first}, last)) return;
      skip({scale, erf, plus, first});
      fuse(last, Kind::gelu, x);
      return;
    }
    const std::uint32_t half = maker(other);  // x times 0.5, then times (1 + erf)
    if (!is(half, k_.mul) || (in(half, 0) != x && in(half, 1) != x) || !near(beside(half, x), 0.5)) return;
    if (!closed({scale, erf, plus, half}, first)) return;
    skip({scale, erf, plus, half});
    fuse(first, Kind::gelu, x);
  }

  // x times sigmoid(x)
  void gated(std::uint32_t gate, Kind kind) {
    const TensorId x = in(gate, 0);
    if (kind == Kind::hard_swish) {  // a sixth of x, plus a half; the operator's own default is a fifth
      const Attribute* slope = network_.find(operators_[gate], "alpha");
      const Attribute* offset = network_.find(operators_[gate], "beta");
      if (slope == nullptr || std::abs(slope->real - 1.0 / 6) > kNear) return;
      if (offset != nullptr && std::abs(offset->real - 0.5) > kNear) return;
    }
    const std::uint32_t product = only_user(out(gate));
    if (!is(product, k_.mul) || (in(product, 0) != x && in(product, 1) != x)) return;
    skip({gate});
    fuse(product, kind, x);
  }

  // MatMul with a stored weight, and the bias that is added to it
  void linear(std::uint32_t product) {
    if (found_[product].kind != Kind::none) return;
    TensorId weights = in(product, 1);
    const std::uint32_t turn = maker(weights);
    if (is(turn, k_.transpose)) weights = in(turn, 0);
    if (!weight(weights) || weight(in(product, 0))) return;
    if (shapes_.ranked(weights) && shapes_.dims(weights).size() != 2) return;
    if (is(turn, k_.transpose) && uses_[index(out(turn))] == 1) skip({turn});
    const std::uint32_t sum = only_user(out(product));
    if (is(sum, k_.add)) {
      const TensorId bias = beside(sum, out(product));
      if (weight(bias) && shapes_.ranked(bias) && shapes_.dims(bias).size() == 1) {
        skip({product});
        fuse(sum, Kind::linear, in(product, 0), weights, bias).turned = is(turn, k_.transpose);
        return;
      }
    }
    fuse(product, Kind::linear, in(product, 0), weights).turned = is(turn, k_.transpose);
  }

  // Attention as exporters write scaled_dot_product_attention out: query and transposed key each multiplied
  // by the root of the scale. Attention that a model computes step by step has one factor, or none, and is
  // left.
  void attention(std::uint32_t softmax) {
    std::uint32_t scores = maker(in(softmax, 0));
    std::uint32_t mask = kNone;
    if (is(scores, k_.add)) {
      mask = scores;
      scores = is(maker(in(mask, 0)), k_.mat_mul) ? maker(in(mask, 0)) : maker(in(mask, 1));
    }
    if (!is(scores, k_.mat_mul)) return;
    const std::uint32_t scale_query = maker(in(scores, 0)), scale_key = maker(in(scores, 1));
    if (!is(scale_query, k_.mul) || !is(scale_key, k_.mul)) return;
    const auto scaled = [&](std::uint32_t op) {
      return scalar(in(op, 1)) ? in(op, 0) : scalar(in(op, 0)) ? in(op, 1) : kNoTensor;
    };
    const TensorId query = scaled(scale_query);
    TensorId key = scaled(scale_key);
    if (query == kNoTensor || key == kNoTensor) return;
    // The key's own transposition, which the kernel does without: Transpose, or Reshape-Transpose-Reshape.
    std::uint32_t turn = maker(key), fold = kNone, unfold = kNone;
    if (is(turn, k_.reshape)) {
      unfold = turn;
      turn = maker(in(unfold, 0));
    }
    if (!is(turn, k_.transpose)) return;
    key = in(turn, 0);
    if (unfold != kNone && is(maker(key), k_.reshape)) {
      fold = maker(key);
      key = in(fold, 0);
    }
    // NaNs of rows that are masked wholly are replaced, probabilities may be dropped out.
    std::uint32_t nan = kNone, replace = kNone, drop = kNone;
    TensorId weights = out(softmax);
    if (uses_[index(weights)] == 2) {
      for (std::uint32_t i = softmax + 1; i < std::min<std::size_t>(operators_.size(), softmax + 8); ++i) {
        if (is(i, k_.is_nan) && in(i, 0) == weights) nan = i;
        if (is(i, k_.where) && nan != kNone && in(i, 0) == out(nan)) replace = i;
      }
      if (replace == kNone) return;
      weights = out(replace);
    }
    if (is(only_user(weights), k_.dropout)) {
      drop = only_user(weights);
      weights = out(drop);
    }
    const std::uint32_t last = only_user(weights);
    if (!is(last, k_.mat_mul) || in(last, 0) != weights) return;
    const auto inner = {scale_query, scale_key, turn, fold,    unfold, scores,
                        mask,        softmax,   nan,  replace, drop};
    if (!closed(inner, last)) return;
    skip(inner);
    Fusion& found = fuse(last, Kind::attention, query, key, in(last, 1));
    found.scales[0] = beside(scale_query, query);
    found.scales[1] = beside(scale_key, scaled(scale_key));
    if (mask == kNone) return;
    found.mask = beside(mask, out(scores));
    // A mask made of truth values is made again for each attention; the kernel needs none of it in memory.
    const std::uint32_t made = maker(found.mask);
    if (!is(made, k_.where) || !near(in(made, 1), 0) || number(in(made, 2)).value_or(0) > kForbidden) return;
    found.allowed = in(made, 0);
    if (only_user(found.mask) == mask) skip({made});
  }

  // (x - mean) / sqrt(mean((x - mean)^2) + epsilon), times scale, plus shift, as opsets below 17 write it
  void layer_norm(std::uint32_t root) {
    const std::uint32_t epsilon = maker(in(root, 0));
    if (!is(epsilon, k_.add)) return;
    const std::uint32_t variance = maker(scalar(in(epsilon, 1)) ? in(epsilon, 0) : in(epsilon, 1));
    if (!is(variance, k_.mean)) return;
    const std::uint32_t square = maker(in(variance, 0));
    if (!is(square, k_.pow) || !near(in(square, 1), 2)) return;
    const std::uint32_t centred = maker(in(square, 0));
    if (!is(centred, k_.sub) || !is(maker(in(centred, 1)), k_.mean)) return;
    const std::uint32_t mean = maker(in(centred, 1));
    const std::uint32_t quotient = only_user(out(root));
    if (!is(quotient, k_.div) || in(quotient, 0) != out(centred) || in(mean, 0) != in(centred, 0)) return;
    const TensorId x = in(mean, 0);
    const std::optional<double> least = number(beside(epsilon, out(variance)));
    if (!least || !last_axis_only(mean) || !last_axis_only(variance)) return;
    const std::uint32_t scaled = only_user(out(quotient));
    if (!is(scaled, k_.mul)) return;
    const TensorId scale = beside(scaled, out(quotient));
    const std::uint32_t shifted = only_user(out(scaled));
    if (!weight(scale) || !is(shifted, k_.add)) return;
    const TensorId shift = beside(shifted, out(scaled));
    if (!weight(shift)) return;
    const auto inner = {mean, centred, square, variance, epsilon, root, quotient, scaled};
    if (!closed(inner, shifted)) return;
    skip(inner);
    fuse(shifted, Kind::layer_norm, x, scale, shift).epsilon = *least;
  }

  const Network& network_;
  const Shapes& shapes_;
  const std::vector<Operator>& operators_;
  const Kinds k_;
  std::vector<Fusion> found_;
  std::vector<std::uint32_t> maker_, uses_, user_;
};

}  // namespace

std::vector<Fusion> recognise(const Network& network, const Shapes& shapes) {
  return Recogniser(network, shapes).run();
}

}  // namespace plimsoll::network
