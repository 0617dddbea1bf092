#include "probe/crew.hpp"

#include <algorithm>
#include <system_error>

#include <pthread.h>
#include <sched.h>

namespace plimsoll::probe {
namespace {

/// Where it is not allowed the thread runs wherever the kernel puts it.
void stay_on(int cpu) {
  if (cpu < 0) return;
  const auto number = static_cast<std::size_t>(cpu);
  cpu_set_t* set = CPU_ALLOC(number + 1);
  if (set == nullptr) return;
  const std::size_t size = CPU_ALLOC_SIZE(number + 1);
  CPU_ZERO_S(size, set);
  CPU_SET_S(number, size, set);
  (void)::pthread_setaffinity_np(::pthread_self(), size, set);
  CPU_FREE(set);
}

}  // namespace

Slice slice_of(std::int64_t count, int thread, int threads, std::int64_t grain) {
  const std::int64_t grains = (count + grain - 1) / grain;
  const auto edge = [&](std::int64_t t) { return std::min(count, grains * t / threads * grain); };
  return {edge(thread), edge(thread + 1)};
}

Crew::Crew(int threads)
    : spans_(static_cast<std::size_t>(threads)),
      called_(threads + 1),
      together_(threads),
      done_(threads + 1) {}

Result<std::unique_ptr<Crew>> Crew::gather(const Cores& cores, int threads) {
  std::unique_ptr<Crew> crew(new Crew(threads));
  try {
    for (int thread = 0; thread < threads; ++thread) {
      // Where the cgroup allows less than the processors there are, they are taken evenly.
      const auto count = static_cast<int>(cores.cpus.size());
      const int cpu =
          count == 0 ? -1 : cores.cpus[static_cast<std::size_t>(thread * count / threads % count)];
      crew->threads_.emplace_back([crew = crew.get(), thread, cpu] { crew->serve(thread, cpu); });
    }
  } catch (const std::system_error&) {
    // Those that are there wait for the others: take the others' places, so that they can go home.
    for (std::size_t missing = crew->threads_.size(); missing < crew->spans_.size(); ++missing)
      crew->called_.arrive_and_drop();
    return std::unexpected(Error{fmt::format("the system does not allow {} threads", threads),
                                 {},
                                 "`ulimit -u` and the cgroup's pids.max say how many it allows.",
                                 Error::Kind::machine_lacks});
  }
  return crew;
}

Crew::~Crew() {
  work_ = nullptr;
  called_.arrive_and_wait();
}

void Crew::serve(int thread, int cpu) {
  stay_on(cpu);
  Span& span = spans_[static_cast<std::size_t>(thread)];
  for (;;) {
    called_.arrive_and_wait();
    if (work_ == nullptr) return;
    together_.arrive_and_wait();
    span.begin = Clock::now();
    (*work_)(thread);
    span.end = Clock::now();
    done_.arrive_and_wait();
  }
}

double Crew::run(const Work& work) {
  work_ = &work;
  called_.arrive_and_wait();
  done_.arrive_and_wait();
  const auto begin = std::ranges::min(spans_, {}, &Span::begin).begin;
  const auto end = std::ranges::max(spans_, {}, &Span::end).end;
  return std::chrono::duration<double>(end - begin).count();
}

}  // namespace plimsoll::probe
