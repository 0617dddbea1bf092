#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "network/inference.hpp"
#include "network/stored.hpp"
#include "program/work.hpp"

namespace plimsoll::program {

/// Whether an operator's work is in the totals.
enum class Coverage : std::uint8_t {
  counted,
  folded,     ///< its results follow from shapes alone; nothing is left to execute. Counted, as zero.
  no_rule,    ///< no formula for this operator: listed as not counted
  unbounded,  ///< an extent it depends on has no bound: listed as not counted
};

struct OperatorCount {
  network::GraphId graph{};
  std::uint32_t index = 0;            ///< in that graph's operators
  std::uint32_t work = 0;             ///< in Counts::works: see Counts::work_of
  std::uint32_t backward = 0;         ///< in Counts::works: see Counts::backward_of
  Interval repeats{1, 1};             ///< how often a body's operator runs
  std::int64_t parameters = 0;        ///< learned values that it is the first to use
  std::int64_t weight_bytes = 0;      ///< bytes of weights (learned or not) that it is the first to use
  std::int64_t activation_bytes = 0;  ///< what it writes that is neither a view nor folded, at most
  std::uint32_t alternative =
      0;  ///< how many lighter branches of an If it stands in; in the totals only where 0
  Coverage coverage = Coverage::counted;
  bool certain = true;  ///< false in either branch of an If whose condition only the data tell
};

struct Counts {
  std::vector<OperatorCount> operators;  ///< in the order in which they run, bodies after their owner
  /// The work that rows name. Most operators of an exported graph only compute shapes and do none: they share
  /// the first.
  std::vector<Work> works{1};
  Work forward;
  Work backward;
  std::int64_t parameters = 0;  ///< each stored tensor once
  std::int64_t parameter_bytes = 0;
  std::int64_t weight_bytes = 0;  ///< parameters and buffers, as they are stored
  /// The weights by what a run's precision makes of them.
  network::WeightSizes weight_sizes, parameter_sizes;
  network::WeightSizes idle_sizes;  ///< of experts that a pass may leave unread, at most
  std::int64_t activation_bytes = 0;
  std::int64_t input_bytes = 0;   ///< of the graph's inputs and
  std::int64_t output_bytes = 0;  ///< outputs, at most
  std::size_t nodes = 0;
  std::size_t counted = 0;

  /// Forward, all repeats included.
  [[nodiscard]] const Work& work_of(const OperatorCount& row) const { return works[row.work]; }
  /// Of a training step, where the operator's inputs or weights need gradients.
  [[nodiscard]] const Work& backward_of(const OperatorCount& row) const { return works[row.backward]; }
};

/// Counts what one forward and one backward pass execute and move. Pure: no file, no clock.
[[nodiscard]] Counts count(const network::Network& network, const network::Shapes& shapes,
                           const Conventions& conventions);

}  // namespace plimsoll::program
