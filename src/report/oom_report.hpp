#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "estimate/memory/oom_message.hpp"
#include "report/memory_report.hpp"
#include "report/table.hpp"

namespace plimsoll::report {

/// What the numbers of a message support, and nothing more.
struct Advice {
  enum class Kind : std::uint8_t {
    too_large,        ///< the request alone is more than the GPU has
    limit,            ///< a memory fraction was reached, not the GPU's end
    other_process,    ///< without it there would have been room
    fragmentation,    ///< reserved memory would have sufficed in one piece
    private_pools,    ///< CUDA graphs hold memory that nobody else can use
    beyond_device,    ///< more allocated than the GPU has: the driver lends main memory
    enough_was_free,  ///< something outside PyTorch refused
    needs_less,       ///< nothing but the run itself fills the memory
  };
  Kind kind = Kind::needs_less;
  std::string text;
};
[[nodiscard]] std::string_view name(Advice::Kind kind);
[[nodiscard]] std::vector<Advice> advise(const estimate::OutOfMemory& message);

/// An out-of-memory message, and what the simulator says of the run where the model was given.
struct OutOfMemoryReport {
  estimate::OutOfMemory message;
  std::optional<MemoryReport> model = {};
};

/// What the allocator could have had: all that it reserved and all that was free, or less under a limit.
[[nodiscard]] std::optional<Bytes> allocator_room(const estimate::OutOfMemory& message);

[[nodiscard]] std::string out_of_memory_text(const OutOfMemoryReport& report, const TextStyle& style);
[[nodiscard]] nlohmann::ordered_json to_json(const OutOfMemoryReport& report);

}  // namespace plimsoll::report
