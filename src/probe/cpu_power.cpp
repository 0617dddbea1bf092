#include <chrono>
#include <cmath>
#include <thread>

#include "cuda/study_sizes.hpp"
#include "measure/energy.hpp"
#include "probe/cpu_studies.hpp"
#include "probe/crew.hpp"
#include "probe/mapped_array.hpp"
#include "probe/square_products.hpp"
#include "probe/streams.hpp"

namespace plimsoll::probe {
namespace {

constexpr double kSeconds = 2;  // of each window
constexpr std::int64_t kSize = 1024;
constexpr std::int64_t kElements = std::int64_t{1} << 24;  // of each of three arrays: beyond the caches

/// Reads the counter around something that lasts.
class Meter {
 public:
  explicit Meter(measure::EnergyCounter& counter) : counter_(counter) {}

  struct Window {
    double seconds, joules;
  };
  /// `work` is done again and again for so long.
  template <class Work>
  [[nodiscard]] std::optional<Window> over(double seconds, Work work) {
    const std::optional<Joules> first = counter_.read();
    const auto begin = std::chrono::steady_clock::now();
    std::chrono::duration<double> elapsed{};
    do {
      work();
      elapsed = std::chrono::steady_clock::now() - begin;
    } while (elapsed.count() < seconds);
    const std::optional<Joules> last = counter_.read();
    if (!first || !last) return std::nullopt;
    return Window{elapsed.count(), (*last - *first).value()};
  }

 private:
  measure::EnergyCounter& counter_;
};

void add(const std::optional<Meter::Window>& window, std::string name, std::string unit, double amount,
         Findings& findings) {
  if (!window) return;
  findings.rates.push_back({.name = std::move(name),
                            .unit = std::move(unit),
                            .amount = amount,
                            .at = {},
                            .samples = {window->seconds},
                            .joules = window->joules});
}

Status measure_product(const CpuHost& host, Crew& crew, Meter& meter, Findings& findings) {
  Result<Floats> a = Floats::map(kSize * kSize), b = Floats::map(kSize * kSize),
                 c = Floats::map(kSize * kSize);
  Result<BlockedProduct<float>> blocks = BlockedProduct<float>::prepare(kSize, crew.size());
  PLIMSOLL_TRY(a);
  PLIMSOLL_TRY(b);
  PLIMSOLL_TRY(c);
  PLIMSOLL_TRY(blocks);
  fill_whole_numbers(a->span(), 3);
  fill_whole_numbers(b->span(), 4);
  double flops = 0;
  const auto window = meter.over(kSeconds * host.patience, [&] {
    crew.run([&](int thread) { blocks->multiply({a->data(), b->data(), c->data(), kSize}, thread); });
    flops += cuda::square_product_flops(kSize);
  });
  add(window, "load-power", "W", 1, findings);
  add(window, "energy-product-fp32", "J/FLOP", flops, findings);
  return {};
}

Status measure_triad(const CpuHost& host, Crew& crew, Meter& meter, Findings& findings) {
  Result<Floats> a = Floats::map(kElements), b = Floats::map(kElements), c = Floats::map(kElements);
  PLIMSOLL_TRY(a);
  PLIMSOLL_TRY(b);
  PLIMSOLL_TRY(c);
  double bytes = 0;
  const auto window = meter.over(kSeconds * host.patience, [&] {
    crew.run([&](int thread) {
      const Slice s = slice_of(kElements, thread, crew.size(), 1024);
      triad(c->data() + s.begin, a->data() + s.begin, b->data() + s.begin, 0.5F, s.size(), Stores::streamed);
    });
    bytes += 3.0 * sizeof(float) * static_cast<double>(kElements);
  });
  add(window, "energy-memory-triad", "J/B", bytes, findings);
  return {};
}

}  // namespace

Result<Findings> power_rates(const CpuHost& host, const Progress& progress) {
  Findings findings;
  const std::unique_ptr<measure::EnergyCounter> counter = measure::cpu_counter();
  if (counter == nullptr) {
    findings.remarks.emplace_back(
        "the CPU's power is not known: its energy counter (RAPL) is not there or may not be read");
    return findings;
  }
  const Result<std::unique_ptr<Crew>> crew = Crew::gather(host.cores, host.cores.threads);
  PLIMSOLL_TRY(crew);
  Meter meter(*counter);
  progress("power when idle", 0);
  add(meter.over(
          kSeconds * host.patience,
          [&] { std::this_thread::sleep_for(std::chrono::duration<double>(kSeconds * host.patience)); }),
      "idle-power", "W", 1, findings);
  progress("power of products", 0.33);
  PLIMSOLL_TRY(measure_product(host, **crew, meter, findings));
  progress("power of a triad", 0.66);
  PLIMSOLL_TRY(measure_triad(host, **crew, meter, findings));
  return findings;
}

}  // namespace plimsoll::probe
