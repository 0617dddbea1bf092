#include "estimate/profile/parallel_work.hpp"

#include <algorithm>
#include <cmath>

namespace plimsoll::estimate {
namespace {

using hardware::Direction;
using hardware::OperatorCase;
using hardware::OperatorClass;

/// Queries that a block of an attention kernel takes at once.
constexpr double kQueryTile = 64;

/// Extents as numbers, at least 1.
class Sizes {
 public:
  explicit Sizes(const OperatorCase& c) : c_(c) {}
  [[nodiscard]] double operator[](std::size_t i) const {
    return static_cast<double>(std::max<std::int64_t>(c_.extents[i], 1));
  }
  [[nodiscard]] double product(std::size_t count) const {
    double all = 1;
    for (std::size_t i = 0; i < count; ++i) all *= (*this)[i];
    return all;
  }

 private:
  const OperatorCase& c_;
};

double weight_elements(const Sizes& e) {
  return e[4] * e[1] / e[8] * e[5] * e[6];
}
/// A thread for each value that is written: of a pool or of a depthwise convolution.
double pool_work(const Sizes& e, bool backward) {
  namespace pool = hardware::pool;
  const double planes = e[pool::batch] * e[pool::channels];
  return planes * (backward ? e[pool::height] * e[pool::width] : e[pool::out_height] * e[pool::out_width]);
}

double depthwise_work(const Sizes& e, Direction direction) {
  namespace conv = hardware::conv;
  const double planes = e[conv::batch] * e[conv::out_channels];
  switch (direction) {
    case Direction::forward: break;
    case Direction::backward_input: return planes * e[conv::height] * e[conv::width];
    case Direction::backward_weight:
      return e[conv::out_channels] * e[conv::kernel_height] * e[conv::kernel_width];
  }
  return planes * e[conv::out_height] * e[conv::out_width];
}

/// Of an operator with a weight: all that the kernel before did not write.
double cold_of_product(const OperatorCase& c, double elements_of_weight, double elements_of_input,
                       double work_bytes) {
  const double bytes =
      c.arithmetic == hardware::Arithmetic::fp16 || c.arithmetic == hardware::Arithmetic::bf16 ? 2 : 4;
  const double cold = c.direction == Direction::backward_weight ? elements_of_input : elements_of_weight;
  return std::min(cold * bytes, work_bytes);
}

}  // namespace

double parallel_work(const OperatorCase& c) {
  const Sizes e(c);
  const bool backward = c.direction != Direction::forward;
  // Depthwise convolutions with the channels fastest run as tiles do.
  if (c.operator_class == OperatorClass::depthwise_channels_last) return 0;
  switch (channels_first(c.operator_class)) {
    case OperatorClass::convolution:
    case OperatorClass::grouped:
    case OperatorClass::matrix:
    case OperatorClass::column_sum:
    case OperatorClass::channel_sum:
    case OperatorClass::optimizer_sgd:
    case OperatorClass::optimizer_momentum:
    case OperatorClass::optimizer_adam:
    case OperatorClass::counted: return 0;
    case OperatorClass::depthwise: return depthwise_work(e, c.direction);
    case OperatorClass::batched: return e.product(3);
    case OperatorClass::attention: return e[0] * e[1] * std::ceil(e[2] / kQueryTile);
    case OperatorClass::grouped_attention:
      return e[0] * e[1] * std::ceil(e[hardware::grouped::queries] / kQueryTile);
    case OperatorClass::batch_norm_training: return e[1];  // a block, or a few, for each channel
    case OperatorClass::group_norm: return e[0] * e[3];
    case OperatorClass::layer_norm:
    case OperatorClass::softmax:
    case OperatorClass::row_sum: return e[0];
    case OperatorClass::global_pool: return backward ? e.product(2) : e[0];
    case OperatorClass::embedding: return backward ? 0 : e.product(2);
    case OperatorClass::max_pool:
    case OperatorClass::average_pool: return pool_work(e, backward);
    case OperatorClass::batch_norm:
    case OperatorClass::broadcast:
    case OperatorClass::transpose: return e.product(3);
    case OperatorClass::unary:
    case OperatorClass::function:
    case OperatorClass::binary:
    case OperatorClass::copy: return e[0];
    default: return 0;  // of the other layout
  }
}

double cold_bytes(const OperatorCase& c) {
  const Sizes e(c);
  const double all = hardware::work_of(c).bytes();
  const bool backward = c.direction != Direction::forward;
  switch (channels_first(c.operator_class)) {
    case OperatorClass::convolution:
    case OperatorClass::grouped:
    case OperatorClass::depthwise: return cold_of_product(c, weight_elements(e), e.product(4), all);
    case OperatorClass::matrix: return cold_of_product(c, e[1] * e[2], e[0] * e[2], all);
    case OperatorClass::optimizer_sgd:
    case OperatorClass::optimizer_momentum:
    case OperatorClass::optimizer_adam: return all;
    case OperatorClass::embedding: return all / 2;
    case OperatorClass::attention: return backward ? all / 2 : 0;            // queries, keys, values, result
    case OperatorClass::grouped_attention: return backward ? all / 2 : all;  // a cache was written long ago
    case OperatorClass::batch_norm_training: return backward ? all / 5 : 0;  // read twice, once from afar
    case OperatorClass::row_sum:
    case OperatorClass::column_sum:
    case OperatorClass::channel_sum:
    case OperatorClass::global_pool: return 0;
    default: return backward ? all / 3 : 0;  // one of gradient, kept values and result
  }
}

}  // namespace plimsoll::estimate
