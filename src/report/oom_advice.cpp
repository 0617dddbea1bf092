#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/text.hpp"
#include "report/oom_report.hpp"

namespace plimsoll::report {
namespace {

using estimate::OutOfMemory;

/// Below it reserved memory that is in no tensor is what any run has.
constexpr double kFragmented = 0.1;

void about_others(const OutOfMemory& m, Bytes lacking, std::vector<Advice>& out) {
  std::vector<OutOfMemory::Process> largest = m.processes;
  std::ranges::sort(largest, std::ranges::greater{}, &OutOfMemory::Process::bytes);
  for (const OutOfMemory::Process& p : largest) {
    if (p.bytes < lacking || lacking <= Bytes()) break;
    out.push_back(
        {Advice::Kind::other_process,
         fmt::format(
             "Process {} uses {} of this GPU; without it this request would have found room. End it, or "
             "use another GPU (CUDA_VISIBLE_DEVICES).",
             p.pid, text(p.bytes))});
  }
}

void about_fragments(const OutOfMemory& m, Bytes lacking, std::vector<Advice>& out) {
  const std::optional<double> share = m.fragmentation();
  if (!share || *share < kFragmented) return;
  const bool enough = *m.unallocated >= lacking;
  out.push_back({Advice::Kind::fragmentation,
                 fmt::format("{} of what PyTorch reserved ({:.0f} %) is in no tensor{}: set "
                             "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True.",
                             text(*m.unallocated), 100 * *share,
                             enough ? ", which would have sufficed, but lies in pieces that are too small"
                                    : ", in pieces; that is part of it")});
}

}  // namespace

std::string_view name(Advice::Kind kind) {
  constexpr std::array<std::string_view, 8> kNames = {"too large",       "limit",         "other process",
                                                      "fragmentation",   "private pools", "beyond device",
                                                      "enough was free", "needs less"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::optional<Bytes> allocator_room(const OutOfMemory& m) {
  const std::optional<Bytes> reserved = m.reserved();
  if (!reserved || !m.free) return m.allowed;
  return m.allowed ? std::min(*m.allowed, *reserved + *m.free) : *reserved + *m.free;
}

std::vector<Advice> advise(const OutOfMemory& m) {
  std::vector<Advice> out;
  const auto say = [&](Advice::Kind kind, std::string text) { out.push_back({kind, std::move(text)}); };
  if (m.total && m.requested > *m.total) {
    say(Advice::Kind::too_large,
        fmt::format("The request alone, {}, is more than the whole GPU has: no setting of the allocator "
                    "helps. One tensor is "
                    "too large; a smaller batch, shorter sequences or smaller images make it smaller.",
                    text(m.requested)));
    return out;
  }
  const Bytes free = m.free.value_or(Bytes());
  const Bytes lacking = m.requested - free;
  const std::optional<Bytes> reserved = m.reserved();
  if (m.total && m.allocated && *m.allocated > *m.total)
    say(Advice::Kind::beyond_device,
        fmt::format("{} is allocated on a GPU of {}: the driver lends main memory (Windows), "
                    "which is slow. The run needs far less, or a larger GPU.",
                    text(*m.allocated), text(*m.total)));
  if (m.allowed && reserved && *reserved + m.requested > *m.allowed)
    say(Advice::Kind::limit,
        fmt::format("PyTorch is limited to {} (set_per_process_memory_fraction), and reached that while {} "
                    "of the GPU was free: raise the limit.",
                    text(*m.allowed), text(free)));
  else if (m.free && lacking <= Bytes())
    say(Advice::Kind::enough_was_free,
        fmt::format("{} was free when the message was written, enough for the request: somebody gave memory "
                    "back in between, "
                    "or something outside PyTorch limits the process (a MIG slice, MPS, Windows).",
                    text(free)));
  about_others(m, lacking, out);
  about_fragments(m, lacking, out);
  if (m.private_pools && *m.private_pools >= lacking && *m.private_pools > Bytes())
    say(Advice::Kind::private_pools,
        fmt::format("{} lies in private pools of CUDA graphs, where nothing else can use it: capture "
                    "fewer graphs, or let them share a pool.",
                    text(*m.private_pools)));
  say(Advice::Kind::needs_less,
      lacking > Bytes() && m.free
          ? fmt::format("At least {} was lacking, and the run had not reached its end: lower what it needs "
                        "(smaller batch, "
                        "autocast or bf16, activation checkpointing, an optimizer with less state).",
                        text(lacking))
          : std::string("Lower what the run needs: smaller batch, autocast or bf16, activation "
                        "checkpointing, an optimizer "
                        "with less state."));
  return out;
}

}  // namespace plimsoll::report
