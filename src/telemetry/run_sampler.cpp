#include "telemetry/run_sampler.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

namespace plimsoll::telemetry {
namespace {

constexpr double kGiB = 0x1p30;
/// The kernel walks some 100 GiB of page tables a second for the proportional size, and holds the process's
/// map meanwhile: a run gets it every second and twenty more for each GiB, and above this not at all.
constexpr double kLargestWalked = 32 * kGiB;
constexpr double kSecondsPerGiB = 20;
/// A process goes unseen for so long at most, and on machines with very many of them always.
constexpr double kLongestUnseen = 1;
constexpr std::size_t kManyProcesses = 2000;

/// "0.20 0.18 0.12 1/80 11206"
std::optional<std::uint64_t> newest_process(std::string_view load) {
  Words words(load);
  words.skip(4);
  return words.number();
}

Channel of_run(int run, std::string_view name, std::string unit, std::string source) {
  return {{.name = fmt::format("system/run/{}", name),
           .unit = std::move(unit),
           .source = std::move(source),
           .run = run}};
}

}  // namespace

RunSampler::Account::Account(int run)
    : cpu_channel(of_run(run, "cpu", "cores", "/proc/PID/stat")),
      cpu_time_channel(of_run(run, "cpu_time", "s", "/proc/PID/stat")),
      resident_channel(
          of_run(run, "memory_resident", "B", "/proc/PID/stat: sum of RSS, shared pages repeated")),
      processes_channel(of_run(run, "processes", "processes", "/proc")),
      threads_channel(of_run(run, "threads", "threads", "/proc/PID/stat")),
      pss_channel(of_run(run, "memory", "B", "/proc/PID/smaps_rollup: sum of PSS")),
      rss_channel(of_run(run, "memory", "B", "/proc/PID/stat: sum of RSS, shared pages repeated")),
      read_channel(of_run(run, "read", "B/s", "/proc/PID/io read_bytes")),
      written_channel(of_run(run, "written", "B/s", "/proc/PID/io write_bytes")) {}

RunSampler::RunSampler(const std::filesystem::path& proc)
    : forest_(proc),
      ticks_per_second_(static_cast<double>(::sysconf(_SC_CLK_TCK))),
      page_size_(static_cast<double>(::sysconf(_SC_PAGESIZE))),
      load_(proc / "loadavg") {}

void RunSampler::watch(int run, pid_t root) {
  accounts_.try_emplace(run, run);
  forest_.plant(run, root, true);
  tree_due_.at_once();
  look_at_once_ = true;
}

void RunSampler::adopt(int run, pid_t orphan) {
  if (!accounts_.contains(run)) return;
  forest_.plant(run, orphan, false);
  tree_due_.at_once();
  look_at_once_ = true;
}

void RunSampler::forget(int run) {
  accounts_.erase(run);
  forest_.fell(run);
}

void RunSampler::all_due() {
  cpu_due_.at_once();
  tree_due_.at_once();
  look_at_once_ = true;
  memory_due_.at_once();
  io_due_.at_once();
}

void RunSampler::sample(const Moment& moment, ReadBuffer& buffer, FrameCollector& collector) {
  if (accounts_.empty()) return;
  const bool scanned = look_for_processes(moment, buffer);
  if (moment.reads(cpu_due_)) sample_cpu(moment, buffer, collector);
  if (scanned)
    for (auto& [run, account] : accounts_) {
      collector.put(account.processes_channel, static_cast<double>(account.now.processes));
      collector.put(account.threads_channel, static_cast<double>(account.now.threads));
    }
  if (moment.reads(io_due_)) sample_io(moment, buffer, collector);
  if (moment.reads(memory_due_)) sample_memory(moment, buffer, collector);
}

bool RunSampler::look_for_processes(const Moment& moment, ReadBuffer& buffer) {
  if (!moment.reads(tree_due_)) return false;
  const auto newest = newest_process(load_.read(buffer));
  const double unseen = moment.elapsed - looked_at_;
  const bool news = newest != newest_ && forest_.listed() <= kManyProcesses;
  if (!look_at_once_ && !news && unseen + moment.slack < kLongestUnseen) return false;
  look_at_once_ = false;
  newest_ = newest;
  looked_at_ = moment.elapsed;
  late_spread_ = std::clamp(unseen, period_of(Source::process_cpu), kLongestUnseen);
  forest_.scan(buffer);
  return true;
}

void RunSampler::sample_cpu(const Moment& moment, ReadBuffer& buffer, FrameCollector& collector) {
  for (const ProcessForest::Gone& gone : forest_.read(buffer)) {
    const auto account = accounts_.find(gone.member.run);
    if (account == accounts_.end() || gone.parent_remains) continue;
    account->second.cpu.retired += gone.member.stat.own_ticks + gone.member.stat.children_ticks;
    account->second.io_retired.read += gone.member.io.read;
    account->second.io_retired.written += gone.member.io.written;
  }
  for (auto& [run, account] : accounts_) account.now = {};
  for (auto& [pid, member] : forest_.members()) {
    const auto found = accounts_.find(member.run);
    if (found == accounts_.end()) continue;
    Account& account = found->second;
    if (std::exchange(member.fresh, false) && member.from_start)
      account.cpu.baseline += member.before.own_ticks + member.before.children_ticks;
    account.now.ticks += member.stat.own_ticks + member.stat.children_ticks;
    if (member.stat.own_ticks > member.before.own_ticks)
      account.now.direct += member.stat.own_ticks - member.before.own_ticks;
    if (!member.stat.alive()) continue;
    ++account.now.processes;
    account.now.threads += member.stat.threads;
    account.now.resident += member.stat.resident_pages;
  }
  for (auto& [run, account] : accounts_) {
    CpuAccount& cpu = account.cpu;
    const std::uint64_t sum = cpu.retired + account.now.ticks;
    const std::uint64_t total = std::max(cpu.total, sum - std::min(sum, cpu.baseline));
    const auto added = static_cast<double>(total - std::exchange(cpu.total, total));
    const auto direct = std::min(added, static_cast<double>(account.now.direct));
    if (added > direct) {
      cpu.late += added - direct;
      cpu.late_rate = cpu.late / late_spread_;
    }
    const auto since = std::exchange(account.cpu_read, moment.elapsed);
    if (since && moment.elapsed > *since) {
      const double seconds = moment.elapsed - *since;
      const double told = std::min(cpu.late, cpu.late_rate * seconds);
      cpu.late -= told;
      collector.put(account.cpu_channel, (direct + told) / ticks_per_second_ / seconds);
    }
    collector.put(account.cpu_time_channel, static_cast<double>(total) / ticks_per_second_);
    collector.put(account.resident_channel, static_cast<double>(account.now.resident) * page_size_);
  }
}

void RunSampler::sample_io(const Moment& moment, ReadBuffer& buffer, FrameCollector& collector) {
  std::map<int, std::optional<ProcessIo>> sums;
  for (auto& [pid, member] : forest_.members()) {
    // Another user's process does not tell; then the run's sum is not known.
    if (const auto io = parse_process_io(forest_.text_of(pid, "io", buffer))) {
      member.io = *io;
    } else if (member.stat.alive()) {
      sums[member.run] = std::nullopt;
      continue;
    }
    const auto sum = sums.try_emplace(member.run, ProcessIo{}).first;
    if (!sum->second) continue;
    sum->second->read += member.io.read;
    sum->second->written += member.io.written;
  }
  for (auto& [run, account] : accounts_) {
    const auto sum = sums.find(run);
    if (sum == sums.end() || !sum->second) {
      account.read.forget();
      account.written.forget();
      continue;
    }
    const auto read = static_cast<double>(sum->second->read + account.io_retired.read);
    const auto written = static_cast<double>(sum->second->written + account.io_retired.written);
    collector.put(account.read_channel, account.read.per_second(read, moment.elapsed));
    collector.put(account.written_channel, account.written.per_second(written, moment.elapsed));
  }
}

void RunSampler::sample_memory(const Moment& moment, ReadBuffer& buffer, FrameCollector& collector) {
  for (auto& [run, account] : accounts_) {
    if (moment.elapsed + moment.slack < account.next_memory || account.now.processes == 0) continue;
    const double resident = static_cast<double>(account.now.resident) * page_size_;
    double proportional = 0;
    // Of one process there is nobody to count a page twice with, but those outside the run.
    bool known = resident <= kLargestWalked && account.now.processes > 1;
    for (auto& [pid, member] : forest_.members()) {
      if (!known) break;
      if (member.run != run || !member.stat.alive()) continue;
      const auto size = number_after(forest_.text_of(pid, "smaps_rollup", buffer), "Pss:");
      // What has no memory any more is ending and writes an empty file.
      if (!size && member.stat.resident_pages > 0) known = false;
      proportional += static_cast<double>(size.value_or(0)) * 1024;
    }
    if (known) account.next_memory = moment.elapsed + kSecondsPerGiB * resident / kGiB;
    collector.put(known ? account.pss_channel : account.rss_channel, known ? proportional : resident);
  }
}

}  // namespace plimsoll::telemetry
