#pragma once
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "network/fusion.hpp"
#include "network/inference.hpp"
#include "network/quantized.hpp"
#include "network/saturating.hpp"
#include "network/setting.hpp"
#include "network/stored.hpp"
#include "program/count.hpp"
#include "program/platform.hpp"
#include "program/program.hpp"

namespace plimsoll::program {

/// What PyTorch would execute for the network, with all that it allocates. Fails where a tensor's size is
/// 2^60 bytes or more, and where no framework runs a network so.
[[nodiscard]] Result<Program> lower(const network::Network& network, const network::Shapes& shapes,
                                    const network::Setting& setting, const Platform& platform);

using network::Fusion;

/// A product with a weight: x[m,k] times weight[n,k] turned; of experts, each of the m rows with one of them.
struct StoredProduct {
  std::int64_t m = 0, n = 0, k = 0;
  double share = 1;  ///< of the weight that is read
};

/// Builds a Program call by call; what the rules of single operators are written with.
class Lowering {
 public:
  Lowering(const network::Network& network, const network::Shapes& shapes, const network::Setting& setting,
           const Platform& platform);
  [[nodiscard]] Result<Program> run();

  // What a rule asks.
  [[nodiscard]] const network::Network& network() const { return network_; }
  [[nodiscard]] const network::Shapes& shapes() const { return shapes_; }
  [[nodiscard]] const network::Setting& setting() const { return setting_; }
  [[nodiscard]] const Platform& platform() const { return platform_; }
  [[nodiscard]] bool training() const { return setting_.mode == network::Mode::train; }
  [[nodiscard]] network::TensorId input(const network::Operator& op, std::size_t i) const;
  [[nodiscard]] network::TensorId output(const network::Operator& op, std::size_t i) const;
  [[nodiscard]] std::int64_t integer(const network::Operator& op, std::string_view attribute,
                                     std::int64_t otherwise) const;
  [[nodiscard]] std::vector<std::int64_t> integers(const network::Operator& op,
                                                   std::string_view attribute) const;
  /// The tensor on the device; kNoValue where it is left out or only a number of the host.
  [[nodiscard]] ValueId value(network::TensorId id);
  [[nodiscard]] const Value& at(ValueId id) const { return program_.value(id); }
  [[nodiscard]] bool needs_gradient(ValueId id) const { return id != kNoValue && at(id).needs_gradient; }
  [[nodiscard]] bool is_network_weight(network::TensorId id) const;
  /// Of a weight that stays as it is stored; 0 for others (stored_weights.cpp).
  [[nodiscard]] std::int64_t kept_bytes(network::TensorId id) const;
  /// Uses of a tensor by the graph's operators and outputs.
  [[nodiscard]] std::uint32_t uses(network::TensorId id) const { return uses_[static_cast<std::size_t>(id)]; }
  [[nodiscard]] const network::Operator* producer(network::TensorId id) const;
  /// The type in which an operator of that policy computes on these inputs.
  [[nodiscard]] network::DataType natural_type(std::initializer_list<ValueId> inputs) const;
  /// The type in which the network keeps what the file calls `type`: whole networks run in half precision.
  [[nodiscard]] network::DataType stored_type(network::DataType type) const;
  [[nodiscard]] network::DataType low_type(network::DataType natural) const;   ///< autocast's half precision
  [[nodiscard]] network::DataType full_type(network::DataType natural) const;  ///< autocast's float32

