#include "report/throughput.hpp"

#include <cmath>

#include "base/text.hpp"
#include "report/inspection.hpp"

namespace plimsoll::report {

std::string throughput_text(double per_second) {
  // A whole number with its thousands is read faster than "1.12 k", as long as it is short.
  if (per_second >= 100 && per_second < 1e6) return grouped(std::llround(per_second));
  return plimsoll::count_text(per_second);
}

}  // namespace plimsoll::report
