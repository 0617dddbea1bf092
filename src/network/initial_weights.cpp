#include "network/initial_weights.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

namespace plimsoll::network {
namespace {

constexpr double kTokenDeviation = 0.02, kSlope = 0.25;  // of class tokens and positions; of nn.PReLU

using Kind = InitialWeight::Kind;

class Finder {
 public:
  explicit Finder(const Network& network)
      : network_(network),
        found_(network.tensors.size()),
        settled_(found_.size()),
        stored_(found_.size(), kNoTensor),
        turned_(found_.size()),
        product_(found_.size()) {
    for (std::size_t i = 0; i < found_.size(); ++i)
      found_[i] = {.kind = Kind::other, .spread = kTokenDeviation};
  }

  std::vector<InitialWeight> find() {
    for (const Graph& graph : network_.graphs)
      for (const Operator& op : graph.operators) look(op);
    return std::move(found_);
  }

 private:
  [[nodiscard]] static std::size_t place(TensorId id) { return static_cast<std::size_t>(id); }

  /// The stored tensor that an operator reads, itself or through Identity and Transpose; none where it reads
  /// what was computed.
  [[nodiscard]] TensorId stored(TensorId id) const {
    if (id == kNoTensor) return kNoTensor;
    const Role role = network_.tensor(id).role;
    if (role == Role::parameter || role == Role::buffer) return id;
    return stored_[place(id)];
  }
  [[nodiscard]] std::vector<std::int64_t> dims(TensorId id) const {
    std::vector<std::int64_t> out;
    for (const Dim dim : network_.dims_of(network_.tensor(id))) out.push_back(dim.exact() ? dim.value() : 1);
    return out;
  }
  /// The first layer that reads a tensor decides.
  void set(TensorId id, InitialWeight weight) {
    if (id == kNoTensor || settled_[place(id)]) return;
    settled_[place(id)] = true;
    found_[place(id)] = weight;
  }
  void set_constant(TensorId id, double value) { set(id, {.kind = Kind::constant, .value = value}); }
  void set_uniform(TensorId id, double fan_in) {
    set(id, {.kind = Kind::uniform, .spread = 1 / std::sqrt(std::max(1.0, fan_in))});
  }

  void look(const Operator& op) {
    const auto inputs = network_.inputs(op);
    const auto outputs = network_.outputs(op);
    const std::string_view type = network_.type_of(op);
    const auto input = [&](std::size_t i) { return i < inputs.size() ? stored(inputs[i]) : kNoTensor; };
    if ((type == "Identity" || type == "Transpose" || type == "Cast") && !outputs.empty() &&
        input(0) != kNoTensor) {
      stored_[place(outputs[0])] = input(0);
      turned_[place(outputs[0])] = (type == "Transpose") != turned_[place(inputs[0])];
    } else if (type == "Conv" || type == "ConvTranspose") {
      if (input(1) == kNoTensor) return;
      double fan_in = 1;
      const auto shape = dims(input(1));
      for (std::size_t i = 1; i < shape.size(); ++i) fan_in *= static_cast<double>(shape[i]);
      set_uniform(input(1), fan_in);
      set_uniform(input(2), fan_in);
    } else if (type == "Gemm" && input(1) != kNoTensor) {
      const bool rows_are_outputs = integer(op, "transB", 0) != 0;
      linear(input(1), rows_are_outputs != turned_[place(inputs[1])], input(2));
    } else if (type == "MatMul" && input(1) != kNoTensor && dims(input(1)).size() == 2) {
      product_[place(outputs[0])] = linear(input(1), turned_[place(inputs[1])], kNoTensor);
    } else if (type == "Add") {
      add(inputs);
    } else if (type == "Gather" && dims_of_rank(input(0), 2)) {
      set(input(0), {.kind = Kind::normal, .spread = 1});
    } else if (type == "LSTM" || type == "GRU" || type == "RNN") {
      recurrent(op, input(1), input(2), input(3));
    } else if (type == "PRelu") {
      set_constant(input(1), kSlope);
    } else {
      normalisation(type, input(1), input(2), input(3), input(4), inputs);
    }
  }

  [[nodiscard]] std::int64_t integer(const Operator& op, std::string_view name,
                                     std::int64_t otherwise) const {
    const Attribute* const found = network_.find(op, name);
    return found != nullptr ? found->integer : otherwise;
  }
  [[nodiscard]] bool dims_of_rank(TensorId id, std::size_t rank) const {
    return id != kNoTensor && network_.tensor(id).role == Role::parameter && dims(id).size() == rank;
  }

  /// A weight with a row per output, or one per input; its bias has the same bounds.
  double linear(TensorId weight, bool rows_are_outputs, TensorId bias) {
    const auto shape = dims(weight);
    if (shape.size() != 2) return 1;
    const auto fan_in = static_cast<double>(shape[rows_are_outputs ? 1 : 0]);
    set_uniform(weight, fan_in);
    set_uniform(bias, fan_in);
    return fan_in;
  }

  /// A bias behind a product, or one of a normalisation that is written out.
  void add(std::span<const TensorId> inputs) {
    for (std::size_t i = 0; i < 2 && inputs.size() == 2; ++i) {
      const TensorId bias = stored(inputs[i]), other = inputs[1 - i];
      if (!dims_of_rank(bias, 1) || other == kNoTensor) continue;
      if (const double fan_in = product_[place(other)]; fan_in > 0)
        set_uniform(bias, fan_in);
      else
        set_constant(bias, 0);
    }
  }

  void recurrent(const Operator& op, TensorId weight, TensorId recurrence, TensorId bias) {
    const auto hidden = static_cast<double>(integer(op, "hidden_size", 1));
    for (const TensorId id : {weight, recurrence, bias}) set_uniform(id, hidden);
  }

  void normalisation(std::string_view type, TensorId scale, TensorId shift, TensorId mean, TensorId variance,
                     std::span<const TensorId> inputs) {
    if (type == "BatchNormalization") {
      set_constant(mean, 0);
      set_constant(variance, 1);
    }
    if (type.ends_with("Normalization")) {
      set_constant(scale, 1);
      set_constant(shift, 0);
    } else if (type == "Mul") {  // written out
      for (const TensorId id : inputs)
        if (dims_of_rank(stored(id), 1)) set_constant(stored(id), 1);
    }
  }

  const Network& network_;
  std::vector<InitialWeight> found_;
  std::vector<bool> settled_;
  std::vector<TensorId> stored_;  ///< by tensor: what it is a view of
  std::vector<bool> turned_;      ///< by tensor: its rows are the stored one's columns
  std::vector<double> product_;   ///< by tensor: fan-in of the product that made it; 0: none
};

}  // namespace

std::vector<InitialWeight> initial_weights(const Network& network) {
  return Finder(network).find();
}

}  // namespace plimsoll::network