  // What a rule makes. Between begin() and end() it describes one call.
  void begin();
  /// A new tensor of the result's extents, allocated by this call.
  ValueId make(network::TensorId tensor, network::DataType type, bool needs_gradient);
  /// A tensor that no graph names: a mask, statistics. `shape_of` gives the extents where it is a value.
  ValueId make_like(ValueId like, network::DataType type);
  ValueId make_hidden(std::int64_t elements, network::DataType type);
  void save(ValueId id);
  /// A library's workspace: as predicted, and at most where it chooses another kernel.
  void workspace(std::int64_t bytes, std::int64_t most);
  void library();
  // Steps of the backward pass, in the order in which they run; ignored where `id` needs no gradient.
  void backward_gradient(ValueId id);
  void backward_share(ValueId id);
  void backward_scratch(std::int64_t bytes);
  void backward_workspace(std::int64_t bytes, std::int64_t most);
  void backward_drop();
  void backward_library();
  /// Sums the result's gradient, of the extents of `from`, down to those of `to`.
  void backward_sum(ValueId from, ValueId to);
  // The kernels that run, for estimates of time. A call that names none runs one over each new result, and
  // backward one over each gradient.
  using Extents = std::initializer_list<std::int64_t>;
  void kernel(hardware::OperatorClass what, network::DataType type, Extents extents,
              hardware::Direction direction = hardware::Direction::forward);
  void kernel(const hardware::OperatorCase& c);
  /// What a kernel over tensors that do not lie alike is timed in: it goes element by element, and two bytes
  /// take as long as four.
  [[nodiscard]] network::DataType stepped_type(network::DataType type) const;
  /// The kernel of a product with a weight that stays as it is stored, by the bytes that it reads. False, and
  /// nothing is named, where the weight takes what its type says.
  bool stored_kernel(ValueId weight, network::DataType type, const StoredProduct& product);
  /// Ignored where `of` needs no gradient.
  void backward_kernel(ValueId of, const hardware::OperatorCase& c);
  void backward_kernel(ValueId of, hardware::OperatorClass what, hardware::Direction direction,
                       network::DataType type, Extents extents);
  /// What a kernel of that class computes in, on tensors of that type.
  [[nodiscard]] hardware::Arithmetic arithmetic(hardware::OperatorClass what, network::DataType type) const;
  void end(std::initializer_list<ValueId> results);
  void end(std::span<const ValueId> results);

  /// The graph's tensor is this value from here on.
  void bind(network::TensorId tensor, ValueId id);
  /// A view: shares the storage of `of`, and its gradient passes through without a copy.
  void bind_view(network::TensorId tensor, ValueId of, Value view);
  /// Another value on the same storage, inside a call that says how its gradient passes.
  ValueId alias(ValueId of, Value view);
  /// An element-wise result is laid out as its input is.
  void lay_out_like(ValueId result, ValueId input);
  void lay_out_channels_last(ValueId result);
  /// Batch, tokens, heads, width in memory, whatever the order of the extents: as attention kernels write.
  void lay_out_tokens_first(ValueId result);
  /// The value in another type; a copy where it is not of that type already. Copies of weights are made once.
  ValueId cast(ValueId id, network::DataType type);
  /// A contiguous copy, or the value itself where it is contiguous.
  ValueId contiguous(ValueId id);
  ValueId copy(ValueId id);
  Value describe(network::TensorId tensor, network::DataType type) const;
  void unruled(const network::Operator& op);
  /// The attention being described has a cache.
  void add_cache(TokenCache cache);
  /// The copy that a decoder's cache makes of keys or values, which stays until the pass has ended.
  ValueId cached(ValueId id);
  /// The same, where the cache keeps something else than the keys and values of all tokens.
  void keep_in_cache(network::TensorId key, std::int64_t elements, network::DataType type);
  /// The tensor before its heads were repeated for grouped queries; itself where they were not.
  [[nodiscard]] network::TensorId before_repetition(network::TensorId id) const;
  /// Whether the attention being lowered has a mask of some kind.
  [[nodiscard]] bool is_masked() const {
    return op_ < fusions_.size() &&
           (fusions_[op_].mask != network::kNoTensor || fusions_[op_].allowed != network::kNoTensor);
  }
  /// Whether it picks query, key or value of a joint projection, along a leading axis that was moved there.
  /// torch.nn.MultiheadAttention makes that contiguous first; the export does not show it.
  [[nodiscard]] bool unpacks_projection(const network::Operator& gather) const;
  [[nodiscard]] bool is_causal() const { return op_ < causal_.size() && causal_[op_]; }

