#include "report/oom_report.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/printable.hpp"
#include "base/text.hpp"
#include "report/json_values.hpp"
#include "report/paragraph.hpp"

namespace plimsoll::report {
namespace {

using estimate::MemoryEstimate;
using estimate::OutOfMemory;
using Json = nlohmann::ordered_json;

constexpr std::size_t kMostProcesses = 8;

std::string headline(const OutOfMemory& m) {
  std::string out = fmt::format("PyTorch asked for {}", text(m.requested));
  if (m.gpu) out += fmt::format(" on GPU {}", *m.gpu);
  if (m.free) out += fmt::format(" and found {} free", text(*m.free));
  if (m.free && m.total) out += fmt::format(" of {}", text(*m.total));
  return out;
}

std::string unexplained_label(const OutOfMemory& m) {
  return m.process ? "unexplained" : "context and others";
}

/// What fills the GPU, as far as the message tells.
std::vector<BarPart> parts(const OutOfMemory& m) {
  std::vector<BarPart> out;
  const auto add = [&](std::string label, char fill, int color, std::optional<Bytes> bytes) {
    if (bytes) out.push_back({std::move(label), fill, color, *bytes});
  };
  add("allocated in tensors", '#', 33, m.allocated);
  add("reserved, unused", '.', 245, m.unallocated);
  add("CUDA context", ':', 250, m.context());
  std::vector<OutOfMemory::Process> others = m.processes;
  std::ranges::sort(others, std::ranges::greater{}, &OutOfMemory::Process::bytes);
  Bytes rest;
  for (std::size_t i = 0; i < others.size(); ++i) {
    if (i < kMostProcesses)
      add(fmt::format("process {}", others[i].pid), 'o', 208, others[i].bytes);
    else
      rest += others[i].bytes;
  }
  add("more processes", 'o', 208, rest);
  add(unexplained_label(m), '?', 168, m.unexplained());
  add("free", ' ', 0, m.free);
  return out;
}

std::string advice_text(const OutOfMemory& m, const TextStyle& style) {
  std::string out = "\n" + bold("What to change", style) + "\n";
  for (const Advice& advice : advise(m)) {
    std::string item = wrap(advice.text, text_width(style), "    ");
    item.replace(2, 1, "-");
    out += item;
  }
  return out;
}

/// What the message says was in use and asked for beyond the most that the simulator expects.
std::optional<Bytes> beyond_estimate(const OutOfMemory& m, const MemoryEstimate& e) {
  if (!m.allocated || *m.allocated + m.requested <= e.high) return {};
  return *m.allocated + m.requested - e.high;
}

std::string comparison(const OutOfMemory& m, const MemoryReport& r, const TextStyle& style) {
  const MemoryEstimate& e = r.estimate;
  std::string out = "\n" + paragraph(fmt::format("{}: {}, {}", bold("The simulator", style),
                                                 printable(r.inspection.model), setting_text(r)),
                                     style);
  const auto line = [&](std::string_view what, const std::string& value) {
    constexpr std::size_t kColumn = 21;
    out += fmt::format("  {:<{}}", what, kColumn - 2) +
           wrap(value, text_width(style), std::string(kColumn, ' ')).substr(kColumn);
  };
  if (m.allocated)
    line("the message", fmt::format("{} allocated, {} with the request", text(*m.allocated),
                                    text(*m.allocated + m.requested)));
  line("expected peak",
       fmt::format("{}; 95 % of runs: {} to {}", text(e.peak_allocated), text(e.low), text(e.high)));
  if (const auto beyond = beyond_estimate(m, e))
    line("beyond it", fmt::format("{} that this setting does not explain: another model, tensors kept from "
                                  "earlier iterations, or a "
                                  "larger batch or longer input than given",
                                  text(*beyond)));
  if (e.capacity)
    line("room", fmt::format("needs {} of the {} that this process could have: {}", text(e.minimum_device()),
                             text(*e.capacity),
                             e.fits.value_or(false) ? green("fits", style) : red("does not fit", style)));
  if (r.largest && r.largest->batch > 0) line("largest batch", grouped(r.largest->batch));
  if (const Table t = remedies_table(r.remedies, e.minimum_device()); !t.rows.empty())
    out += '\n' + to_text(t, style);
  const std::vector<std::string> notes = memory_notes(r);
  if (!notes.empty()) out += '\n';
  for (const std::string& note : notes) out += wrap("note: " + note, text_width(style), "");
  return out;
}

}  // namespace

std::string out_of_memory_text(const OutOfMemoryReport& report, const TextStyle& style) {
  const OutOfMemory& m = report.message;
  std::string out = wrap(headline(m), text_width(style), "");
  if (m.allocated || m.total) out += '\n' + memory_bar(parts(m), m.total, style);
  if (m.process_recognised)
    out += "\n" + wrap(
                      "The message does not say what this process uses; one that it names can be no other, "
                      "and is taken "
                      "for it.",
                      text_width(style), "");
  if (!m.process && m.allocated && m.total)
    out += "\n" + wrap(
                      "The message does not say what this process uses in all: its CUDA context, other "
                      "processes and the driver "
                      "are counted together.",
                      text_width(style), "");
  out += advice_text(m, style);
  if (report.model) out += comparison(m, *report.model, style);
  return out;
}

Json to_json(const OutOfMemoryReport& report) {
  const OutOfMemory& m = report.message;
  Json processes = Json::array();
  for (const OutOfMemory::Process& p : m.processes)
    processes.push_back({{"pid", p.pid}, {"bytes", p.bytes.count()}});
  const std::optional<double> share = m.fragmentation();
  Json out = {{"requested_bytes", m.requested.count()},
              {"gpu", m.gpu ? Json(*m.gpu) : Json(nullptr)},
              {"total_bytes", json_bytes(m.total)},
              {"free_bytes", json_bytes(m.free)},
              {"allowed_bytes", json_bytes(m.allowed)},
              {"process_bytes", json_bytes(m.process)},
              {"allocated_bytes", json_bytes(m.allocated)},
              {"private_pool_bytes", json_bytes(m.private_pools)},
              {"unallocated_bytes", json_bytes(m.unallocated)},
              {"reserved_bytes", json_bytes(m.reserved())},
              {"context_bytes", json_bytes(m.context())},
              {"others_bytes", json_bytes(m.others())},
              {"unexplained_bytes", json_bytes(m.unexplained())},
              {"fragmentation", share ? Json(*share) : Json(nullptr)},
              {"processes", std::move(processes)}};
  out["advice"] = Json::array();
  for (const Advice& advice : advise(m))
    out["advice"].push_back({{"kind", name(advice.kind)}, {"text", advice.text}});
  if (report.model) {
    out["model"] = printable(report.model->inspection.model);
    out["batch"] = report.model->batch;
    out["memory"] = to_json(*report.model);
    out["beyond_estimate_bytes"] = json_bytes(beyond_estimate(m, report.model->estimate));
  }
  return out;
}

}  // namespace plimsoll::report
