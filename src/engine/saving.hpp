#pragma once
#include <map>
#include <string>
#include <vector>

#include "engine/executor.hpp"
#include "engine/training.hpp"
#include "job/answer.hpp"

namespace plimsoll::engine {

/// Where a training stands between two steps.
struct Progression {
  std::int64_t step = 0;   ///< steps that are done
  std::int64_t epoch = 0;  ///< the one that goes on, or begins
  double loss_sum = 0;     ///< of the epoch that goes on
  std::int64_t loss_count = 0;
  double seconds = 0;  ///< of the epoch that goes on
  bool ended = false;
  std::vector<job::Epoch> epochs = {};  ///< that have ended, without their steps' losses
};

/// What a save must agree in with the training that goes on from it: names and values, as texts.
using Identity = std::map<std::string, std::string>;

/// Writes all that a training needs to go on: weights, what the optimizer keeps, the states of the random
/// generators, where it stands. Appears whole or not at all.
[[nodiscard]] Status write_save(const std::string& path, const Executor& executor, const Optimizer& optimizer,
                                const Progression& at, const Identity& identity);

/// Brings it back. Fails, and says in what, where the save is of another training.
[[nodiscard]] Result<Progression> read_save(const std::string& path, Executor& executor, Optimizer& optimizer,
                                            const Identity& identity);

/// The weights alone, by their names. Appears whole or not at all.
[[nodiscard]] Status write_trained(const std::string& path, const Executor& executor);

}  // namespace plimsoll::engine
