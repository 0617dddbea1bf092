#include "program/work.hpp"

#include <algorithm>

#include "network/saturating.hpp"

namespace plimsoll::program {

using network::kUnbounded, network::product, network::quotient, network::sum;
namespace {

void add(Interval& a, Interval b) {
  if (b.high == 0) return;  // most operators have no MACs
  a = {sum(a.low, b.low), sum(a.high, b.high)};
}
Interval times(Interval a, Interval n) {
  return {product(a.low, n.low), product(a.high, n.high)};
}
Interval hull(Interval a, Interval b) {
  return {std::min(a.low, b.low), std::max(a.high, b.high)};
}

}  // namespace

Work& operator+=(Work& a, const Work& b) {
  add(a.macs, b.macs);
  add(a.flops, b.flops);
  add(a.bytes_read, b.bytes_read);
  add(a.bytes_written, b.bytes_written);
  return a;
}
Work operator*(const Work& a, Interval repeats) {
  return {times(a.macs, repeats), times(a.flops, repeats), times(a.bytes_read, repeats),
          times(a.bytes_written, repeats)};
}
Work either(const Work& a, const Work& b) {
  return {hull(a.macs, b.macs), hull(a.flops, b.flops), hull(a.bytes_read, b.bytes_read),
          hull(a.bytes_written, b.bytes_written)};
}

double arithmetic_intensity(const Work& w) {
  const std::int64_t bytes = sum(w.bytes_read.high, w.bytes_written.high);
  if (bytes == 0 || bytes == kUnbounded || w.flops.high == kUnbounded) return 0;
  return static_cast<double>(w.flops.high) / static_cast<double>(bytes);
}

}  // namespace plimsoll::program
