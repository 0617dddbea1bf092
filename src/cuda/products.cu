#include "cuda/library_product.cuh"
#include "cuda/sampling.hpp"
#include "cuda/studies.hpp"
#include "cuda/study_sizes.hpp"

namespace plimsoll::cuda {
namespace {

constexpr Number kNumbers[] = {Number::fp64, Number::fp32, Number::tf32, Number::fp16,
                               Number::bf16, Number::fp8,  Number::int8};
constexpr std::int64_t kSmallest = 1024, kLargest = 16384;
/// Long enough for clocks to settle under the load.
constexpr Sampling kSampling{.samples = 11, .least_seconds = 5e-3, .warm_up_seconds = 0.3, .most_seconds = 3};

Rate measure(const NumberRow& row, std::int64_t size) {
  const Stream stream;
  const Operands operands(row, size, stream);
  LibraryProduct product(row, size, true);
  const auto* a = operands.a.get();
  const auto* b = operands.b.get();
  auto* c = operands.c.get();
  product.choose(a, b, c, stream);
  DeviceStopwatch stopwatch(stream);
  return {row.rate, "FLOP/s", square_product_flops(size), static_cast<double>(Operands::bytes(row, size)),
          sample(kSampling, [&](std::int64_t calls) {
            return stopwatch.time(calls, [&] { product.launch(a, b, c, stream); });
          })};
}

}  // namespace

void measure_products(const Emit& emit, const Phase& phase) {
  for (const Number number : kNumbers) {
    const NumberRow& row = row_of(number);
    try {
      for (const std::int64_t size : sizes_between(kSmallest, kLargest, 2, kLargest)) {
        const std::int64_t needs = Operands::bytes(row, size), free = device_memory().free;
        const std::string what = phase_of(row.rate, static_cast<double>(needs));
        phase(what);
        if (needs > free / 2)
          emit(Remark{left_out(what, needs, free, "the GPU")});
        else
          emit(measure(row, size));
      }
    } catch (const NotSupported& error) {
      emit(Remark{error.what()});
    } catch (const OutOfMemory& error) {
      emit(Remark{std::string(row.rate) + " was left out: " + error.what()});
    }
  }
}

}  // namespace plimsoll::cuda
