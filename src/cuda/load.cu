#include <algorithm>
#include <chrono>
#include <functional>
#include <thread>

#include "cuda/library_product.cuh"
#include "cuda/memory.cuh"
#include "cuda/runtime.cuh"
#include "cuda/studies.hpp"
#include "cuda/study_sizes.hpp"

namespace plimsoll::cuda {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kWarmUp = 1;    // s, in which clocks and power settle
constexpr double kBatch = 0.02;  // s of work between two looks at the clock
constexpr double kSayEvery = 1;  // s
constexpr std::int64_t kSize = 8192;
constexpr std::int64_t kWorkingSet = std::int64_t{3} << 30;

double since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// What one call puts into the stream.
struct Work {
  std::function<void()> call;
  std::optional<double> flops = {};
  std::optional<double> bytes = {};
};

/// Keeps two batches in the stream, so that the device never waits for the host; the number of calls done.
class Carrier {
 public:
  Carrier(const Work& work, const Stream& stream) : work_(&work), stream_(&stream) {
    DeviceStopwatch stopwatch(stream);
    static_cast<void>(stopwatch.time(1, work.call));
    const double one = stopwatch.time(2, work.call) / 2;
    calls_ = static_cast<std::int64_t>(std::clamp(kBatch / std::max(one, 1e-6), 1.0, 10'000.0));
  }
  std::int64_t carry(double seconds, const std::function<void(double elapsed)>& say) {
    const auto begin = Clock::now();
    double said = 0;
    std::int64_t done = 0;
    for (int turn = 0; since(begin) < seconds; turn ^= 1, done += calls_) {
      for (std::int64_t i = 0; i < calls_; ++i) work_->call();
      ends_[turn].record(*stream_);
      if (done > 0) ends_[turn ^ 1].wait();
      if (const double elapsed = since(begin); elapsed - said > kSayEvery) {
        said = elapsed;
        say(elapsed);
      }
    }
    stream_->wait();
    return done;
  }

 private:
  const Work* work_;
  const Stream* stream_;
  std::int64_t calls_ = 1;
  Event ends_[2];
};

std::optional<double> times(const std::optional<double>& each, std::int64_t calls) {
  return each ? std::optional(*each * static_cast<double>(calls)) : std::nullopt;
}

void carry(const Work& work, const Stream& stream, double seconds, const Emit& emit) {
  const double all = kWarmUp + seconds;
  Carrier carrier(work, stream);
  emit(Progress{"warming up", 0});
  static_cast<void>(carrier.carry(kWarmUp, [](double) {}));
  emit(Window{.begin = true});
  const auto begin = Clock::now();
  const std::int64_t calls = carrier.carry(
      seconds, [&](double elapsed) { emit(Progress{"load", std::min((kWarmUp + elapsed) / all, 1.0)}); });
  emit(Window{.begin = false,
              .seconds = since(begin),
              .flops = times(work.flops, calls),
              .bytes = times(work.bytes, calls)});
}

void carry_products(Number number, const Job& job, const Emit& emit) {
  const NumberRow& row = row_of(number);
  const Stream stream;
  const Operands operands(row, kSize, stream);
  LibraryProduct product(row, kSize, true);
  const auto* a = operands.a.get();
  const auto* b = operands.b.get();
  auto* c = operands.c.get();
  product.choose(a, b, c, stream);
  carry({.call = [&] { product.launch(a, b, c, stream); }, .flops = square_product_flops(kSize), .bytes = {}},
        stream, job.seconds, emit);
}

void carry_triads(const Job& job, const Emit& emit) {
  const Stream stream;
  const std::int64_t set = std::min(kWorkingSet, device_memory().free / 2);
  for (const AccessRow& row : kAccesses) {
    if (row.access != Access::triad) continue;
    const MemorySweep sweep(row, set, set, stream);
    carry({.call = [&] { sweep.launch(stream); }, .flops = {}, .bytes = sweep.bytes_per_launch()}, stream,
          job.seconds, emit);
  }
}

/// The context is there, and nothing runs. Clocks and power take a while to fall after what was before.
void stay_idle(const Job& job, const Emit& emit) {
  const auto sleep = [](double seconds) {
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  };
  emit(Progress{"settling", 0});
  sleep(3 * kWarmUp);
  emit(Window{.begin = true});
  const auto begin = Clock::now();
  while (since(begin) < job.seconds) {
    sleep(std::min(kSayEvery, std::max(job.seconds - since(begin), 0.0)));
    emit(Progress{"idle", std::min(since(begin) / job.seconds, 1.0)});
  }
  emit(Window{.begin = false, .seconds = since(begin)});
}

}  // namespace

void carry_load(const Job& job, const Emit& emit) {
  switch (job.load) {
    case Load::idle: return stay_idle(job, emit);
    case Load::product_bf16: return carry_products(Number::bf16, job, emit);
    case Load::product_fp32: return carry_products(Number::fp32, job, emit);
    case Load::memory_triad: return carry_triads(job, emit);
  }
}

}  // namespace plimsoll::cuda
