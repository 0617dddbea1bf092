#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include <ATen/core/Tensor.h>

#include "base/error.hpp"
#include "network/inference.hpp"
#include "network/network.hpp"

namespace plimsoll::engine {

/// What a tensor of the Network holds while it runs. An undefined tensor is an optional without contents.
struct Value {
  at::Tensor tensor;
  std::vector<at::Tensor> sequence = {};
  bool is_sequence = false;
};

/// How numbers are kept: a network that runs in half precision keeps all that its file calls float32 in it.
struct Numbers {
  at::ScalarType computed = at::kFloat;  ///< in place of float32
  [[nodiscard]] at::ScalarType stored(at::ScalarType type) const {
    return type == at::kFloat ? computed : type;
  }
};

/// The element type of ATen; nullopt where the LibTorch at hand has none.
[[nodiscard]] std::optional<at::ScalarType> scalar_type(network::DataType type);
[[nodiscard]] std::optional<network::DataType> data_type(at::ScalarType type);

/// What an implementation learns about its operator once, before anything runs.
class Preparation {
 public:
  Preparation(const network::Network& network, const network::Shapes& shapes, const network::Operator& op,
              Numbers numbers, bool training, bool in_place)
      : network_(network),
        shapes_(shapes),
        op_(op),
        numbers_(numbers),
        training_(training),
        in_place_(in_place) {}

  [[nodiscard]] const network::Network& network() const { return network_; }
  [[nodiscard]] const network::Operator& op() const { return op_; }
  [[nodiscard]] int opset() const { return op_.opset; }
  [[nodiscard]] Numbers numbers() const { return numbers_; }
  [[nodiscard]] bool training() const { return training_; }
  /// The result may take the first input's memory.
  [[nodiscard]] bool in_place() const { return in_place_; }

  [[nodiscard]] std::size_t inputs() const { return network_.inputs(op_).size(); }
  [[nodiscard]] std::size_t outputs() const { return network_.outputs(op_).size(); }
  [[nodiscard]] bool has(std::size_t input) const;
  [[nodiscard]] bool wants(std::size_t output) const;
  [[nodiscard]] network::DataType type(std::size_t input) const;  ///< undefined where not known
  [[nodiscard]] std::optional<std::size_t> rank(std::size_t input) const;
  /// An input's contents where inference knows them.
  [[nodiscard]] std::optional<std::vector<std::int64_t>> known_integers(std::size_t input) const;
  [[nodiscard]] std::optional<std::vector<double>> known_numbers(std::size_t input) const;

  [[nodiscard]] bool has_attribute(std::string_view name) const;
  [[nodiscard]] std::int64_t integer(std::string_view name, std::int64_t otherwise) const;
  [[nodiscard]] double real(std::string_view name, double otherwise) const;
  [[nodiscard]] std::string_view text(std::string_view name, std::string_view otherwise) const;
  [[nodiscard]] std::vector<std::int64_t> integers(std::string_view name) const;  ///< empty where absent
  [[nodiscard]] std::vector<double> reals(std::string_view name) const;
  [[nodiscard]] std::vector<std::string_view> texts(std::string_view name) const;
  [[nodiscard]] std::optional<network::GraphId> graph(std::string_view name) const;

 private:
  const network::Network& network_;
  const network::Shapes& shapes_;
  const network::Operator& op_;
  Numbers numbers_;
  bool training_;
  bool in_place_;
};

/// One execution of an operator: its inputs, and where its outputs go. Tensors that shapes are computed with
/// stay on the CPU; in() brings an input to the device where the operator runs there.
class Call {
 public:
  virtual ~Call() = default;
  [[nodiscard]] virtual bool has(std::size_t input) const = 0;
  [[nodiscard]] virtual std::size_t inputs() const = 0;
  /// The input, on device().
  [[nodiscard]] virtual const at::Tensor& in(std::size_t input) = 0;
  /// The input where it lies, for operators that only ask for its shape.
  [[nodiscard]] virtual const at::Tensor& where_it_lies(std::size_t input) const = 0;
  [[nodiscard]] virtual const std::vector<at::Tensor>& sequence(std::size_t input) const = 0;
  [[nodiscard]] virtual bool is_sequence(std::size_t input) const = 0;
  /// The input's contents as numbers of the host; waits for the device where they lie there.
  [[nodiscard]] std::vector<std::int64_t> integers(std::size_t input);
  [[nodiscard]] double number(std::size_t input);
  /// Where this operator runs: the CPU where all inputs lie there and are shape arithmetic, else the device.
  [[nodiscard]] virtual at::Device device() const = 0;

  virtual void out(std::size_t output, at::Tensor tensor) = 0;
  virtual void out_sequence(std::size_t output, std::vector<at::Tensor> tensors) = 0;
  /// Keeps a tensor that is no output until the pass has ended.
  virtual void hold(at::Tensor tensor) = 0;

  /// Runs a body of If, Loop or Scan with these inputs and gives its outputs.
  [[nodiscard]] virtual std::vector<Value> run_body(network::GraphId id, std::span<const Value> inputs) = 0;
};

/// What executes one operator; made once by a row's `prepare`, called at every pass. May throw what ATen
/// throws: the executor turns it into an Error that names the operator.
using Kernel = std::function<void(Call&)>;

/// One row per operator that the engine executes.
struct OperatorRow {
  std::string_view name;
  /// Fails, with the reason, on a form of the operator that cannot be executed.
  Result<Kernel> (*prepare)(const Preparation&);
  std::string_view domain = "";
  /// Runs on the CPU where all its inputs do: what shapes are computed with.
  bool shape_arithmetic = false;
};

/// All rows, sorted by domain and name.
[[nodiscard]] std::span<const OperatorRow> operator_rows();
[[nodiscard]] const OperatorRow* find_row(std::string_view domain, std::string_view name);

// The rows, by subject; each in a file of its own under engine/operators/.
[[nodiscard]] std::span<const OperatorRow> elementwise_rows();
[[nodiscard]] std::span<const OperatorRow> activation_rows();
[[nodiscard]] std::span<const OperatorRow> convolution_rows();
[[nodiscard]] std::span<const OperatorRow> pooling_rows();
[[nodiscard]] std::span<const OperatorRow> product_rows();
[[nodiscard]] std::span<const OperatorRow> normalization_rows();
[[nodiscard]] std::span<const OperatorRow> reduction_rows();
[[nodiscard]] std::span<const OperatorRow> loss_rows();
[[nodiscard]] std::span<const OperatorRow> movement_rows();
[[nodiscard]] std::span<const OperatorRow> image_rows();
[[nodiscard]] std::span<const OperatorRow> shape_rows();
[[nodiscard]] std::span<const OperatorRow> selection_rows();
[[nodiscard]] std::span<const OperatorRow> detection_rows();
[[nodiscard]] std::span<const OperatorRow> recurrent_rows();
[[nodiscard]] std::span<const OperatorRow> quantization_rows();
[[nodiscard]] std::span<const OperatorRow> random_rows();
[[nodiscard]] std::span<const OperatorRow> signal_rows();
[[nodiscard]] std::span<const OperatorRow> control_rows();
[[nodiscard]] std::span<const OperatorRow> sequence_rows();
[[nodiscard]] std::span<const OperatorRow> attention_rows();

}  // namespace plimsoll::engine
