#include "report/memory_report.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/printable.hpp"
#include "base/text.hpp"
#include "estimate/figures.hpp"
#include "report/estimate_table.hpp"
#include "report/figure_writing.hpp"
#include "report/paragraph.hpp"

namespace plimsoll::report {
namespace {

using estimate::MemoryEstimate;
using program::Purpose;

constexpr std::size_t kLargestTensors = 10;
/// The smallest capacity is known to about a thousandth; what saves less may save nothing.
constexpr double kWorthSaying = 0.001;

struct Look {
  Purpose purpose;
  char fill;
  int color;
};
/// From the left: what stays through all iterations, then what comes and goes. The colours are of nearly
/// equal lightness and can be told apart on dark and light terminals.
constexpr std::array<Look, program::kPurposes> kLooks = {{{Purpose::weight, '#', 33},
                                                          {Purpose::optimizer, '@', 135},
                                                          {Purpose::temporary, '$', 98},
                                                          {Purpose::gradient, '%', 208},
                                                          {Purpose::input, '-', 37},
                                                          {Purpose::saved, '=', 71},
                                                          {Purpose::activation, '+', 178},
                                                          {Purpose::workspace, '~', 168},
                                                          {Purpose::library, '*', 131},
                                                          {Purpose::cache, '&', 109},
                                                          {Purpose::gathered, 'o', 74},
                                                          {Purpose::bucket, '^', 173}}};

std::string device_title(const hardware::Device& device) {
  return printable(device.id.empty() ? device.name : fmt::format("{} ({})", device.name, device.id));
}

std::string percent_used(double share) {
  return fmt::format("{:.{}f} %", 100 * share, share < 0.0995 ? 1 : 0);
}

/// One sentence: fits or not, how much of how much, the margin.
std::string fit_sentence(const MemoryReport& r, const TextStyle& style) {
  const MemoryEstimate& e = r.estimate;
  const std::string model = bold(printable(r.inspection.model), style), device = device_title(r.device);
  const Bytes need = e.minimum_device();
  if (!e.fits || !e.capacity)
    return fmt::format("{} needs {} on {}, whose memory is not known", model, text(need), device);
  if (*e.fits)
    return fmt::format("{} {} on {}: needs {} of {}, {} ({}) to spare", model, green("fits", style), device,
                       text(need), text(*e.capacity), text(*e.capacity - need),
                       percent_used((*e.capacity - need) / *e.capacity));
  return fmt::format("{} {} on {}: needs {} of {}, {} ({}) too much", model, red("does not fit", style),
                     device, text(need), text(*e.capacity), text(need - *e.capacity),
                     percent_used((need - *e.capacity) / *e.capacity));
}

std::string_view phase_text(program::Phase phase) {
  switch (phase) {
    case program::Phase::load: return "while loading";
    case program::Phase::forward: return "in the forward pass";
    case program::Phase::backward: return "in the backward pass";
    case program::Phase::step: return "in the optimizer's step";
  }
  return "";
}

/// "what   value", the value wrapped under itself.
class Lines {
 public:
  explicit Lines(const TextStyle& style) : width_(text_width(style)) {}
  void add(std::string_view what, std::string_view value) {
    constexpr std::size_t kColumn = 21;
    std::string wrapped = wrap(value, width_, std::string(kColumn, ' '));
    const std::string label = fmt::format("  {:<{}}", what, kColumn - 2);
    out_ += label + wrapped.substr(kColumn);
  }
  [[nodiscard]] std::string take() { return std::move(out_); }

