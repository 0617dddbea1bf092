#include "network/causal.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace plimsoll::network {
namespace {

constexpr int kLongestMaskWalk = 256;
constexpr int kLongestScoreWalk = 8;
constexpr int kLongestRepetition = 8;  // Unsqueeze, Expand, Reshape and a little more

template <std::size_t N>
bool one_of(std::string_view type, const std::array<std::string_view, N>& names) {
  return std::ranges::find(names, type) != names.end();
}

constexpr std::array<std::string_view, 4> kComparisons = {"Less", "LessOrEqual", "Greater", "GreaterOrEqual"};
constexpr std::array<std::string_view, 6> kProducts = {"MatMul",      "Gemm",    "Conv",
                                                       "FusedMatMul", "Softmax", "Gather"};
constexpr std::array<std::string_view, 9> kPassing = {"Add",  "Sub",     "Mul",  "Div",     "Where",
                                                      "Cast", "Dropout", "Clip", "Identity"};

constexpr std::array<std::string_view, 4> kRepeating = {"Reshape", "Expand", "Unsqueeze", "Identity"};

class Finder {
 public:
  explicit Finder(const Network& network)
      : network_(network),
        producer_(network.tensors.size(), -1),
        found_(network.main().operators.size(), false) {
    const auto& operators = network.main().operators;
    for (std::size_t i = 0; i < operators.size(); ++i)
      for (const TensorId id : network.outputs(operators[i]))
        if (id != kNoTensor) producer_[static_cast<std::size_t>(id)] = static_cast<int>(i);
  }

  std::vector<bool> run() {
    const auto& operators = network_.main().operators;
    for (std::size_t i = 0; i < operators.size(); ++i) {
      const Operator& op = operators[i];
      const std::string_view type = network_.type_of(op);
      if (says_causal(op, type)) found_[i] = true;
      if (type != "Softmax") continue;
      const int scores = scores_of(op);
      if (scores < 0) continue;
      found_[static_cast<std::size_t>(scores)] = true;
      mark_consumers(network_.outputs(op).front(), i);
    }
    return std::move(found_);
  }

 private:
  [[nodiscard]] bool says_causal(const Operator& op, std::string_view type) const {
    if (type == "GroupQueryAttention") return true;
    if (type != "Attention" && type != "MultiHeadAttention") return false;
    for (const std::string_view name : {"is_causal", "unidirectional"}) {
      const Attribute* a = network_.find(op, name);
      if (a != nullptr && a->kind == Attribute::Kind::integer && a->integer != 0) return true;
    }
    return false;
  }

  [[nodiscard]] const Operator* made_by(TensorId id) const {
    const int index = id == kNoTensor ? -1 : producer_[static_cast<std::size_t>(id)];
    return index < 0 ? nullptr : &network_.main().operators[static_cast<std::size_t>(index)];
  }

  /// The product that makes a Softmax's scores, where a causal mask is applied between them; else -1.
  [[nodiscard]] int scores_of(const Operator& softmax) const {
    TensorId at = network_.inputs(softmax).front();
    bool causal = false;
    for (int step = 0; step < kLongestScoreWalk; ++step) {
      const Operator* op = made_by(at);
      if (op == nullptr) return -1;
      const std::string_view type = network_.type_of(*op);
      if (type == "MatMul" || type == "FusedMatMul")
        return causal ? producer_[static_cast<std::size_t>(at)] : -1;
      if (!one_of(type, kPassing)) return -1;
      // Go on along the operand that a product makes; the others may hold the mask.
      TensorId next = kNoTensor;
      for (const TensorId in : network_.inputs(*op)) {
        if (next == kNoTensor && leads_to_product(in))
          next = in;
        else if (type == "Add" || type == "Where" || type == "Sub" || type == "Mul")
          causal = causal || leads_to_triangle(in);
      }
      if (next == kNoTensor) return -1;
      at = next;
    }
    return -1;
  }

