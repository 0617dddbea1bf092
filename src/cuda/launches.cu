#include <chrono>

#include "cuda/captured.cuh"
#include "cuda/runtime.cuh"
#include "cuda/sampling.hpp"
#include "cuda/studies.hpp"

namespace plimsoll::cuda {
namespace {

constexpr int kNodes = 1000;

__global__ void nothing() {}

void launch(const Stream& stream) {
  nothing<<<1, 1, 0, stream.get()>>>();
  check_launch("empty kernel");
}

/// Seconds on the host's clock for some calls, until the device is done with them.
Stopwatch until_done(const Stream& stream, std::function<void()> call) {
  return [&stream, call = std::move(call)](std::int64_t calls) {
    const auto begin = std::chrono::steady_clock::now();
    for (std::int64_t i = 0; i < calls; ++i) call();
    stream.wait();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
}

}  // namespace

void measure_launches(const Emit& emit, const Phase& phase) {
  const Stream stream;
  // Long samples: the wait at the end of each is spread over thousands of launches.
  const Sampling many{.samples = 11, .least_seconds = 5e-3, .warm_up_seconds = 0.02, .most_seconds = 2};
  phase("launch-kernel");
  emit(Rate{"launch-kernel", "s", 1, {}, sample(many, until_done(stream, [&] { launch(stream); }))});

  phase("launch-to-completion");
  emit(Rate{"launch-to-completion", "s", 1, {}, sample({}, until_done(stream, [&] {
                                                         launch(stream);
                                                         stream.wait();
                                                       }))});

  phase("launch-graph");
  const Captured captured(stream, [&] {
    for (int i = 0; i < kNodes; ++i) launch(stream);
  });
  std::vector<double> samples = sample(many, until_done(stream, [&] { captured.replay(stream); }));
  for (double& seconds : samples) seconds /= kNodes;
  emit(Rate{"launch-graph", "s", 1, {}, std::move(samples)});
}

}  // namespace plimsoll::cuda
