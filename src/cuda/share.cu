#include <algorithm>
#include <array>
#include <chrono>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "cuda/captured.cuh"
#include "cuda/runtime.cuh"
#include "cuda/studies.hpp"

namespace plimsoll::cuda {
namespace {

using Clock = std::chrono::steady_clock;

constexpr unsigned long long kLeastGap = 20'000;  // ns; what is shorter is no other context's turn
constexpr double kLongestWait = 60;               // s until the begin
constexpr double kWarmUp = 0.3;                   // s of steps before the begin
constexpr double kChunk = 5e-3;                   // s of steps between two events
constexpr std::int64_t kMostSteps = 10'000;       // in a chunk

double now() {
  return std::chrono::duration<double>(Clock::now().time_since_epoch()).count();
}
void sleep_until(double moment) {
  const double left = moment - now();
  if (left > 0) std::this_thread::sleep_for(std::chrono::duration<double>(left));
}

__device__ unsigned long long device_nanoseconds() {
  unsigned long long time;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(time));
  return time;
}

/// Pairs of begin and end of what passed between two looks at the clock, where that was long.
__global__ void watch_clock(unsigned long long duration, unsigned long long* gaps, int* found, int most) {
  const unsigned long long begin = device_nanoseconds();
  unsigned long long last = begin;
  int count = 0;
  while (last - begin < duration) {
    const unsigned long long time = device_nanoseconds();
    if (time - last > kLeastGap && count < most) {
      gaps[2 * count] = last - begin;
      gaps[2 * count + 1] = time - begin;
      ++count;
    }
    last = time;
  }
  *found = count;
}

void watch_turns(const Job& job, const Emit& emit) {
  const Stream stream;
  constexpr int kMost = static_cast<int>(kMostGaps);
  const DeviceMemory gaps = allocate_on_device(2 * sizeof(unsigned long long) * kMost);
  const DeviceMemory found = allocate_on_device(sizeof(int));
  const auto watch = [&](double seconds) {
    watch_clock<<<1, 1, 0, stream.get()>>>(static_cast<unsigned long long>(seconds * 1e9),
                                           gaps.as<unsigned long long>(), found.as<int>(), kMost);
    check_launch("watch");
    stream.wait();
  };
  watch(0);  // loads its code
  sleep_until(job.begin);
  emit(Window{.begin = true});
  watch(job.seconds);
  int count = 0;
  check(cudaMemcpy(&count, found.get(), sizeof count, cudaMemcpyDeviceToHost), "reading gaps");
  std::vector<unsigned long long> times(2 * static_cast<std::size_t>(count));
  if (count > 0)
    check(cudaMemcpy(times.data(), gaps.get(), times.size() * sizeof times[0], cudaMemcpyDeviceToHost),
          "reading gaps");
  Turns turns;
  for (std::size_t i = 0; i < times.size(); i += 2)
    turns.gaps.push_back({static_cast<double>(times[i]) * 1e-9, static_cast<double>(times[i + 1]) * 1e-9});
  emit(turns);
}

/// Cycles of the SM's clock, which stands still while another context has the GPU: unlike a wait for a
/// moment, this is work that remains to be done. `number` makes functions of one body different ones.
template <int number>
__global__ void spin(long long cycles, int* sink) {
  const long long begin = clock64();
  while (clock64() - begin < cycles) {
  }
  if (cycles < 0) *sink = number;
}

using Spin = void (*)(long long, int*);
template <int... numbers>
constexpr std::array<Spin, sizeof...(numbers)> spins_of(std::integer_sequence<int, numbers...>) {
  return {spin<numbers>...};
}

__global__ void triad(float* a, const float* b, const float* c, std::size_t count) {
  const std::size_t step = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  for (std::size_t i = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x; i < count; i += step)
    a[i] = b[i] + 0.5F * c[i];
}

/// Keeps two chunks of steps in the stream, so that the device never waits for the host.
class Stepper {
 public:
  Stepper(const Captured& step, const Stream& stream) : step_(&step), stream_(&stream) {
    DeviceStopwatch stopwatch(stream);
    const auto replay = [&] { step.replay(stream); };
    static_cast<void>(stopwatch.time(1, replay));
    const double one = stopwatch.time(2, replay) / 2;
    steps_ = std::clamp(static_cast<std::int64_t>(kChunk / std::max(one, 1e-7)), std::int64_t{1}, kMostSteps);
  }
  /// Seconds of a step by the GPU's clock, a sample per chunk, until a moment of the host's.
  [[nodiscard]] std::vector<double> run_until(double moment) {
    std::vector<double> samples;
    std::int64_t chunks = 0;
    const auto event = [&](std::int64_t chunk) -> Event& { return ends_[chunk % 3]; };
    event(0).record(*stream_);
    do {
      ++chunks;
      for (std::int64_t i = 0; i < steps_; ++i) step_->replay(*stream_);
      event(chunks).record(*stream_);
      if (chunks > 1) samples.push_back(between(event(chunks - 2), event(chunks - 1)));
    } while (now() < moment);
    samples.push_back(between(event(chunks - 1), event(chunks)));
    return samples;
  }