 private:
  std::size_t width_;
  std::string out_;
};

std::string largest_text(const estimate::LargestBatch& l) {
  if (l.batch == 0) return fmt::format("none: not even a batch of 1 fits into {}", text(l.capacity));
  if (!l.bounded) return fmt::format("{} and more: the largest that was tried still fits", grouped(l.batch));
  return fmt::format("{}, which needs {} of {}: {} ({}) to spare", grouped(l.batch), text(l.minimum_device),
                     text(l.capacity), text(l.capacity - l.minimum_device),
                     percent_used((l.capacity - l.minimum_device) / l.capacity));
}

std::string figures(const MemoryReport& r, const TextStyle& style) {
  const MemoryEstimate& e = r.estimate;
  Lines lines(style);
  const std::string minimum = value_text(minimum_device_figure(e));
  lines.add("needs at least", e.context ? fmt::format("{} on the device: {} of the allocator's, {} for the "
                                                      "CUDA context and libraries",
                                                      minimum, text(e.minimum_reserved), text(*e.context))
                                        : minimum);
  if (e.device_used() > e.minimum_device())
    lines.add("with room to spare",
              fmt::format("{} on the device: the allocator keeps what it could give back",
                          value_text(device_used_figure(e))));
  const Figure peak = peak_allocated_figure(e);
  lines.add(peak.name, fmt::format("{}; 95 % of runs: {}", value_text(peak), range_text(peak)));
  lines.add("peak", e.peak_operator.empty()
                        ? std::string(phase_text(e.peak_phase))
                        : fmt::format("{}, at {}", phase_text(e.peak_phase), printable(e.peak_operator)));
  if (r.largest) lines.add("largest batch", largest_text(*r.largest));
  if (r.largest && r.largest_time)
    lines.add("its time", fmt::format("{} a {}, {} samples/s", text(r.largest_time->seconds),
                                      r.setting.mode == network::Mode::train ? "step" : "pass",
                                      plimsoll::count_text(r.largest_time->samples(r.largest->batch) /
                                                           r.largest_time->seconds.value())));
  return lines.take();
}

std::string largest_tensors(const MemoryEstimate& e, const TextStyle& style) {
  if (e.at_peak.empty()) return {};
  Table t{{{"Largest at the peak", Align::left, true}, {"For", Align::left}, {"Bytes", Align::right}}, {}};
  for (std::size_t i = 0; i < e.at_peak.size() && i < kLargestTensors; ++i)
    t.rows.push_back(
        {printable(e.at_peak[i].tensor), std::string(name(e.at_peak[i].purpose)), text(e.at_peak[i].bytes)});
  std::string out = "\n" + to_text(t, style);
  if (e.at_peak.size() > kLargestTensors)
    out +=
        fmt::format("and {} more\n", grouped(static_cast<std::int64_t>(e.at_peak.size() - kLargestTensors)));
  return out;
}

std::string others_note(std::span<const OtherUser> others) {
  std::vector<std::string> each;
  for (const OtherUser& o : others)
    each.push_back(fmt::format("{} (pid {}) {}", o.name.empty() ? "a process" : printable(o.name), o.pid,
                               o.bytes ? text(*o.bytes) : "an unknown amount"));
  return fmt::format("others use this GPU, and that is taken off its capacity: {}", fmt::join(each, ", "));
}

}  // namespace

std::vector<BarPart> memory_parts(const MemoryEstimate& e) {
  std::vector<BarPart> parts;
  Bytes sum;
  for (const estimate::PurposeShare& share : e.by_purpose) sum += share.bytes;
  Bytes without = std::max(sum - e.minimum_reserved, Bytes());  // of the workspaces
  for (const Look& look : kLooks)
    for (const estimate::PurposeShare& share : e.by_purpose) {
      if (share.purpose != look.purpose) continue;
      Bytes bytes = share.bytes;
      if (share.purpose == Purpose::workspace) {
        const Bytes left_out = std::min(without, bytes);
        bytes = bytes - left_out;
        sum = sum - left_out;
      }
      parts.push_back({std::string(name(share.purpose)), look.fill, look.color, bytes});
    }
  parts.push_back({"reserved, unused", '.', 245, std::max(e.minimum_reserved - sum, Bytes())});
  parts.push_back({"CUDA context", ':', 250, e.context.value_or(Bytes())});
  return parts;
}

std::string need_share_text(double share) {
  return fmt::format("{:.1f} %", 100 * share);
}

std::string setting_text(const MemoryReport& r) {
  const network::Setting& s = r.setting;
  const bool training = s.mode == network::Mode::train;
  std::string out = training ? fmt::format("training with {}", network::name(s.optimizer)) : "inference";
  out += fmt::format(" in {}, batch {}", network::name(s.precision), r.batch);
  if (training && s.accumulate > 1) out += fmt::format(", {} passes per step", s.accumulate);
  if (training && s.checkpoint) out += ", checkpointed";
  const bool caches = std::ranges::find(r.estimate.by_purpose, program::Purpose::cache,
                                        &estimate::PurposeShare::purpose) != r.estimate.by_purpose.end();
  if (!training && caches && s.context > 0) out += fmt::format(", {} tokens in the cache", s.context);
  if (training && s.devices > 1) out += fmt::format(", on each of {} GPUs", s.devices);
  if (s.allocator.expandable_segments) out += ", expandable segments";
  return out;
}

std::vector<std::string> memory_notes(const MemoryReport& r) {
  const MemoryEstimate& e = r.estimate;
  std::vector<std::string> notes;
  for (const network::BoundSymbol& s : r.inspection.shapes.bound())
    if (s.assumed)
      notes.push_back(fmt::format("{} was not given; {} is assumed", printable(s.name), s.value));
  if (e.context_assumed && e.context)
    notes.push_back(fmt::format("the CUDA context, {}, was measured on another GPU; here it may differ",
                                text(*e.context)));
  if (!e.unruled.empty()) {
    std::vector<std::string> kinds;
    for (const std::string& kind : e.unruled) kinds.push_back(printable(kind));
    notes.push_back(
        fmt::format("no memory rule for {}: what they write widens the interval", fmt::join(kinds, ", ")));
  }
  if (e.fits.value_or(false) && e.capacity && e.device_used() > *e.capacity)
    notes.emplace_back(
        "it fits tightly: the allocator gives cached memory back, or libraries take smaller workspaces, "
        "which costs time");
  if (!r.others.empty()) notes.push_back(others_note(r.others));
  for (const auto* list : {&e.notes, &r.inspection.notes})
    for (const std::string& note : *list) notes.push_back(printable(note));
  return notes;
}

Table remedies_table(std::span<const estimate::Remedy> remedies, Bytes now) {
  Table t{{{"What would lower it", Align::left, false, Importance::always, true},
           {"Needs", Align::right},
           {"Less by", Align::right},
           {"Fits", Align::right}},
          {}};
  for (const estimate::Remedy& m : remedies)
    if ((now - m.minimum_device) / now >= kWorthSaying)
      t.rows.push_back({printable(m.what), text(m.minimum_device),
                        percent_used((now - m.minimum_device) / now), fits_word(m.fits)});
  return t;
}

std::string memory_text(const MemoryReport& r, const TextStyle& style) {
  std::string out = wrap(fit_sentence(r, style), text_width(style), "");
  out += paragraph(setting_text(r), style) + '\n';
  out += memory_bar(memory_parts(r.estimate), r.estimate.capacity, style) + '\n';
  out += figures(r, style) + largest_tensors(r.estimate, style);
  if (const Table remedies = remedies_table(r.remedies, r.estimate.minimum_device()); !remedies.rows.empty())
    out += '\n' + colour_fits(to_text(remedies, style), style);
  const std::vector<std::string> notes = memory_notes(r);
  if (!notes.empty()) out += '\n';
  for (const std::string& note : notes) out += wrap("note: " + note, text_width(style), "");
  return out;
}

}  // namespace plimsoll::report
