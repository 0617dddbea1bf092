#include <algorithm>

#include "cuda/runtime.cuh"
#include "cuda/studies.hpp"

namespace plimsoll::cuda {

void study_ceilings(const Job&, const Emit& emit) {
  // Products last: they heat the device, and everything else is measured before its clocks give way.
  struct Part {
    void (*measure)(const Emit&, const Phase&);
    double phases;   // about as many as it tells
    double seconds;  // about as long as it takes
  };
  const Part parts[] = {{measure_memory, 94, 6},
                        {measure_copies, 40, 15},
                        {measure_launches, 3, 1},
                        {measure_products, 35, 20}};
  double all = 0, before = 0;
  for (const Part& part : parts) all += part.seconds;
  for (const Part& part : parts) {
    double told = 0;
    part.measure(emit, [&](const std::string& what) {
      emit(Progress{what, (before + part.seconds * std::min(told++ / part.phases, 1.0)) / all});
    });
    before += part.seconds;
  }
}

}  // namespace plimsoll::cuda
