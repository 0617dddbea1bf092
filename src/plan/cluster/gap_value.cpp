#include "plan/cluster/gap_value.hpp"

#include <algorithm>
#include <cmath>
#include <map>

namespace plimsoll::plan::cluster {
namespace {

constexpr double kRounding = 1e-9;
constexpr int kMostPivots = 5000;  // a few hundred do; what is found by then is used

/// The pieces of the best filling of a whole bin.
std::vector<double> dearest_pattern(const std::vector<int>& sizes, const std::vector<double>& prices,
                                    int bin) {
  const std::vector<double> best = best_fillings(sizes, prices, bin);
  std::vector<double> pattern(sizes.size());
  for (int room = bin; room > 0;) {
    if (best[room] == best[room - 1]) {
      --room;
      continue;
    }
    for (std::size_t i = 0; i < sizes.size(); ++i)
      if (sizes[i] <= room && best[room - sizes[i]] + prices[i] == best[room]) {
        ++pattern[i];
        room -= sizes[i];
        break;
      }
  }
  return pattern;
}

/// The simplex method over ways to cut a bin, which are found as they are needed.
class CuttingPlan {
 public:
  CuttingPlan(const std::vector<int>& sizes, const std::vector<double>& amounts, int bin)
      : count_(sizes.size()), bins_(amounts), costs_(count_, 1.0), inverse_(count_ * count_) {
    for (std::size_t i = 0; i < count_; ++i) {  // at first each way has one size alone
      const int pieces = bin / sizes[i];
      inverse_[i * count_ + i] = 1.0 / pieces;
      bins_[i] /= pieces;
    }
  }

  [[nodiscard]] std::vector<double> prices() const {
    std::vector<double> out(count_);
    for (std::size_t row = 0; row < count_; ++row)
      for (std::size_t i = 0; i < count_; ++i) out[i] += costs_[row] * inverse_[row * count_ + i];
    return out;
  }

  /// Takes in a way to cut that costs so many bins, in place of the one that it uses up first.
  [[nodiscard]] bool enter(const std::vector<double>& pattern, double cost) {
    std::vector<double> direction(count_);
    for (std::size_t row = 0; row < count_; ++row)
      for (std::size_t i = 0; i < count_; ++i) direction[row] += inverse_[row * count_ + i] * pattern[i];
    std::size_t out = count_;
    for (std::size_t row = 0; row < count_; ++row)
      if (direction[row] > kRounding &&
          (out == count_ || bins_[row] / direction[row] < bins_[out] / direction[out]))
        out = row;
    if (out == count_) return false;
    const auto scale = [&](std::size_t row, double factor) {
      for (std::size_t i = 0; i < count_; ++i) inverse_[row * count_ + i] *= factor;
      bins_[row] *= factor;
    };
    scale(out, 1 / direction[out]);
    for (std::size_t row = 0; row < count_; ++row) {
      if (row == out) continue;
      for (std::size_t i = 0; i < count_; ++i)
        inverse_[row * count_ + i] -= direction[row] * inverse_[out * count_ + i];
      bins_[row] -= direction[row] * bins_[out];
    }
    costs_[out] = cost;
    return true;
  }

 private:
  std::size_t count_;
  std::vector<double> bins_, costs_;  // of the ways in use
  std::vector<double> inverse_;       // of the matrix of these ways
};

}  // namespace

std::vector<double> best_fillings(const std::vector<int>& sizes, const std::vector<double>& prices, int bin) {
  std::vector<double> best(static_cast<std::size_t>(bin) + 1);
  for (int room = 1; room <= bin; ++room) {
    best[room] = best[room - 1];
    for (std::size_t i = 0; i < sizes.size(); ++i)
      if (sizes[i] <= room) best[room] = std::max(best[room], best[room - sizes[i]] + prices[i]);
  }
  return best;
}

std::vector<double> cutting_prices(const std::vector<int>& sizes, const std::vector<double>& amounts,
                                   int bin) {
  CuttingPlan plan(sizes, amounts, bin);
  for (int pivot = 0; pivot < kMostPivots; ++pivot) {
    const std::vector<double> prices = plan.prices();
    const auto least = std::ranges::min_element(prices);
    std::vector<double> pattern(sizes.size());
    double cost = 0;
    if (least != prices.end() && *least < -kRounding) {
      pattern[static_cast<std::size_t>(least - prices.begin())] = -1;  // a piece that nobody needs
    } else {
      if (best_fillings(sizes, prices, bin).back() <= 1 + kRounding) break;
      pattern = dearest_pattern(sizes, prices, bin);
      cost = 1;
    }
    if (!plan.enter(pattern, cost)) break;
  }
  std::vector<double> prices = plan.prices();
  for (double& price : prices) price = std::max(price, 0.0);
  return prices;
}

GapValue::GapValue(const Workload& workload) {
  std::map<int, double> amounts;
  for (const std::uint32_t kind : workload.pods)
    if (const Pod& pod = workload.kinds[kind]; pod.gpus > 0)
      amounts[(pod.milli + kStep - 1) / kStep] += pod.gpus;
  std::vector<int> sizes;
  std::vector<double> each;
  for (const auto& [size, amount] : amounts) {
    sizes.push_back(size);
    each.push_back(amount);
  }
  const std::vector<double> best = best_fillings(sizes, cutting_prices(sizes, each, kSteps), kSteps);
  std::ranges::copy(best, values_.begin());
}

}  // namespace plimsoll::plan::cluster
