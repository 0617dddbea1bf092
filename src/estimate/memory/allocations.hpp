#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "estimate/memory/allocator.hpp"
#include "network/setting.hpp"
#include "program/program.hpp"

namespace plimsoll::estimate {

using program::Phase;
using program::Program;
using program::Purpose;

/// A piece of memory.
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
struct Allocations {
  std::vector<Buffer> buffers;
  std::vector<Event> events;
};

/// Two passes of inference, or three training steps: by then an allocator has settled. `library_bytes`:
/// cuBLAS's workspace per thread.
[[nodiscard]] Allocations allocations_of(const Program& program, const network::Setting& setting,
                                         std::int64_t library_bytes);

/// What allocations need of an allocator.
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
[[nodiscard]] PeakBounds peak_bounds(const Allocations& allocations);

[[nodiscard]] Replay replay(const Allocations& allocations, const AllocatorSettings& settings);

}  // namespace plimsoll::estimate
