#pragma once
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace plimsoll::network {

/// What a network is run for. A training graph in inference mode: BatchNorm uses its running statistics,
/// Dropout and stochastic depth vanish.
enum class Mode : std::uint8_t { infer, train };

/// Numbers that a network computes in. fp32 is what PyTorch does by default: TF32 in convolutions, FP32 in
/// matrix products; tf32 means both, fp32_strict neither. amp_* is autocast over FP32 weights; fp16, bf16
/// and int8 are the whole network.
enum class Precision : std::uint8_t { fp32, fp32_strict, tf32, fp16, bf16, amp_bf16, amp_fp16, int8 };

enum class Optimizer : std::uint8_t { sgd, momentum, adam, adamw };

enum class Loss : std::uint8_t { cross_entropy, mean_square, none };

/// ONNX does not say which operators a framework runs in place: automatic is ReLU-like ones directly after a
/// convolution, normalisation or addition.
enum class InPlace : std::uint8_t { automatic, always, never };

/// How images lie in memory: NCHW, or NHWC.
enum class Layout : std::uint8_t { contiguous, channels_last };

/// For which positions a decoder's head computes: in inference the last is enough.
enum class Logits : std::uint8_t { all, last };

/// When a training step lets go of the gradients of the step before; keep: set_to_none=False.
enum class ZeroGrad : std::uint8_t { before_forward, before_backward, keep };

/// How several devices train one network.
enum class Sharding : std::uint8_t {
  none,           ///< of several devices: as data_parallel
  data_parallel,  ///< each holds everything; gradients are reduced in buckets
  zero1,          ///< optimizer state divided
  zero2,          ///< and gradients
  zero3,          ///< and weights
};

[[nodiscard]] std::string_view name(Mode mode);
[[nodiscard]] std::string_view name(Precision precision);  ///< "amp-bf16"
[[nodiscard]] std::string_view name(Optimizer optimizer);
[[nodiscard]] std::string_view name(Loss loss);       ///< "cross-entropy"
[[nodiscard]] std::string_view name(InPlace choice);  ///< "auto"
[[nodiscard]] std::string_view name(Layout layout);   ///< "channels-last"
[[nodiscard]] std::string_view name(Logits logits);
[[nodiscard]] std::string_view name(ZeroGrad when);  ///< "before-forward"
[[nodiscard]] std::string_view name(Sharding sharding);
[[nodiscard]] std::optional<Mode> mode_named(std::string_view name);
[[nodiscard]] std::optional<Precision> precision_named(std::string_view name);
[[nodiscard]] std::optional<Optimizer> optimizer_named(std::string_view name);
[[nodiscard]] std::optional<Loss> loss_named(std::string_view name);
[[nodiscard]] std::optional<InPlace> in_place_named(std::string_view name);
[[nodiscard]] std::optional<Layout> layout_named(std::string_view name);
[[nodiscard]] std::optional<Logits> logits_named(std::string_view name);
[[nodiscard]] std::optional<ZeroGrad> zero_grad_named(std::string_view name);
[[nodiscard]] std::optional<Sharding> sharding_named(std::string_view name);

/// Whether products run in half precision over weights in float32.
[[nodiscard]] bool is_autocast(Precision precision);
/// Bits in which a weight that the model stores in floating point is kept.
[[nodiscard]] int weight_bits(Precision precision);
/// Values of state per parameter: none, momentum's one, Adam's two.
[[nodiscard]] int state_per_parameter(Optimizer optimizer);

/// Over how many devices each part of what is trained is divided.
struct Shares {
  std::int64_t state = 1, gradients = 1, weights = 1;
};

/// What PYTORCH_CUDA_ALLOC_CONF says to the caching allocator.
struct AllocatorOptions {
  bool expandable_segments = false;
  /// B; larger blocks are never split.
  std::int64_t max_split_size = std::numeric_limits<std::int64_t>::max();
  friend bool operator==(const AllocatorOptions&, const AllocatorOptions&) = default;
};

/// What connects the devices. Within a machine it is the device's own link unless given; between machines
/// nothing is known of it unless given.
struct Interconnect {
  std::optional<double> bandwidth = {};  ///< B/s of each device in one direction
  std::optional<double> latency = {};    ///< s of a message
  int devices_per_machine = 8;
  friend bool operator==(const Interconnect&, const Interconnect&) = default;
};

/// Everything that is asked of a network's run, for every command, estimate, engine job and record. What a
/// field does not concern (an optimizer in inference) it leaves as it is. Faithful by default: the graph's
/// own operators, those that are one kernel of the framework run as that kernel, nothing folded.
struct Setting {
  Mode mode = Mode::infer;
  std::optional<std::int64_t> batch = {}, sequence = {};  ///< absent: as the model has it, or assumed
  std::int64_t context = 0;  ///< tokens already in the key-value cache; inference
  Precision precision = Precision::fp32;
  Layout layout = Layout::contiguous;
  InPlace in_place = InPlace::automatic;
  bool key_value_cache = true;  ///< causal attention keeps its keys and values, as decoders do by default
  Logits logits = Logits::all;
  bool fold = false;             ///< BatchNorm into the convolution before it; inference
  bool literal = false;          ///< no recognised kernels: every operator of the graph by itself
  bool captured = false;         ///< as a CUDA graph: inference, or the whole training step
  bool cudnn_benchmark = false;  ///< libraries try their kernels out and keep the fastest

  // Training.
  Optimizer optimizer = Optimizer::sgd;
  Loss loss = Loss::cross_entropy;
  std::vector<std::string> frozen = {};  ///< parameters whose name begins with one of these are not trained
  /// Activations kept at about the square root of the layers, the rest computed again; or only between these.
  bool checkpoint = false;
  std::vector<std::string> checkpoints = {};
  int accumulate = 1;  ///< passes per optimizer step
  ZeroGrad zero_grad = ZeroGrad::before_forward;
  bool fused_optimizer = false;

  AllocatorOptions allocator = {};
  int devices = 1;
  Sharding sharding = Sharding::none;
  Interconnect interconnect = {};
  friend bool operator==(const Setting&, const Setting&) = default;
};

/// How several devices train together: where nobody says what they divide, each holds everything. None where
/// one trains alone, and in inference.
[[nodiscard]] Sharding effective_sharding(const Setting& setting);
[[nodiscard]] Shares sharded(const Setting& setting);

}  // namespace plimsoll::network
