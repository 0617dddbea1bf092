#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/attention_mask.hpp"
#include "engine/call.hpp"
#include "job/job.hpp"
#include "network/fusion.hpp"
#include "network/quantized.hpp"

namespace plimsoll::engine {

/// Where a tensor stands in tables by tensor.
[[nodiscard]] inline std::size_t index(network::TensorId id) {
  return static_cast<std::size_t>(id);
}

/// One call of a kernel.
struct Instruction {
  std::uint32_t op = 0;  ///< in its graph
  Kernel kernel;
  std::vector<network::TensorId> inputs = {};
  std::vector<network::TensorId> outputs = {};
  std::vector<network::TensorId> releases = {};  ///< what nothing needs any more after this instruction
  std::string label = {};                        ///< of a recognised kernel: "attention"
  bool shape_arithmetic = false;                 ///< stays on the CPU where all its inputs do
  bool scalars_stay = false;                     ///< takes single numbers of the host as they are
};

/// A tensor whose contents are known before anything runs.
struct KnownTensor {
  network::TensorId tensor;
  at::Tensor contents;  ///< on the CPU
};

/// An attention's mask, and how the attention uses it (settled once the weights are there).
struct AttentionMask {
  network::TensorId tensor;
  std::shared_ptr<MaskUse> use;  ///< shared with the kernel, which a Instruction owns as a function
};

/// What executes a Network: instructions in order, per graph. Refers to the Network it was made from.
struct Routine {
  const network::Network* network = nullptr;
  Numbers numbers;
  std::vector<std::vector<Instruction>> graphs;  ///< by GraphId
  std::vector<KnownTensor> known;                ///< shape arithmetic that inference has done
  /// Constants that are stored tensors: the operator's output, and the tensor of its attribute.
  std::vector<std::pair<network::TensorId, network::TensorId>> constants;
  std::vector<network::TensorId> weights;  ///< stored tensors that instructions read, not known ones
  std::vector<network::TensorId> turned;   ///< weights that the framework keeps the other way round
  std::vector<AttentionMask> masks;
  std::map<std::string, std::int64_t> recognised;
  std::int64_t in_place = 0;
  bool eight_bits = false;  ///< some of it runs on the library's eight-bit kernels, which only CPUs have
};

struct Unexecutable {
  std::string op;
  std::int64_t nodes = 0;
  std::string reason;
};

/// Fails where shapes cannot be inferred; operators that cannot be executed are listed in `missing`, and
/// then the routine must not be run.
[[nodiscard]] Result<Routine> make_routine(const network::Network& network, const network::Shapes& shapes,
                                           const network::Setting& setting,
                                           std::vector<Unexecutable>& missing);

/// The element type that a setting computes in, in place of float32.
[[nodiscard]] Numbers numbers_of(network::Precision precision);

/// Heads, their width last, joined and given to a layer: input, weight (a row per output), bias. Where heads
/// and width are neighbours in memory joining is a view.
[[nodiscard]] Kernel projection_kernel();

/// The kernel of a recognised group of operators, and the tensors it reads, in the kernel's order.
struct FusedKernel {
  Kernel kernel;
  std::vector<network::TensorId> inputs;
};
/// What the graph around a recognised attention says of it.
struct AttentionForm {
  std::shared_ptr<MaskUse> mask;  ///< looked at whenever the kernel runs
  std::int64_t heads = 0;  ///< its inputs are tokens, batch, width, to be split in so many; 0: they are split
  /// Copies of keys and values are held until the pass has ended, as a decoder's cache does. Where heads were
  /// repeated for grouped queries it holds what they were repeated from.
  bool cached = false;
  network::TensorId unrepeated_key = network::kNoTensor, unrepeated_value = network::kNoTensor;
};
/// `in_place` is of activations, `form` of attention.
[[nodiscard]] FusedKernel fused_kernel(const network::Fusion& fusion, const network::Shapes& shapes,
                                       bool in_place, const AttentionForm& form);
/// "attention", "gelu", …
[[nodiscard]] std::string_view name(network::Fusion::Kind kind);

}  // namespace plimsoll::engine
