#pragma once
#include <array>
#include <vector>

#include "plan/cluster/nodes.hpp"

namespace plimsoll::plan::cluster {

/// What a part of a GPU that is free is worth to the pods that arrive, in GPUs. Where many ask for 810
/// thousandths and few for less than 200, 810 are worth a whole GPU, and the 190 beside them nothing.
///
/// It is the price of the cutting-stock problem (Gilmore and Gomory, 1961): GPUs are cut into the sizes that
/// arrive, in the ways that need the fewest GPUs; a size costs what one more of it would need of them. A gap
/// is worth the dearest sizes that fit into it together. Sizes are taken in hundredths of a GPU, rounded up.
class GapValue {
 public:
  explicit GapValue(const Workload& workload);

  [[nodiscard]] double of(int free_milli) const { return values_[free_milli / kStep]; }

 private:
  static constexpr int kStep = 10, kSteps = kWholeGpu / kStep;
  std::array<double, kSteps + 1> values_ = {};
};

/// For each size, in steps of which a bin has `bin`, how many bins one more piece of it needs, where pieces
/// come in these amounts. All sizes differ and lie between 1 and `bin`; all amounts are positive.
[[nodiscard]] std::vector<double> cutting_prices(const std::vector<int>& sizes,
                                                 const std::vector<double>& amounts, int bin);
/// The most that pieces of these prices come to in a bin of each number of steps, from 0 to `bin`.
[[nodiscard]] std::vector<double> best_fillings(const std::vector<int>& sizes,
                                                const std::vector<double>& prices, int bin);

}  // namespace plimsoll::plan::cluster
