#include <algorithm>
#include <atomic>
#include <bit>

#include "base/statistics.hpp"
#include "base/text.hpp"
#include "probe/cpu_studies.hpp"
#include "probe/crew.hpp"
#include "probe/mapped_array.hpp"
#include "probe/sampling.hpp"
#include "probe/streams.hpp"

namespace plimsoll::probe {
namespace {

constexpr std::int64_t kSmallest = 16 << 10;                     // bytes for a thread
constexpr std::int64_t kLargest = std::int64_t{1} << 30;         // bytes in all
constexpr std::int64_t kWorthStreaming = std::int64_t{1} << 20;  // bytes for a thread, below which caches win
constexpr std::int64_t kLine = 16;                               // floats of a cache line
constexpr std::int64_t kPage = 1024;                             // floats of a page
constexpr double kSampleSeconds = 2e-3;
constexpr double kSeconds = 0.5;  // for one figure

enum class Stream : std::uint8_t { read, write, copy, triad };
struct StreamRow {
  Stream stream;
  std::string_view name;
  std::int64_t arrays;  ///< each of which is read or written once
};
constexpr StreamRow kStreams[] = {{Stream::read, "memory-read", 1},
                                  {Stream::write, "memory-write", 1},
                                  {Stream::copy, "memory-copy", 2},
                                  {Stream::triad, "memory-triad", 3}};

/// One kind of access to one working set. The arrays lie one after the other within each thread's slice, so
/// that a working set is as large as it says, to a line.
class Streaming {
 public:
  Streaming(Crew& crew, const StreamRow& row, Floats memory)
      : crew_(crew), row_(row), memory_(std::move(memory)) {
    crew_.run([this](int thread) {
      const Slice s = slice(thread);
      probe::write(memory_.data() + s.begin, 1, s.size(), Stores::cached);
    });
  }

  [[nodiscard]] std::vector<double> samples(Stores stores, const CpuHost& host) {
    const double pass = crew_.run([&](int thread) { work(thread, 1, stores); });
    const std::int64_t passes = passes_for(kSampleSeconds * host.patience, pass);
    const Repetition repetition{.least = 5, .most = 11, .seconds = kSeconds * host.patience};
    return repeated(repetition, [&] {
      return crew_.run([&](int thread) { work(thread, passes, stores); }) / static_cast<double>(passes);
    });
  }
  /// Bytes that a pass reads and writes, as STREAM counts them: what caches fetch besides is not counted.
  [[nodiscard]] double bytes() const {
    std::int64_t floats = 0;
    for (int thread = 0; thread < crew_.size(); ++thread) floats += part(thread) * row_.arrays;
    return static_cast<double>(floats) * sizeof(float);
  }

 private:
  [[nodiscard]] Slice slice(int thread) const {
    const std::int64_t grain = memory_.size() >= kPage * kPage ? kPage : kLine;
    return slice_of(memory_.size(), thread, crew_.size(), grain);
  }
  [[nodiscard]] std::int64_t part(int thread) const {
    return slice(thread).size() / row_.arrays / kLine * kLine;
  }

  void work(int thread, std::int64_t passes, Stores stores) {
    const std::int64_t count = part(thread);
    float* const first = memory_.data() + slice(thread).begin;
    float* const second = first + count;
    std::uint32_t seen = 0;
    for (std::int64_t pass = 0; pass < passes; ++pass) switch (row_.stream) {
        case Stream::read: seen += read(first, count); break;
        case Stream::write: write(first, 1, count, stores); break;
        case Stream::copy: copy(first, second, count, stores); break;
        case Stream::triad: triad(first, second, second + count, 0.5F, count, stores); break;
      }
    seen_.fetch_add(seen, std::memory_order_relaxed);
  }

  Crew& crew_;
  const StreamRow& row_;
  Floats memory_;
  std::atomic<std::uint32_t> seen_ = 0;  // what was read counts for something, so that it is read
};

Status stream(const CpuHost& host, Crew& crew, const StreamRow& row, std::int64_t size, Findings& findings) {
  Result<Floats> memory = Floats::map(size / static_cast<std::int64_t>(sizeof(float)));
  PLIMSOLL_TRY(memory);
  Streaming streaming(crew, row, std::move(*memory));
  std::vector<double> samples = streaming.samples(Stores::cached, host);
  if (row.stream != Stream::read && size / crew.size() >= kWorthStreaming) {
    std::vector<double> streamed = streaming.samples(Stores::streamed, host);
    if (median(streamed) < median(samples)) samples = std::move(streamed);
  }
  findings.rates.push_back(
      {.name = fmt::format("{}{}", row.name, crew.size() < host.cores.threads ? "-one-thread" : ""),
       .unit = "B/s",
       .amount = streaming.bytes(),
       .at = static_cast<double>(size),
       .samples = std::move(samples)});
  return {};
}

}  // namespace

Result<Findings> memory_rates(const CpuHost& host, const Progress& progress) {
  Findings findings;
  std::vector<int> crews = {1};
  if (host.cores.threads > 1) crews.push_back(host.cores.threads);
  const std::int64_t largest = std::min<std::int64_t>(
      kLargest, static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(host.memory.count()))));
  if (largest < kLargest)
    findings.remarks.push_back(
        fmt::format("the CPU's memory was measured up to {} only: no more is free", text(Bytes(largest))));
  for (std::size_t c = 0; c < crews.size(); ++c) {
    const Result<std::unique_ptr<Crew>> crew = Crew::gather(host.cores, crews[c]);
    PLIMSOLL_TRY(crew);
    const auto smallest =
        static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(kSmallest * crews[c])));
    const int sizes = std::countr_zero(static_cast<std::uint64_t>(largest)) -
                      std::countr_zero(static_cast<std::uint64_t>(smallest)) + 1;
    int done = 0;
    for (std::int64_t size = smallest; size <= largest; size *= 2, ++done) {
      progress(
          fmt::format("reading and writing {}, {} thread{}", text(Bytes(size)), crews[c],
                      crews[c] == 1 ? "" : "s"),
          (static_cast<double>(c) + static_cast<double>(done) / sizes) / static_cast<double>(crews.size()));
      for (const StreamRow& row : kStreams)
        if (const Status streamed = stream(host, **crew, row, size, findings); !streamed)
          findings.remarks.push_back(
              fmt::format("{} of {} was left out: {}", row.name, text(Bytes(size)), streamed.error().text()));
    }
  }
  return findings;
}

}  // namespace plimsoll::probe
