#pragma once
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "network/builder.hpp"
#include "onnx/functions.hpp"
#include "onnx/model.hpp"
#include "onnx/name_table.hpp"
#include "onnx/tensor_proto.hpp"
#include "onnx/value_info.hpp"

namespace plimsoll::onnx {

inline constexpr int kDeepestGraph = 64;  ///< bodies within bodies
inline constexpr int kDeepestCall = 64;   ///< functions within functions

/// Reads a GraphProto and all bodies in it into a Builder, calls of local functions replaced by their nodes.
/// One pass finds the parts and counts them, a second reads the nodes; tensors that a node uses before
/// another makes them stay pending, and the graph is sorted in the end if there was one.
class GraphReader {
 public:
  /// `is_own`: the file was written by Plimsoll, so that nodes may carry its metadata.
  GraphReader(network::Builder& builder, const Functions& functions, std::vector<WeightData>& weights,
              std::vector<std::string>& notes, bool is_own)
      : builder_(builder), functions_(functions), weights_(weights), notes_(notes), is_own_(is_own) {}

  [[nodiscard]] Status read_main(std::string_view graph);

  /// Where the reader is, for damage that is found too deep down to know: "Conv 'conv1'" or "".
  [[nodiscard]] std::string place() const;
  [[nodiscard]] std::int64_t raw_bytes() const { return raw_bytes_; }

 private:
  // A tensor is referred to before it is made (pending), made, or promised by a function that is being read.
  enum class State : std::uint8_t { pending, made, promised };

  struct Pending {
    std::string_view name;
    network::TensorId tensor;
    std::string user;  // who needs it, for the message
  };
  /// The names that one graph or function body knows by itself.
  struct Scope {
    Scope* parent = nullptr;  // none for the main graph and for functions
    NameTable names = {};
    std::vector<Pending> pending = {};
  };
  struct Initializer {
    std::string_view message;
    bool sparse = false;
  };
  struct Frame;
  /// Where a node's names and attribute references are looked up, and which graph it goes to.
  struct Environment {
    Scope* scope = nullptr;
    const Frame* frame = nullptr;  // of the function being inlined, if any
    bool* out_of_order = nullptr;  // of the graph that is open in the builder
  };
  struct GivenAttribute {
    std::string_view name;
    std::string_view message;
    Environment environment;
  };
  /// One call of a function.
  struct Frame {
    const Function* function = nullptr;
    const Frame* caller = nullptr;
    std::string prefix;  // before the names of inner tensors and nodes
    std::vector<GivenAttribute> attributes;
  };
  /// A node being read; kept between nodes so that its arrays are allocated once per depth.
  struct Node {
    std::string_view type, domain, name, overload;
    std::optional<std::uint16_t> opset;  // where it is not that of the model
    std::vector<std::string_view> inputs, outputs, attributes;
    std::vector<network::TensorId> input_ids, output_ids;
    std::vector<network::Attribute> read;
    std::vector<std::int64_t> integers;  // the lists of the attribute being read
    std::vector<double> reals;
    std::vector<std::string_view> texts;
  };

  // graph_reader.cpp
  Status read_graph(std::string_view message, Scope* parent, const Frame* frame, bool is_main);
  Status read_initializer(const Initializer& initializer, Environment& env);
  Status read_input(std::string_view message, Environment& env, bool is_main);
  Status read_output(std::string_view message, Environment& env);
  Status read_declared(std::string_view message, Environment& env);
  Status close(Scope& scope);
  network::TensorId new_tensor(std::string_view name, const Environment& env, State state);
  Result<network::TensorId> make(std::string_view name, Environment& env);
  network::TensorId resolve(std::string_view name, Environment& env);
  network::Dim extent(const ValueInfo& info, std::size_t i);
  Status set_small_value(network::TensorId id, const StoredTensor& tensor);
  void remember(network::TensorId id, const StoredTensor& tensor);
  State& state(network::TensorId id) { return states_[static_cast<std::size_t>(id)]; }

  // node_reader.cpp
  Status read_node(std::string_view message, Environment& env);
  Status decode_node(std::string_view message, Node& node);
  static std::optional<std::uint16_t> decode_opset(std::string_view entry);
  Status add_operator(Node& node, Environment& env);
  Status read_attribute(std::string_view message, Node& node, Environment& env, bool substituted,
                        std::string_view name);
  Result<network::TensorId> read_attribute_tensor(std::string_view message, bool sparse, const Node& node,
                                                  Environment& env);
  static std::string describe(const Node& node);

  // inline.cpp
  Status inline_call(const Function& function, Node& node, Environment& env);
  Status give_attributes(const Function& function, const Node& node, const Environment& env, Frame& frame);
  Status bind_arguments(const Function& function, const Node& node, Environment& env, Scope& scope,
                        std::vector<network::TensorId>& outputs);
  Status spend();
  [[nodiscard]] std::size_t pool_bytes() const;
  static const GivenAttribute* find_given(const Frame* frame, std::string_view name);

  network::Builder& builder_;
  const Functions& functions_;
  std::vector<WeightData>& weights_;
  std::vector<std::string>& notes_;
  bool is_own_;
  std::vector<State> states_;  // by TensorId
  std::deque<Node> nodes_;     // one per depth of nodes within nodes; references must stay
  std::size_t node_depth_ = 0;
  int graph_depth_ = 0;
  int call_depth_ = 0;
  std::size_t unruled_ = 0;  // operators without an inference rule, so far
  std::size_t inlined_bytes_ = 0;
  std::size_t pools_before_call_ = 0;  // the outermost one
  std::int64_t raw_bytes_ = 0;
  std::string name_buffer_;
  std::vector<network::Scalar> scalars_;
};

}  // namespace plimsoll::onnx
