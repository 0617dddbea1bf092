#pragma once
#include "estimate/memory/memory.hpp"
#include "estimate/time/time.hpp"
#include "program/lowering.hpp"

namespace plimsoll::estimate {

/// From shapes to figures, for tests that ask about one network once.
inline Result<MemoryEstimate> memory_of(const network::Network& network, const network::Shapes& shapes,
                                        const network::Setting& setting, const Target& target) {
  const Result<Program> program = program::lower(network, shapes, setting, target.platform(setting));
  PLIMSOLL_TRY(program);
  return estimate_memory(network, *program, setting, *target.device);
}

inline Result<TimeEstimate> time_of(const network::Network& network, const network::Shapes& shapes,
                                    const network::Setting& setting, const Target& target) {
  const Result<Program> program = program::lower(network, shapes, setting, target.platform(setting));
  PLIMSOLL_TRY(program);
  return estimate_time(*program, setting, target);
}

}  // namespace plimsoll::estimate
