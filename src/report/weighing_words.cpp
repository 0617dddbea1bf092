#include "report/weighing_words.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/printable.hpp"
#include "base/text.hpp"
#include "estimate/figures.hpp"
#include "measure/figures.hpp"
#include "report/figure_writing.hpp"
#include "report/memory_report.hpp"
#include "report/stored_weights.hpp"
#include "report/throughput.hpp"
#include "report/time_report.hpp"

namespace plimsoll::report {
namespace {

using estimate::MemoryEstimate;
using estimate::TimeEstimate;

constexpr double kTight = 0.9;  ///< of the capacity

std::string percent(double share) {
  return fmt::format("{:.{}f} %", 100 * share, std::fabs(share) < 0.00995 ? 1 : 0);
}
std::string signed_percent(double share) {
  return fmt::format("{:+.1f} %", 100 * share);
}

/// Half of an interval as a share of its middle, the wider half.
double half_width(double value, double low, double high) {
  return value > 0 ? std::max(high / value - 1, 1 - low / value) : 0;
}

std::string step_word(const Weighing& w) {
  return w.setting.mode == network::Mode::train ? "step" : "pass";
}

std::string samples_word(const Weighing& w) {
  return fmt::format("{}s", sample_word(w.inspection));
}

/// Needs nearly all of it: another library's version may be too much.
bool is_tight(const WeighedDevice& d) {
  if (!d.memory || !d.memory->capacity || !d.memory->fits.value_or(false)) return false;
  return d.memory->minimum_device() / *d.memory->capacity > kTight;
}

bool has_convolutions(const Weighing& w) {
  return w.needs.convolutions > Flops(0);
}

std::string largest_words(const estimate::LargestBatch& largest) {
  if (largest.batch == 0) return "not even a batch of 1 does";
  return fmt::format("largest batch {}{}", largest.bounded ? "" : "> ", grouped(largest.batch));
}

/// What would make it fit, most welcome first: less precision costs nothing but digits, a batch costs time.
std::string best_remedy(const WeighedDevice& d) {
  const estimate::Remedy* best = nullptr;
  for (const std::string_view kind : {"--precision", "", "half"}) {
    for (const estimate::Remedy& remedy : d.remedies) {
      if (!remedy.fits.value_or(false)) continue;
      const bool halved = remedy.what.starts_with("half");
      if (kind == "half" ? halved : !halved && remedy.what.starts_with(kind)) {
        best = &remedy;
        break;
      }
    }
    if (best != nullptr) break;
  }
  // The first of a kind needs least; of precisions the mildest that fits is meant.
  for (const estimate::Remedy& remedy : d.remedies)
    if (best != nullptr && best->what.starts_with("--precision") && remedy.fits.value_or(false) &&
        remedy.what.starts_with("--precision amp-"))
      best = &remedy;
  if (best != nullptr) {
    const std::string_view what = best->what;
    return fmt::format("{} does", what.starts_with("--precision ") ? what.substr(12) : what);
  }
  if (d.largest && d.largest->batch > 0) return fmt::format("batch {} does", grouped(d.largest->batch));
  return "";
}

const Weighing* with_footprints(const Weighing& w) {
  return std::ranges::any_of(w.devices, [](const auto& d) { return d.cost && d.cost->footprint; }) ? &w
                                                                                                   : nullptr;
}

}  // namespace

std::string_view sample_word(const Inspection& inspection) {
  const auto& inputs = inspection.network.main().inputs;
  if (inputs.empty() || !inspection.shapes.ranked(inputs[0])) return "sample";
  const std::size_t rank = inspection.shapes.dims(inputs[0]).size();
  const network::DataType type = inspection.shapes.type(inputs[0]);
  if (rank == 4 || network::is_one_image(inspection.network, inspection.network.tensor(inputs[0])))
    return "image";
  return rank == 2 && (type == network::DataType::int64 || type == network::DataType::int32) ? "sequence"
                                                                                             : "sample";
}

std::vector<std::string> setting_words(const Weighing& w) {
  std::vector<std::string> out = {w.setting.mode == network::Mode::train ? "training" : "inference"};
  if (w.setting.mode == network::Mode::train) out.emplace_back(network::name(w.setting.optimizer));
  // What PyTorch does by default where the GPU can.
  const bool tensor_float = w.setting.precision == network::Precision::fp32 && has_convolutions(w) &&
                            std::ranges::any_of(w.devices, [](const auto& d) {
                              return d.in_full && d.device.kind == hardware::DeviceKind::gpu &&
                                     d.device.peak_of(hardware::Arithmetic::tf32).has_value();
                            });
  out.push_back(fmt::format("{}{}", network::name(w.setting.precision), tensor_float ? " (TF32)" : ""));
  return out;
}

std::vector<std::string> size_words(const Weighing& w) {
  const program::Counts& c = w.inspection.counts;
  std::vector<std::string> out = {fmt::format("{} parameters", plimsoll::count_text(c.parameters))};
  if (c.forward.macs.high != network::kUnbounded)
    out.push_back(fmt::format("{} per {}",
                              si_text(static_cast<double>(c.forward.macs.high) /
                                          static_cast<double>(std::max<std::int64_t>(w.batch, 1)),
                                      "MAC"),
                              sample_word(w.inspection)));
  const auto bound = w.inspection.shapes.bound();
  for (const network::BoundSymbol& s : bound)
    out.push_back(fmt::format("{} {}{}", printable(s.name, 40), s.value, s.assumed ? " (assumed)" : ""));
  if (bound.empty()) out.push_back(fmt::format("batch {}", w.batch));
  if (w.setting.context > 0 && w.setting.mode == network::Mode::infer)
    out.push_back(fmt::format("{} tokens in the cache", w.setting.context));
  return out;
}

std::string device_label(const WeighedDevice& d) {
  if (!d.here) return printable(d.device.id, 40);
  if (d.device.kind != hardware::DeviceKind::gpu) return "CPU";
  return fmt::format("GPU {}", d.use ? d.use->number : 0);
}

std::string device_words(const WeighedDevice& d) {
  const std::optional<Bytes> whole = d.use && d.use->total ? d.use->total : hardware::capacity(d.device);
  return fmt::format("{}{}", printable(d.device.name, 80), whole ? ", " + text(*whole) : "");
}

std::string use_words(const WeighedDevice& d) {
  constexpr std::size_t kNamed = 4;
  if (!d.use || !d.use->used || (d.use->users.empty() && *d.use->used < kGiB)) return "";
  std::string out = fmt::format("in use {}", text(*d.use->used));
  std::vector<std::string> users;
  for (const OtherUser& user : d.use->users)
    if (users.size() < kNamed)
      users.push_back(fmt::format(
          "{} {}", user.name.empty() ? fmt::format("process {}", user.pid) : printable(user.name, 24),
          user.bytes ? text(*user.bytes) : "unknown"));
  if (d.use->users.size() > kNamed) users.push_back(fmt::format("{} more", d.use->users.size() - kNamed));
  return users.empty() ? out : fmt::format("{}: {}", out, fmt::join(users, ", "));
}

std::string activity_words(const WeighedDevice& d) {
  if (!d.use) return "";
  if (d.use->sm_activity)
    return fmt::format(
        "SM activity {:.0f} %{}", 100 * *d.use->sm_activity,
        d.use->utilization ? fmt::format(" (nvidia-smi says {:.0f} %)", 100 * *d.use->utilization) : "");
  return d.use->utilization ? fmt::format("some kernel ran {:.0f} % of the time", 100 * *d.use->utilization)
                            : "";
}

std::string memory_words(const WeighedDevice& d) {
  if (!d.memory) return "unknown";
  const MemoryEstimate& m = *d.memory;
  // The context is known: what may differ is what the allocator is asked for, as a share of the whole.
  const Bytes width = std::max(m.high - m.peak_allocated, m.peak_allocated - m.low);
  const double share = m.minimum_device() > Bytes() ? width / m.minimum_device() : 0;
  return fmt::format("{} ±{}", text(m.minimum_device()), percent(share));
}

std::string fit_words(const WeighedDevice& d) {
  const std::optional<bool> fits = d.fits();
  if (!fits) return "unknown whether it fits";
  if (!*fits) return "does not fit";
  const bool others = d.use && !d.use->users.empty();
  return fmt::format("fits{}{}", is_tight(d) ? " tightly" : "", others ? " beside them" : "");
}

std::string room_words(const WeighedDevice& d, const Weighing&) {
  if (d.fits().value_or(true)) return d.largest ? largest_words(*d.largest) : "";
  std::string out = d.largest ? largest_words(*d.largest) : "";
  const std::string way = best_remedy(d);
  if (way.empty()) return out;
  return fmt::format("{}{}→ {}", out, out.empty() ? "" : " ", way);
}

std::vector<std::string> peak_words(const WeighedDevice& d) {
  constexpr double kWorthNaming = 0.01;
  constexpr std::size_t kMost = 3;
  std::vector<std::string> out;
  if (!d.memory || d.memory->minimum_device() <= Bytes()) return out;
  std::vector<BarPart> parts = memory_parts(*d.memory);
  std::ranges::stable_sort(parts, [](const BarPart& a, const BarPart& b) { return a.bytes > b.bytes; });
  for (const BarPart& part : parts)
    if (const double share = part.bytes / d.memory->minimum_device();
        out.size() < kMost && share >= kWorthNaming)
      out.push_back(fmt::format("{} {}", part.label, need_share_text(share)));
  std::string where =
      fmt::format("peak in {}", d.memory->peak_phase == program::Phase::step ? "the optimizer's step"
                                                                             : name(d.memory->peak_phase));
  if (!d.memory->peak_operator.empty() && d.memory->peak_phase != program::Phase::load)
    where += fmt::format(" at {}", printable(d.memory->peak_operator, 60));
  out.push_back(std::move(where));
  return out;
}

std::vector<std::string> time_words(const WeighedDevice& d, const Weighing& w) {
  if (!d.time) return {fmt::format("unknown: {}", printable(d.no_time, 200))};
  const TimeEstimate& t = *d.time;
  std::vector<std::string> out = {
      fmt::format("{} a {}", text(t.seconds), step_word(w)),
      fmt::format("{} {}/s", throughput_text(static_cast<double>(w.batch) / t.seconds.value()),
                  samples_word(w))};
  if (t.joules) out.push_back(fmt::format("{} a {}", text(*t.joules), step_word(w)));
  out.push_back(fmt::format("bound by {}", name(t.bottleneck)));
  if (t.eager > t.seconds * 1.02) out.push_back(fmt::format("{} eager", text(t.eager)));
  return out;
}

std::string basis_words(const WeighedDevice& d) {
  if (!d.time) return "";
  const TimeEstimate& t = *d.time;
  return fmt::format("{} {}", name(t.provenance), percent_around(time_figure(t)));
}

std::optional<double> time_error(const WeighedDevice& d) {
  if (!d.time || !d.measured) return std::nullopt;
  const bool captured = d.measured_captured() || d.device.kind != hardware::DeviceKind::gpu;
  return estimation_error(captured ? time_figure(*d.time) : eager_figure(*d.time),
                          seconds_figure(*d.measured));
}

std::optional<double> memory_error(const WeighedDevice& d) {
  if (!d.memory || !d.measured) return std::nullopt;
  return estimation_error(peak_allocated_figure(*d.memory),
                          measured_figure(*d.measured, measure::MemoryFigure::peak_allocated));
}

std::vector<std::string> measured_words(const WeighedDevice& d, const Weighing& w) {
  std::vector<std::string> out;
  if (!d.measured) return out;
  const measure::Row& row = *d.measured;
  if (row.failure) return {fmt::format("failed: {}", printable(row.failure->text(), 200))};
  if (row.does_not_fit) return {"does not fit"};
  const auto with_error = [](std::string figure, std::optional<double> error) {
    return error ? fmt::format("{} (estimate {})", figure, signed_percent(*error)) : figure;
  };
  if (row.seconds)
    out.push_back(
        with_error(fmt::format("{} a {}", text(Seconds(row.seconds->value)), step_word(w)), time_error(d)));
  if (row.measured && row.measured->memory.peak_allocated_bytes > 0)
    out.push_back(
        with_error(fmt::format("{} allocated", text(Bytes(row.measured->memory.peak_allocated_bytes))),
                   memory_error(d)));
  if (row.energy) out.push_back(fmt::format("{} a {}", text(row.energy->per_pass), step_word(w)));
  return out;
}

std::vector<std::string> measured_doubts(const WeighedDevice& d) {
  std::vector<std::string> out;
  if (!d.measured) return out;
  for (const std::string& doubt : d.measured->doubts) out.push_back(printable(doubt, 300));
  return out;
}

Elsewhere elsewhere(const Weighing& w) {
  Elsewhere out;
  std::vector<const WeighedDevice*> shown;
  const auto is_shown_in_full = [&w](const WeighedDevice& d) {
    return std::ranges::any_of(w.devices, [&d](const WeighedDevice& other) {
      return other.in_full && other.device.id == d.device.id;
    });
  };
  for (const WeighedDevice& d : w.devices)
    if (!d.in_full && !d.here && !is_shown_in_full(d)) shown.push_back(&d);
  std::ranges::stable_sort(shown, {},
                           [](const WeighedDevice* d) { return d->time ? d->time->seconds.value() : 1e300; });
  double least = 1e300, most = 0;
  bool calibrated = false;
  for (const WeighedDevice* d : shown) {
    const bool measured = d->time && d->time->provenance == Provenance::calibrated;
    calibrated = calibrated || measured;
    if (d->time && !measured) {
      const double width = half_width(d->time->seconds.value(), d->time->low.value(), d->time->high.value());
      least = std::min(least, width);
      most = std::max(most, width);
    }
    std::string words = printable(d->device.id, 40);
    if (d->time) words += fmt::format(" {}{}", text(d->time->seconds), measured ? "*" : "");
    const std::optional<bool> fits = d->fits();
    if (!fits) {
      out.unknown.push_back(std::move(words));
    } else if (!*fits) {
      const std::string way = best_remedy(*d);
      out.too_small.push_back(way.empty() ? printable(d->device.id, 40)
                                          : fmt::format("{} → {}", printable(d->device.id, 40), way));
    } else if (is_tight(*d)) {
      out.tight.push_back(d->largest ? fmt::format("{} ({})", words, largest_words(*d->largest)) : words);
    } else {
      out.fits.push_back(std::move(words));
    }
  }
  if (most > 0)
    out.basis = least + 0.01 < most ? fmt::format("by datasheets, ±{} to {}", percent(least), percent(most))
                                    : fmt::format("by datasheets, ±{}", percent(most));
  if (calibrated) out.basis = out.basis.empty() ? "* calibrated" : "* calibrated; others " + out.basis;
  return out;
}

std::vector<CostLine> cost_lines(const Weighing& w) {
  const WeighedDevice* own = nullptr;
  const WeighedDevice* cheapest = nullptr;
  const WeighedDevice* quickest = nullptr;
  for (const WeighedDevice& d : w.devices) {
    if (!d.cost || !d.fits().value_or(false)) continue;
    if (own == nullptr && d.here) own = &d;
    if (cheapest == nullptr || d.cost->money < cheapest->cost->money) cheapest = &d;
    if (quickest == nullptr || d.cost->time < quickest->cost->time) quickest = &d;
  }
  std::vector<CostLine> out;
  const auto add = [&out](const WeighedDevice* d, std::string_view what) {
    if (d == nullptr) return;
    const auto there = std::ranges::find_if(
        out, [d](const CostLine& line) { return line.device->device.id == d->device.id; });
    if (there == out.end())
      out.push_back({d, std::string(what)});
    else
      there->what += fmt::format("{}{}", there->what.empty() ? "" : ", ", what);
  };
  const bool several = cheapest != quickest || (own != nullptr && own != cheapest);
  add(own, several ? "as here" : "");
  add(cheapest, several ? "cheapest" : "");
  add(quickest, several ? "quickest" : "");
  return out;
}

std::vector<std::string> cost_words(const WeighedCost& cost, const Weighing& w) {
  std::vector<std::string> out = {text(cost.money), text(cost.time)};
  if (!cost.footprint) return out;
  out.push_back(fmt::format("{:.3g} kWh", cost.footprint->kilowatt_hours));
  if (cost.footprint->carbon)
    out.push_back(fmt::format("{} CO2e in {}", si_text(cost.footprint->carbon->value() * 1000, "g"),
                              printable(w.country, 40)));
  return out;
}

std::string cost_basis(const Weighing& w) {
  std::set<std::string> sources;
  std::string footprint;
  for (const CostLine& line : cost_lines(w)) {
    const WeighedCost& cost = *line.device->cost;
    sources.insert(fmt::format("{}, {}", printable(cost.rate.source, 120), printable(cost.rate.date, 20)));
    if (cost.footprint) footprint = cost.footprint->basis;
  }
  std::string out = fmt::format("{}", fmt::join(sources, "; "));
  if (with_footprints(w) != nullptr && !footprint.empty())
    out += fmt::format("; energy: {}", printable(footprint));
  return out;
}

std::vector<std::string> weighing_notes(const Weighing& w) {
  std::vector<std::string> out;
  const program::Counts& c = w.inspection.counts;
  if (c.counted < c.nodes)
    out.push_back(fmt::format("{} of {} operators are not counted: `plimsoll inspect` lists them",
                              c.nodes - c.counted, c.nodes));
  for (const std::string& note : w.inspection.notes) out.push_back(printable(note));
  for (const WeighedDevice& d : w.devices)
    if (d.memory && !d.memory->unruled.empty()) {
      out.push_back(fmt::format("no memory rule for {}: the interval is wider for it",
                                printable(fmt::format("{}", fmt::join(d.memory->unruled, ", ")), 200)));
      break;
    }
  for (const WeighedDevice& d : w.devices)
    if (d.time && !d.time->stored_formats.empty()) {
      out.push_back(stored_time_text(d.time->stored_formats));
      break;
    }
  for (const WeighedDevice& d : w.devices)
    for (const std::string& note : d.notes) out.push_back(printable(note, 400));
  return out;
}

}  // namespace plimsoll::report