 private:
  [[nodiscard]] bool has_fast_attention() const;
  /// Devices over which weights, or the optimizer's step, are divided.
  [[nodiscard]] std::int64_t parts_of_weights() const { return network::sharded(setting_).weights; }
  [[nodiscard]] std::int64_t parts_of_update() const { return network::sharded(setting_).state; }
  static constexpr std::uint32_t kNoCall = 0xffffffff;
  ValueId add_value(Value value);
  ValueId add_storage(Value value, Purpose purpose, network::TensorId tensor);
  void weights_and_inputs();
  void find_last_only();
  void lower_operator(std::uint32_t index, const network::Operator& op, const Fusion& fusion);
  bool lower_quantized(std::uint32_t index);
  void lower_loss();
  void add_unnamed_kernels(std::span<const ValueId> results);
  void name_copy(ValueId id);
  void hold_for_cache(ValueId id);
  void name_counted(const network::Operator& op, std::span<const ValueId> results);
  void add_gradient_sums();
  void add_accumulation();
  void add_update();
  void find_layers();
  void set_lifetimes();

  const network::Network& network_;
  const network::Shapes& shapes_;
  const network::Setting& setting_;
  const Platform& platform_;
  Program program_;
  std::vector<ValueId> bound_;       ///< by tensor
  std::vector<ValueId> cast_of_;     ///< by value: autocast's copy of a weight
  std::vector<std::uint32_t> uses_;  ///< by tensor
  std::vector<std::uint32_t> producer_;
  std::vector<std::uint32_t> made_by_;              ///< by storage: operator that was being lowered
  std::vector<std::uint32_t> last_call_;            ///< by operator; kNoCall where it makes none
  std::vector<Fusion> fusions_;                     ///< by operator
  std::vector<network::QuantizedLayer> quantized_;  ///< by operator; empty where none runs on 8 bits
  bool fast_attention_ = false;                     ///< has_fast_attention()
  std::vector<bool> causal_;                        ///< by operator: a product of causal attention
  std::vector<network::TensorId> last_only_;        ///< made for a sequence's last position alone
  std::vector<Action> backward_;                    ///< of the call being described
  std::vector<hardware::OperatorCase> kernels_, backward_kernels_;  ///< the same
  std::vector<ValueId> saved_;
  std::uint32_t op_ = 0;
  Call call_;
  std::optional<Counts> counts_;  ///< made for the first operator without a rule
  std::string too_large_;
};

/// How autocast treats an operator.
enum class CastPolicy : std::uint8_t { natural, low, full };

/// One row per operator with a rule of its own.
struct LoweringRule {
  std::string_view name;
  void (*lower)(Lowering&, const network::Operator&, const LoweringRule&);
  CastPolicy cast = CastPolicy::natural;
  enum class Saved : std::uint8_t { nothing, input, result } saved = Saved::nothing;
  std::uint8_t backward_scratch = 0;  ///< temporaries of the result's size before the gradient
  bool in_place = false;              ///< networks run it in place where they can
  std::string_view domain = "";
};
[[nodiscard]] const LoweringRule* lowering_rule(network::OperatorKind kind);

// The rows, by subject.
[[nodiscard]] std::span<const LoweringRule> elementwise_rules();
[[nodiscard]] std::span<const LoweringRule> view_rules();
[[nodiscard]] std::span<const LoweringRule> layer_rules();
[[nodiscard]] std::span<const LoweringRule> normalization_rules();
[[nodiscard]] std::span<const LoweringRule> attention_rules();
[[nodiscard]] std::span<const LoweringRule> expert_rules();

// Kernels that several rows and the fusions share.
void lower_unary(Lowering& l, const network::Operator& op, const LoweringRule& rule);
void lower_unary(Lowering& l, network::TensorId input, network::TensorId output, const network::Operator& op,
                 const LoweringRule& rule);
void lower_linear(Lowering& l, network::TensorId input, network::TensorId weight, network::TensorId bias,
                  network::TensorId output);
void lower_attention(Lowering& l, network::TensorId query, network::TensorId key, network::TensorId value,
                     network::TensorId output);
void lower_layer_norm(Lowering& l, network::TensorId input, network::TensorId scale, network::TensorId shift,
                      network::TensorId output);

/// Bytes of the partial sums that PyTorch's reduction kernel keeps in global memory where it sums `rows`
/// rows of `columns` contiguous values and one thread block per column is too few for the GPU.
[[nodiscard]] std::int64_t reduction_buffer(std::int64_t rows, std::int64_t columns,
                                            std::int64_t multiprocessors);

}  // namespace plimsoll::program