  [[nodiscard]] bool leads_to_product(TensorId id) const {
    for (int step = 0; step < kLongestScoreWalk; ++step) {
      const Operator* op = made_by(id);
      if (op == nullptr) return false;
      const std::string_view type = network_.type_of(*op);
      if (type == "MatMul" || type == "FusedMatMul") return true;
      if (!one_of(type, kPassing)) return false;
      const auto inputs = network_.inputs(*op);
      id = inputs[type == "Where" && inputs.size() > 1 ? 1 : 0];
    }
    return false;
  }

  /// Searches back from a mask, not across products.
  [[nodiscard]] bool leads_to_triangle(TensorId mask) const {
    std::vector<TensorId> open{mask};
    for (int visited = 0; !open.empty() && visited < kLongestMaskWalk; ++visited) {
      const TensorId at = open.back();
      const Operator* op = made_by(at);
      open.pop_back();
      if (op == nullptr && at != kNoTensor && is_stored_square(at)) return true;
      if (op == nullptr) continue;
      const std::string_view type = network_.type_of(*op);
      if (type == "Trilu") return true;
      const auto inputs = network_.inputs(*op);
      if (one_of(type, kComparisons) && inputs.size() == 2 && leads_to_range(inputs[0]) &&
          leads_to_range(inputs[1]))
        return true;
      if (one_of(type, kProducts)) continue;
      for (const TensorId in : inputs)
        if (in != kNoTensor) open.push_back(in);
    }
    return false;
  }

  /// Exporters fold the comparison of positions into a stored square of truth values.
  [[nodiscard]] bool is_stored_square(TensorId id) const {
    const Tensor& t = network_.tensor(id);
    if (t.type != DataType::boolean || !t.has_shape) return false;
    if (t.role != Role::parameter && t.role != Role::buffer) return false;
    const auto dims = network_.dims_of(t);
    return dims.size() >= 2 && dims.back() == dims[dims.size() - 2] && dims.back().exact() &&
           dims.back().value() > 1;
  }

  [[nodiscard]] bool leads_to_range(TensorId id) const {
    for (int step = 0; step < kLongestScoreWalk; ++step) {
      const Operator* op = made_by(id);
      if (op == nullptr) return false;
      if (network_.type_of(*op) == "Range") return true;
      const auto inputs = network_.inputs(*op);
      if (inputs.empty()) return false;
      id = inputs.front();
    }
    return false;
  }

  void mark_consumers(TensorId weights, std::size_t after) {
    const auto& operators = network_.main().operators;
    std::vector<TensorId> carried{weights};
    // The weighted sum follows its Softmax closely; a bounded look ahead keeps this linear.
    for (std::size_t i = after + 1; i < std::min(operators.size(), after + 64); ++i) {
      const auto inputs = network_.inputs(operators[i]);
      const bool uses = std::ranges::any_of(
          inputs, [&](TensorId in) { return std::ranges::find(carried, in) != carried.end(); });
      if (!uses) continue;
      const std::string_view type = network_.type_of(operators[i]);
      if (type == "MatMul" || type == "FusedMatMul") {
        found_[i] = true;
        return;
      }
      if (one_of(type, kPassing) || type == "IsNaN")
        for (const TensorId out : network_.outputs(operators[i])) carried.push_back(out);
    }
  }

  const Network& network_;
  std::vector<int> producer_;
  std::vector<bool> found_;
};

}  // namespace

std::vector<bool> find_causal_products(const Network& network) {
  return Finder(network).run();
}

TensorId before_repetition(const Network& network, const Shapes& shapes, TensorId id,
                           const std::function<const Operator*(TensorId)>& maker) {
  TensorId least = id;
  for (int i = 0; i < kLongestRepetition && id != kNoTensor; ++i) {
    const Operator* op = maker(id);
    if (op == nullptr || !one_of(network.type_of(*op), kRepeating)) break;
    id = network.inputs(*op).empty() ? kNoTensor : network.inputs(*op).front();
    if (id != kNoTensor && shapes.elements(id).high < shapes.elements(least).high) least = id;
  }
  return least;
}

}  // namespace plimsoll::network
