#include "report/device_report.hpp"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/printable.hpp"
#include "base/text.hpp"
#include "hardware/ceilings.hpp"
#include "report/calibration.hpp"
#include "report/inspection.hpp"
#include "report/paragraph.hpp"

namespace plimsoll::report {
namespace {

using hardware::Arithmetic;
using hardware::Calibration;
using hardware::Device;
using hardware::DeviceFigure;

constexpr Arithmetic kArithmetics[] = {Arithmetic::fp64, Arithmetic::fp32, Arithmetic::tf32, Arithmetic::fp16,
                                       Arithmetic::bf16, Arithmetic::int8, Arithmetic::fp8};

std::string figure_words(const DeviceFact& fact) {
  const DeviceFigure& figure = **fact.figure;
  const std::string_view bound = figure.bound == hardware::Bound::at_most     ? "<= "
                                 : figure.bound == hardware::Bound::more_than ? "> "
                                                                              : "";
  return fmt::format("{}{}", bound, fact.show(figure.value));
}

std::string source_words(const DeviceFigure& figure) {
  return printable(figure.source + (figure.date.empty() ? "" : ", " + figure.date));
}

/// What a page leaves to the whole list: what only the simulator of memory reads.
bool is_detail(std::string_view fact) {
  return fact == "CUDA context" || fact == "matrix kernels" || fact == "convolution kernels";
}

/// Most figures share a few sources: each is told once, and stands in the table as its number.
std::string figures_text(const Device& device, bool all, const TextStyle& style) {
  Table table{{{"Figure"},
               {"Value", Align::right, false, Importance::always},
               {"Provenance"},
               {"Source", Align::right, false, Importance::telling}},
              {}};
  std::vector<std::string> sources;
  for (const DeviceFact& fact : device_facts(device)) {
    if (!*fact.figure || (!all && is_detail(fact.name))) continue;
    const std::string source = source_words(**fact.figure);
    auto found = std::ranges::find(sources, source);
    if (found == sources.end()) found = sources.insert(sources.end(), source);
    table.rows.push_back({fact.name, figure_words(fact), std::string(name((*fact.figure)->provenance)),
                          fmt::format("{}", found - sources.begin() + 1)});
  }
  std::string out = to_text(table, style) + fmt::format("\n{}\n", bold("Sources", style));
  for (std::size_t i = 0; i < sources.size(); ++i)
    out += hanging(fmt::format("  {:>2}  ", i + 1), sources[i], style);
  return out;
}

std::string price_text(const DeviceReport& report, const TextStyle& style) {
  if (report.cheapest == nullptr || !report.cheapest->per_hour) return "";
  const hardware::Offer& offer = *report.cheapest;
  const auto devices = static_cast<double>(std::max<std::int64_t>(offer.devices, 1));
  const std::string machine =
      offer.devices > 1
          ? fmt::format(", {} for a machine of {}", text(Money(offer.per_hour->value())), offer.devices)
          : "";
  return "\n" + paragraph(fmt::format("An hour costs {} at least: {}{} ({}, {})",
                                      text(Money(offer.per_hour->value() / devices)), printable(offer.name),
                                      machine, printable(offer.source), printable(offer.date)),
                          style);
}

std::string head_text(const Device& device, const TextStyle& style) {
  return paragraph(fmt::format("{}: {}{}", bold(printable(device.id), style), printable(device.name),
                               device.year ? fmt::format(", {}", *device.year) : ""),
                   style) +
         "\n";
}

std::string notes_text(const Device& device, const TextStyle& style) {
  std::string out;
  for (const std::string& note : device.notes)
    out += (out.empty() ? "\n" : "") + paragraph("Note: " + printable(note), style);
  return out;
}

std::string measured_head(const Calibration& calibration, const TextStyle& style) {
  std::vector<std::string> parts = {
      fmt::format("{} {}", bold("Measured", style), printable(calibration.date))};
  for (const std::string& version : calibration.versions) parts.push_back(printable(version));
  parts.push_back(fmt::format("{} points", grouped(static_cast<std::int64_t>(calibration.points.size()))));
  std::string out = "\n" + paragraph(fmt::format("{}", fmt::join(parts, ", ")), style);
  std::vector<std::string> remarks;
  for (const std::string& remark : calibration.remarks)
    if (std::ranges::find(remarks, printable(remark)) == remarks.end()) remarks.push_back(printable(remark));
  if (calibration.eager_launch)
    remarks.push_back(fmt::format("the host needs {} to start an operator",
                                  text(Seconds(calibration.eager_launch->value))));
  return remarks.empty() ? out : out + hanging("  ", fmt::format("{}", fmt::join(remarks, "; ")), style);
}

/// Of each ceiling the one that counts: memory's and not a cache's, the largest product. What says nearly the
/// same as another, or is read by models of energy alone, is left to the whole list.
Calibration in_short(const Calibration& calibration) {
  constexpr std::string_view kLeftOut[] = {"memory-copy", "memory-triad", "launch-to-completion"};
  Calibration out;
  std::set<std::string_view> seen;
  for (const hardware::Ceiling& ceiling : calibration.ceilings) {
    const std::string_view name = ceiling.name;
    if (name.starts_with("energy-") || name.ends_with("-l1") || name.ends_with("-pageable") ||
        std::ranges::find(kLeftOut, name) != std::end(kLeftOut) || !seen.insert(name).second)
      continue;
    out.ceilings.push_back(*hardware::ceiling_named(calibration.ceilings, name));
  }
  return out;
}

/// How far the time of an operator is off that is predicted from the others, by arithmetic.
std::string error_words(const Calibration& calibration) {
  struct Sum {
    double points = 0, half = 0, most = 0;
  };
  std::map<Arithmetic, Sum> sums;
  for (const hardware::ClassFit& fit : calibration.fits) {
    Sum& sum = sums[fit.arithmetic];
    const auto points = static_cast<double>(fit.points);
    sum.points += points;
    sum.half += points * fit.residual;
    sum.most += points * fit.residual_90;
  }
  std::vector<std::string> parts;
  for (const auto& [arithmetic, sum] : sums)
    if (sum.points > 0)
      parts.push_back(fmt::format("{} {:.1f} % ({:.1f} %)", hardware::name(arithmetic),
                                  100 * sum.half / sum.points, 100 * sum.most / sum.points));
  if (parts.empty()) return "";
  return fmt::format(
      "An operator's time, predicted from the other points, is off by less than this in half of the cases "
      "(in nine "
      "of ten): {}.",
      fmt::join(parts, ", "));
}

}  // namespace

std::vector<DeviceFact> device_facts(const Device& d) {
  static constexpr auto rate = [](double v) { return text(FlopsPerSecond(v)); };
  static constexpr auto bandwidth = [](double v) { return text(BytesPerSecond(v)); };
  static constexpr auto size = [](double v) { return text(Bytes::rounded(v)); };
  static constexpr auto watts = [](double v) { return text(Watts(v)); };
  static constexpr auto plain = [](double v) { return fmt::format("{:g}", v); };
  std::vector<DeviceFact> out = {{"memory", &d.memory, size, "B"},
                                 {"usable memory", &d.usable_memory, size, "B"},
                                 {"memory bandwidth", &d.memory_bandwidth, bandwidth, "B/s"},
                                 {"L2 cache", &d.l2_cache, size, "B"},
                                 {"CUDA context", &d.context_memory, size, "B"},
                                 {"matrix kernels", &d.matrix_kernels, size, "B"},
                                 {"convolution kernels", &d.convolution_kernels, size, "B"},
                                 {"link bandwidth", &d.link_bandwidth, bandwidth, "B/s"},
                                 {"power", &d.power, watts, "W"},
                                 {"multiprocessors", &d.multiprocessors, plain, ""}};
  for (const Arithmetic a : kArithmetics)
    out.push_back({fmt::format("peak {}", hardware::name(a)), &d.peak_of(a), rate, "FLOP/s"});
  if (d.board) {
    out.push_back({"board mass", &d.board->mass, [](double v) { return si_text(v * 1000, "g"); }, "kg"});
    out.push_back({"board peak power", &d.board->peak_power, watts, "W"});
    out.push_back({"boot time", &d.board->boot_time, [](double v) { return text(Seconds(v)); }, "s"});
  }
  return out;
}

std::string device_text(const DeviceReport& report, const TextStyle& style) {
  const Device& device = report.device;
  std::string out = head_text(device, style) + figures_text(device, false, style) +
                    price_text(report, style) + notes_text(device, style);
  if (report.calibration == nullptr) return out;
  const Calibration& calibration = *report.calibration;
  out += measured_head(calibration, style);
  if (const Table ceilings = ceiling_table(in_short(calibration)); !ceilings.rows.empty())
    out += "\n" + to_text(ceilings, style);
  if (const std::string errors = error_words(calibration); !errors.empty())
    out += "\n" + paragraph(errors, style);
  return out + paragraph(fmt::format("{} ceilings by size and {} classes of operators: --all, or --json.",
                                     calibration.ceilings.size(), calibration.fits.size()),
                         style);
}

std::string device_details(const DeviceReport& report, const TextStyle& style) {
  const Device& device = report.device;
  std::string out = head_text(device, style) + figures_text(device, true, style) + price_text(report, style) +
                    notes_text(device, style);
  if (report.calibration == nullptr) return out;
  const Calibration& calibration = *report.calibration;
  out += measured_head(calibration, style);
  if (!calibration.ceilings.empty()) out += "\n" + to_text(ceiling_table(calibration), style);
  if (!calibration.fits.empty())
    out += "\n" + to_text(class_table(calibration), style) +
           paragraph(
               "Efficiency is of what the best operators of a class reach. The residual is the error of a "
               "point that is predicted from the others: half, and 90 %, of them have less.",
               style);
  return out;
}

}  // namespace plimsoll::report
