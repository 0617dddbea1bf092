#include "network/weights.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

namespace plimsoll::network {
namespace {

/// How a tensor is used; several at once where it has several users.
using Use = std::uint8_t;
constexpr Use kStatistic = 1;   // running mean or variance
constexpr Use kArithmetic = 2;  // element-wise: a lone number there is a constant of the formula
constexpr Use kSetting = 4;     // a float that is an option of the operator
constexpr Use kWeight = 8;      // weight or bias of a product
constexpr Use kOther = 16;

/// What an operator does with its inputs, by position; the last one stands for all beyond.
struct WeightRow {
  std::string_view type;
  std::array<Use, 5> uses;
};
constexpr Use A = kArithmetic, S = kSetting, W = kWeight, O = kOther, R = kStatistic;

constexpr std::array kWeightRows = std::to_array<WeightRow>({
    {"Add", {A, A, A, A, A}},
    {"BatchNormalization", {O, O, O, R, R}},
    {"Clip", {A, S, S, S, S}},
    {"ConstantPad", {O, S, S, S, S}},
    {"Conv", {O, W, W, O, O}},
    {"ConvTranspose", {O, W, W, O, O}},
    {"DequantizeLinear", {O, S, S, S, S}},
    {"Div", {A, A, A, A, A}},
    {"Dropout", {O, S, S, S, S}},
    {"DynamicQuantizeLinear", {O, S, S, S, S}},
    {"Equal", {A, A, A, A, A}},
    {"Expand", {A, S, S, S, S}},
    {"Gemm", {O, W, W, O, O}},
    {"Greater", {A, A, A, A, A}},
    {"GreaterOrEqual", {A, A, A, A, A}},
    {"Less", {A, A, A, A, A}},
    {"LessOrEqual", {A, A, A, A, A}},
    {"MatMul", {O, W, O, O, O}},
    {"Max", {A, A, A, A, A}},
    {"Mean", {A, A, A, A, A}},
    {"Min", {A, A, A, A, A}},
    {"Mod", {A, A, A, A, A}},
    {"Mul", {A, A, A, A, A}},
    {"NonMaxSuppression", {O, O, S, S, S}},
    {"OneHot", {O, S, S, S, S}},
    {"Pad", {O, S, S, S, S}},
    {"Pow", {A, A, A, A, A}},
    {"QLinearConv", {O, S, S, O, S}},
    {"QuantizeLinear", {O, S, S, S, S}},
    {"Range", {S, S, S, S, S}},
    {"Resize", {O, S, S, S, S}},
    {"Sub", {A, A, A, A, A}},
    {"Sum", {A, A, A, A, A}},
    {"ThresholdedRelu", {A, S, S, S, S}},
    {"Upsample", {O, S, S, S, S}},
    {"Where", {A, A, A, A, A}},
});

const WeightRow* find_row(std::string_view type) {
  const auto found = std::ranges::lower_bound(kWeightRows, type, {}, &WeightRow::type);
  return found != kWeightRows.end() && found->type == type ? &*found : nullptr;
}

class Classification {
 public:
  explicit Classification(Network& network) : network_(network), uses_(network.tensors.size(), 0) {}

  void run() {
    // Bodies come after the graph they are in, and operators after those they feed on: backwards, all users
    // of a tensor have been seen when its maker is.
    for (std::size_t g = network_.graphs.size(); g-- > 0;) {
      const Graph& graph = network_.graphs[g];
      for (const TensorId id : graph.outputs) mark(id, kOther);
      for (std::size_t i = graph.operators.size(); i-- > 0;) visit(graph.operators[i]);
    }
    for (const Graph& graph : network_.graphs)
      for (const TensorId id : graph.weights) at(id).role = is_buffer(id) ? Role::buffer : Role::parameter;
  }

 private:
  Tensor& at(TensorId id) { return network_.tensors[static_cast<std::size_t>(id)]; }
  void mark(TensorId id, Use use) {
    if (id != kNoTensor) uses_[static_cast<std::size_t>(id)] |= use;
  }
  [[nodiscard]] Use uses(TensorId id) const {
    return id == kNoTensor ? Use{0} : uses_[static_cast<std::size_t>(id)];
  }

  struct Meaning {
    std::uint32_t type = std::numeric_limits<std::uint32_t>::max();  // where its text begins
    const WeightRow* row = nullptr;
    bool identity = false, constant = false;
  };
  /// Operators of one type nearly always share its text, so that where it begins names it.
  Meaning meaning_of(const Operator& op) {
    Meaning& recent = recent_[op.type.begin * 2654435761U >> 25U];
    if (recent.type != op.type.begin) {
      const std::string_view type = network_.type_of(op);
      recent = {op.type.begin, find_row(type), type == "Identity", type == "Constant"};
    }
    return recent;
  }

  void visit(const Operator& op) {
    const auto inputs = network_.inputs(op);
    const auto outputs = network_.outputs(op);
    const Meaning meaning = meaning_of(op);
    if (meaning.identity && !inputs.empty() && !outputs.empty()) return mark(inputs[0], uses(outputs[0]));
    if (meaning.constant && !outputs.empty()) return visit_constant(op, outputs[0]);
    for (std::size_t i = 0; i < inputs.size(); ++i)
      mark(inputs[i],
           meaning.row == nullptr ? kOther : meaning.row->uses[std::min(i, meaning.row->uses.size() - 1)]);
  }

  void visit_constant(const Operator& op, TensorId output) {
    for (const Attribute& a : network_.attributes_of(op)) {
      if (a.kind != Attribute::Kind::tensor) continue;
      Tensor& t = at(static_cast<TensorId>(a.integer));
      t.role =
          is_float(t.type) && (uses(output) & kWeight) != 0 && !is_single(t) ? Role::parameter : Role::buffer;
    }
  }

  [[nodiscard]] bool is_single(const Tensor& t) const {
    return std::ranges::all_of(network_.dims_of(t), [](Dim d) { return d.is(1); });
  }

  [[nodiscard]] bool is_buffer(TensorId id) {
    const Tensor& t = at(id);
    if (!is_float(t.type)) return true;
    const Use use = uses(id);
    if ((use & kStatistic) != 0) return true;
    if (use == 0 || (use & (kWeight | kOther)) != 0) return false;
    return (use & kArithmetic) == 0 || is_single(t);
  }

  Network& network_;
  std::vector<Use> uses_;
  std::array<Meaning, 128> recent_ = {};
};

}  // namespace

void classify_weights(Network& network) {
  Classification(network).run();
}

}  // namespace plimsoll::network