 private:
  [[nodiscard]] double between(const Event& begin, const Event& end) const {
    end.wait();
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, begin.get(), end.get()), "cudaEventElapsedTime");
    return static_cast<double>(milliseconds) * 1e-3 / static_cast<double>(steps_);
  }

  const Captured* step_;
  const Stream* stream_;
  std::int64_t steps_ = 1;
  Event ends_[3];
};

std::vector<double> take_steps(const Job& job, const Emit& emit, const Stream& stream,
                               const std::function<void(std::int64_t kernel)>& launch) {
  const Captured step(stream, [&] {
    for (std::int64_t i = 0; i < job.step.kernels; ++i) launch(i);
  });
  Stepper stepper(step, stream);
  sleep_until(job.begin - kWarmUp);
  static_cast<void>(stepper.run_until(std::max(job.begin, now())));
  emit(Window{.begin = true});
  return stepper.run_until(now() + job.seconds);
}

double cycles_per_second() {
  int device = 0, kilohertz = 0;
  check(cudaGetDevice(&device), "cudaGetDevice");
  check(cudaDeviceGetAttribute(&kilohertz, cudaDevAttrClockRate, device), "cudaDeviceGetAttribute");
  return 1e3 * kilohertz;
}

void spin_steps(const Job& job, const Emit& emit) {
  static constexpr auto kSpins =
      spins_of(std::make_integer_sequence<int, static_cast<int>(kMostDifferent)>());
  const Stream stream;
  const auto cycles = static_cast<long long>(job.step.kernel_seconds * cycles_per_second());
  const auto blocks = static_cast<unsigned>(job.step.blocks),
             threads = static_cast<unsigned>(job.step.threads);
  std::vector<double> samples = take_steps(job, emit, stream, [&](std::int64_t kernel) {
    const Spin chosen = kSpins[static_cast<std::size_t>(kernel % job.step.different)];
    chosen<<<blocks, threads, 0, stream.get()>>>(cycles, nullptr);
    check_launch("spin");
  });
  emit(Rate{"step", "s", 1, {}, std::move(samples)});
}

void stream_steps(const Job& job, const Emit& emit) {
  constexpr std::int64_t kArrays = 3;
  const Stream stream;
  const std::int64_t count =
      std::max<std::int64_t>(job.step.bytes / (kArrays * std::int64_t{sizeof(float)}), 1);
  const std::int64_t bytes = count * std::int64_t{sizeof(float)};
  DeviceMemory arrays[kArrays];
  for (DeviceMemory& array : arrays) {
    array = allocate_on_device(bytes);
    check(cudaMemsetAsync(array.get(), 0, static_cast<std::size_t>(bytes), stream.get()), "cudaMemset");
  }
  const auto blocks = static_cast<unsigned>(job.step.blocks),
             threads = static_cast<unsigned>(job.step.threads);
  std::vector<double> samples = take_steps(job, emit, stream, [&](std::int64_t) {
    triad<<<blocks, threads, 0, stream.get()>>>(arrays[0].as<float>(), arrays[1].as<float>(),
                                                arrays[2].as<float>(), static_cast<std::size_t>(count));
    check_launch("triad");
  });
  const std::int64_t moved = kArrays * bytes * job.step.kernels;
  emit(Rate{"step", "B/s", static_cast<double>(moved), {}, std::move(samples)});
}

}  // namespace

void share_device(const Job& job, const Emit& emit) {
  if (job.begin > now() + kLongestWait) throw std::runtime_error("the begin is more than a minute away");
  emit(Progress{"sharing", 0});
  switch (job.part) {
    case Sharer::watch: return watch_turns(job, emit);
    case Sharer::spin: return spin_steps(job, emit);
    case Sharer::stream: return stream_steps(job, emit);
  }
}

}  // namespace plimsoll::cuda
