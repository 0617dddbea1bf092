#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "estimate/memory/allocator.hpp"
#include "estimate/memory/program.hpp"
#include "network/setting.hpp"

namespace plimsoll::estimate {

/// Where in an iteration something happens.
enum class Phase : std::uint8_t { load, forward, backward, step };
[[nodiscard]] std::string_view name(Phase phase);

struct RecordingOptions {
  network::Mode mode = network::Mode::infer;
  network::Optimizer optimizer = network::Optimizer::sgd;
  int iterations = 3;
  int accumulate = 1;           ///< forward and backward passes per step
  bool keep_gradients = false;  ///< zero_grad(set_to_none=False)
  bool zero_grad_late = false;  ///< zero_grad right before backward instead of before forward
  bool fused_optimizer = false;
  std::int64_t library_bytes = 0;  ///< cuBLAS's workspace per thread
  /// Divisors of what each GPU holds: ZeRO's stages over several GPUs.
  std::int64_t shard_state = 1, shard_gradients = 1, shard_weights = 1;
  std::int64_t gradient_buckets = 0;  ///< bytes that data-parallel training keeps for its reductions
  std::int64_t cache_bytes = 0;       ///< key-value cache of decoding
  std::vector<std::uint32_t> checkpoints = {};  ///< calls that begin a recomputed segment, ascending
};

/// A piece of memory of the recording.
struct Buffer {
  std::int64_t bytes = 0;
  std::int64_t most = 0;  ///< of a workspace that a library may choose otherwise; else `bytes`
  Purpose purpose = Purpose::activation;
  network::TensorId tensor = network::kNoTensor;
  std::uint32_t call = 0;  ///< that made it
};

struct Event {
  enum class Kind : std::uint8_t { allocate, try_allocate, free };
  std::uint32_t buffer = 0;
  std::uint32_t call = 0;
  Kind kind = Kind::allocate;
  Phase phase = Phase::load;
  std::uint16_t iteration = 0;
};

/// All allocations and frees of several iterations, in order.
struct Recording {
  std::vector<Buffer> buffers;
  std::vector<Event> events;
};

[[nodiscard]] Recording record(const Program& program, const RecordingOptions& options);

/// What a recording needs of an allocator.
struct Replay {
  std::int64_t peak_allocated = 0;
  std::int64_t peak_reserved = 0;
  std::size_t peak_event = 0;         ///< after which the most was allocated
  std::optional<std::size_t> failed;  ///< event that found no memory
};
/// The most that is in use at once, were every library to do without workspaces, or to take all it may.
struct PeakBounds {
  std::int64_t low = 0, high = 0;
};
[[nodiscard]] PeakBounds peak_bounds(const Recording& recording);

[[nodiscard]] Replay replay(const Recording& recording, const AllocatorSettings& settings);

}  // namespace plimsoll::estimate
