#pragma once
#include <cstdint>
#include <span>
#include <string_view>

#include "hardware/operations.hpp"
#include "network/inference.hpp"
#include "network/saturating.hpp"
#include "program/work.hpp"

namespace plimsoll::program {

/// One operator seen with numbers for all its extents: the lower or the upper corner of their bounds.
struct Site {
  const network::Network& network;
  const network::Shapes& shapes;
  const network::Operator& op;
  const Conventions& conventions;
  bool upper = true;

  [[nodiscard]] std::span<const network::TensorId> inputs() const { return network.inputs(op); }
  [[nodiscard]] std::span<const network::TensorId> outputs() const { return network.outputs(op); }
  [[nodiscard]] bool has(std::size_t input) const;
  [[nodiscard]] std::int64_t extent(network::Dim d) const;
  /// Extent of an input, counted from the end where negative; 1 where the axis is not there.
  [[nodiscard]] std::int64_t dim(network::TensorId id, std::int64_t axis) const;
  [[nodiscard]] std::int64_t input_dim(std::size_t input, std::int64_t axis) const {
    return has(input) ? dim(inputs()[input], axis) : 1;
  }
  [[nodiscard]] std::int64_t elements(network::TensorId id) const;
  [[nodiscard]] std::int64_t input_elements(std::size_t input) const {
    return has(input) ? elements(inputs()[input]) : 0;
  }
  [[nodiscard]] std::int64_t output_elements(std::size_t output = 0) const;
  [[nodiscard]] std::int64_t bytes(network::TensorId id) const { return bytes(id, elements(id)); }
  [[nodiscard]] std::int64_t bytes(network::TensorId id,
                                   std::int64_t elements) const;  ///< of so many of them
  [[nodiscard]] std::int64_t integer(std::string_view attribute, std::int64_t otherwise) const;
};

using Operations = hardware::Operations<network::Count>;

struct WorkRow;
using Formula = Operations (*)(const Site&, const WorkRow&);

/// Which bytes an operator has to move.
enum class Traffic : std::uint8_t {
  all,      ///< every input read once, every output written once
  none,     ///< a view, or answered without touching data (Reshape, Shape, Identity)
  gathers,  ///< reads of its first input only as much as it writes (Gather, Slice, Split), the rest whole
  experts,  ///< reads of the stacked weights, from input 2 on, those of the experts that rows choose
};

/// How the gradient of an operator is made.
enum class Backward : std::uint8_t {
  none,     ///< no gradient flows (comparisons, casts to integers, indices)
  product,  ///< one product of the forward's size for each operand that needs a gradient
  map,      ///< `backward_cost` FLOPs per element of the gradient
  move,     ///< moves the gradient without arithmetic
};

/// What else the counter must know about an operator.
enum class Trait : std::uint8_t {
  none,
  renames,   ///< a stored tensor seen through it is still that tensor (Identity, Transpose, Cast)
  varies,    ///< its work depends on the data even where its shapes do not (NonMaxSuppression)
  branches,  ///< If: one of its bodies runs
  repeats,   ///< Loop, Scan, SequenceMap: its body runs as often as the data says
};

/// One row per operator: data, so that adding one is a line.
struct WorkRow {
  std::string_view name;
  Formula formula = nullptr;
  int cost = 0;  ///< FLOPs per element, as the formula uses it
  Traffic traffic = Traffic::all;
  Backward backward = Backward::map;
  int backward_cost = 0;
  std::string_view domain = "";
  Trait trait = Trait::none;
};

/// The row of an operator; nullptr where there is none and it must be listed as not counted.
[[nodiscard]] const WorkRow* find_work(network::OperatorKind kind);
[[nodiscard]] std::span<const WorkRow> work_table();

}  // namespace plimsoll::program
