#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "hardware/calibration.hpp"
#include "network/data_type.hpp"
#include "network/network.hpp"

namespace plimsoll::program {

/// What a framework executes for a network: calls of its operators, each with the actions that allocate in
/// its forward and in its backward pass, and with the kernels that run there. Made by lower() from a Network;
/// launches() tells the order of the kernels, estimate/memory/allocations.hpp that of the allocations. A
/// plain value.

/// Where in an iteration something happens.
enum class Phase : std::uint8_t { load, forward, backward, step };
inline constexpr int kPhases = 4;
[[nodiscard]] std::string_view name(Phase phase);

enum class ValueId : std::uint32_t {};
enum class StorageId : std::uint32_t {};
inline constexpr ValueId kNoValue{0xffffffff};

/// What a piece of memory is for.
enum class Purpose : std::uint8_t {
  weight,
  input,
  activation,
  saved,
  gradient,
  optimizer,
  workspace,
  library,
  cache,
  temporary,  ///< of the optimizer's step: gone when it ends
  gathered,   ///< weights that other devices keep, while a layer needs them
  bucket,     ///< gradients on their way to other devices
};
inline constexpr int kPurposes = 12;
[[nodiscard]] std::string_view name(Purpose purpose);

inline constexpr std::size_t kMaxViewRank = 8;

/// A tensor as the framework sees it: a window on a storage. Several values can share one.
struct Value {
  StorageId storage{};
  network::DataType type = network::DataType::float32;
  std::uint8_t rank = 0;
  bool needs_gradient = false;
  bool parameter = false;  ///< its gradient is kept until the next zero_grad
  bool strided = true;     ///< dims and strides are known
  std::int64_t elements = 0;
  std::array<std::int64_t, kMaxViewRank> dims{};
  std::array<std::int64_t, kMaxViewRank> strides{};

  [[nodiscard]] std::int64_t bytes() const;  ///< of a contiguous copy; at most 2^60
  [[nodiscard]] bool contiguous() const;
};

struct Storage {
  std::int64_t bytes = 0;
  Purpose purpose = Purpose::activation;
  bool output = false;  ///< handed to the caller, who holds it until the next pass has made another
  network::TensorId tensor = network::kNoTensor;  ///< whose contents it first holds
};

enum class ActionKind : std::uint8_t {
  output,     ///< forward: the storage of `value` comes into being
  scratch,    ///< `bytes` until the call ends or `drop`
  workspace,  ///< like scratch; a library that cannot have it runs another kernel without
  drop,       ///< the last scratch goes
  library,    ///< cuBLAS's workspace of this thread, made once and kept
  gradient,   ///< backward: a new gradient for `value`
  share,      ///< backward: the result's gradient is also that of `value`
};
struct Action {
  ActionKind kind = ActionKind::output;
  ValueId value = kNoValue;
  std::int64_t bytes = 0;
  std::int64_t most = 0;  ///< workspace: what another kernel of the library may take
};

struct Call {
  std::uint32_t op = 0;             ///< index in the main graph's operators; kLossCall for those of the loss
  network::Range forward;           ///< in actions
  network::Range backward;          ///< in actions; empty where no gradient passes
  network::Range saved;             ///< in values_of: kept for the backward pass
  network::Range results;           ///< in values_of
  network::Range kernels;           ///< in kernels: of the forward pass
  network::Range backward_kernels;  ///< in kernels
  network::Range gradient_sums;     ///< in kernels: backward, where a gradient is not the first of its value
};
inline constexpr std::uint32_t kLossCall = 0xffffffff, kOptimizerCall = 0xfffffffe;

/// A sum down whole columns, whose scratch depends on the GPU's multiprocessors: reduction_buffer().
struct ColumnSum {
  std::int64_t rows = 0, columns = 0;
};

/// Consecutive calls of one module, and the weights that they read: what devices that divide the weights
/// fetch at once, and where a network can be cut. A module that is entered twice has two.
struct Layer {
  std::uint32_t first = 0, last = 0;  ///< in calls
  network::Range weights;             ///< in weights_of
};

/// What a decoder keeps of the tokens that an attention has seen.
struct TokenCache {
  std::uint32_t call = 0;  ///< the attention's
  /// Whose heads are kept; none: a latent vector that belongs to all heads.
  network::TensorId key = network::kNoTensor;
  std::int64_t bytes_per_token = 0;  ///< of the whole batch
  std::int64_t context_bytes = 0;    ///< of the setting's context, as far as it is kept
};

/// Autocast's copy of a weight in half precision.
struct WeightCopy {
  StorageId copy{}, weight{};
};

struct Program {
  std::vector<Value> values;
  std::vector<Storage> storages;
  std::vector<Call> calls;  ///< in the order of the forward pass
  std::vector<Action> actions;
  std::vector<ValueId> values_of;
  std::vector<hardware::OperatorCase> kernels;
  network::Range update;              ///< in kernels: of the optimizer's step
  network::Range accumulation;        ///< in kernels: what adds a pass's gradient to those of earlier passes
  std::vector<ValueId> accumulated;   ///< the parameter of each of them
  std::vector<Layer> layers;          ///< in the order of the forward pass; those that read weights
  std::vector<StorageId> weights_of;  ///< of the layers
  std::vector<WeightCopy> weight_copies;
  std::vector<ColumnSum> column_sums;   ///< all that the program owes to the number of multiprocessors
  std::vector<ValueId> parameters;      ///< learned, in the order in which the network stores them
  std::vector<StorageId> resident;      ///< on the device from the start: weights, buffers, inputs
  std::vector<std::uint32_t> released;  ///< by storage: the call after which the program's own reference ends
  std::vector<StorageId> held;  ///< held until the forward pass ends: autocast's copies of weights, a cache
  std::vector<std::string> stored_formats;  ///< of weights whose products are timed by the bytes they read
  std::vector<std::string> unruled;         ///< kinds of operators without a memory rule
  std::int64_t unruled_bytes = 0;           ///< what those write
  std::int64_t cache_copies = 0;            ///< bytes of keys and values copied into a decoder's cache
  bool last_position_only = false;          ///< its head computes for a sequence's last position alone
  std::vector<TokenCache> caches;           ///< of causal attention, in the order of the calls

  [[nodiscard]] const Value& value(ValueId id) const { return values[static_cast<std::size_t>(id)]; }
  [[nodiscard]] const Storage& storage(StorageId id) const { return storages[static_cast<std::size_t>(id)]; }
  [[nodiscard]] std::span<const Action> slice(network::Range r) const {
    return std::span(actions).subspan(r.begin, r.count);
  }
  [[nodiscard]] std::span<const ValueId> ids(network::Range r) const {
    return std::span(values_of).subspan(r.begin, r.count);
  }
};

/// Whether a kernel is a product with a weight that stays as it is stored: its bytes are counted, and its
/// multiply-adds are by the units that multiply matrices.
[[nodiscard]] bool is_stored_product(const hardware::OperatorCase& c);

}  // namespace plimsoll::program
