#include <algorithm>
#include <atomic>
#include <chrono>

#include "base/statistics.hpp"
#include "base/text.hpp"
#include "probe/cpu_studies.hpp"
#include "probe/crew.hpp"
#include "probe/mapped_array.hpp"
#include "probe/sampling.hpp"
#include "probe/streams.hpp"

namespace plimsoll::probe {
namespace {

constexpr std::int64_t kArrays = 3;
constexpr std::int64_t kGrain = 1024;  // floats of a page: no two threads touch the same one
constexpr double kSeconds = 4;         // for one size and number of threads

/// The three arrays of one repetition.
struct Arrays {
  Floats a, b, sum;

  [[nodiscard]] static Result<Arrays> map(std::int64_t elements) {
    Result<Floats> a = Floats::map(elements), b = Floats::map(elements), sum = Floats::map(elements);
    PLIMSOLL_TRY(a);
    PLIMSOLL_TRY(b);
    PLIMSOLL_TRY(sum);
    return Arrays{std::move(*a), std::move(*b), std::move(*sum)};
  }
};

/// One size on one crew: allocates, fills, adds, checks, and times a triad over the same arrays.
class Adding {
 public:
  Adding(Crew& crew, std::int64_t elements) : crew_(crew), elements_(elements) {}

  /// The kind of stores that a compiler would take if it knew the size: found by trying both.
  Status choose_stores() {
    Result<Arrays> arrays = allocated();
    PLIMSOLL_TRY(arrays);
    double best = 0;
    for (const Stores stores : {Stores::cached, Stores::streamed}) {
      stores_ = stores;
      const auto samples = repeated({.least = 3, .most = 3}, [&] { return add_once(*arrays); });
      if (const double seconds = std::ranges::min(samples); best == 0 || seconds < best) {
        best = seconds;
        chosen_ = stores;
      }
    }
    stores_ = chosen_;
    return {};
  }

  /// Seconds of the sum; `once()` may fail at any repetition, where memory was taken by others meanwhile.
  Status once() {
    const auto begin = std::chrono::steady_clock::now();
    Result<Arrays> arrays = allocated();
    PLIMSOLL_TRY(arrays);
    const std::chrono::duration<double> allocation = std::chrono::steady_clock::now() - begin;
    fill(*arrays);
    // The first pass would wait for the lines that filling left in the caches to be written back.
    (void)add_once(*arrays);
    const double seconds = add_once(*arrays);
    right_ = right_ && check(*arrays);
    allocate_.push_back(allocation.count());
    kernel_.push_back(seconds);
    total_.push_back(allocation.count() + seconds);
    triad_.push_back(crew_.run([&](int thread) {
      const Slice s = slice(thread);
      triad(arrays->sum.data() + s.begin, arrays->a.data() + s.begin, arrays->b.data() + s.begin, 3.0F,
            s.size(), stores_);
    }));
    return {};
  }

  [[nodiscard]] VectorAdd result(Workers workers, const std::string& device) const {
    return {.place = Place::cpu,
            .workers = workers,
            .elements = elements_,
            .parts = {{"allocate", allocate_}, {"kernel", kernel_}, {"total", total_}},
            .right = right_,
            .device = device};
  }
  [[nodiscard]] Rate triad_rate(std::string name) const {
    const auto bytes = static_cast<double>(kArrays * elements_) * sizeof(float);
    return {.name = std::move(name), .unit = "B/s", .amount = bytes, .at = bytes, .samples = triad_};
  }

 private:
  [[nodiscard]] Slice slice(int thread) const { return slice_of(elements_, thread, crew_.size(), kGrain); }

  /// Memory is there when it has been touched; a thread that does it gets it near.
  [[nodiscard]] Result<Arrays> allocated() {
    Result<Arrays> arrays = Arrays::map(elements_);
    if (!arrays) return arrays;
    crew_.run([&](int thread) {
      const Slice s = slice(thread);
      for (const Floats* array : {&arrays->a, &arrays->b, &arrays->sum})
        write(array->data() + s.begin, 0, s.size(), Stores::cached);
    });
    return arrays;
  }
  void fill(const Arrays& arrays) {
    crew_.run([&](int thread) {
      const Slice s = slice(thread);
      fill_addends(arrays.a.data() + s.begin, arrays.b.data() + s.begin, s.begin, s.size());
    });
  }
  double add_once(const Arrays& arrays) {
    return crew_.run([&](int thread) {
      const Slice s = slice(thread);
      add(arrays.sum.data() + s.begin, arrays.a.data() + s.begin, arrays.b.data() + s.begin, s.size(),
          stores_);
    });
  }
  [[nodiscard]] bool check(const Arrays& arrays) {
    std::atomic<std::int64_t> wrong = 0;
    crew_.run([&](int thread) {
      const Slice s = slice(thread);
      wrong += wrong_sums(arrays.sum.data() + s.begin, s.begin, s.size());
    });
    return wrong == 0;
  }

  Crew& crew_;
  std::int64_t elements_;
  Stores stores_ = Stores::cached, chosen_ = Stores::cached;
  std::vector<double> allocate_, kernel_, total_, triad_;
  bool right_ = true;
};

Status add_one_size(const CpuHost& host, Crew& crew, Workers workers, std::int64_t elements,
                    Findings& findings) {
  Adding adding(crew, elements);
  PLIMSOLL_TRY(adding.choose_stores());
  Status failed;
  const Repetition repetition{.least = 3, .most = 15, .seconds = kSeconds * host.patience};
  (void)repeated(repetition, [&] {
    if (Status done = adding.once(); !done) failed = std::move(done);
    return 0.0;
  });
  PLIMSOLL_TRY(failed);
  findings.vector_adds.push_back(adding.result(workers, host.name));
  findings.rates.push_back(
      adding.triad_rate(workers == Workers::one_thread ? "stream-triad-one-thread" : "stream-triad"));
  return {};
}

std::string threads_text(int threads) {
  return threads == 1 ? "one thread" : fmt::format("{} threads", threads);
}

}  // namespace

Result<Findings> add_vectors(const CpuHost& host, std::span<const std::int64_t> elements,
                             const Progress& progress) {
  Findings findings;
  std::size_t done = 0;
  for (const Workers workers : {Workers::one_thread, Workers::all_threads}) {
    const int threads = workers == Workers::one_thread ? 1 : host.cores.threads;
    const Result<std::unique_ptr<Crew>> crew = Crew::gather(host.cores, threads);
    PLIMSOLL_TRY(crew);
    for (const std::int64_t count : elements) {
      progress(fmt::format("adding {} floats, {}", count_text(count), threads_text(threads)),
               static_cast<double>(done++) / static_cast<double>(2 * elements.size()));
      const Bytes needed = Bytes(static_cast<std::int64_t>(sizeof(float))) * kArrays * count;
      Status added = needed > host.memory
                         ? fail("{} are needed, {} are free", text(needed), text(host.memory))
                         : add_one_size(host, **crew, workers, count, findings);
      if (!added)
        findings.remarks.push_back(fmt::format("the CPU's sum of {} floats by {} was left out: {}",
                                               count_text(count), threads_text(threads),
                                               added.error().text()));
    }
  }
  return findings;
}

}  // namespace plimsoll::probe
