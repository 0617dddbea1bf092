#include <algorithm>

#include <fmt/format.h>

#include "base/printable.hpp"
#include "base/text.hpp"
#include "report/choice.hpp"
#include "report/paragraph.hpp"

namespace plimsoll::report {
namespace {

using plan::Aspect;
using plan::Candidate;
using plan::Finding;
using plan::Known;
using plan::Verdict;

std::string_view bound_mark(const Known& known) {
  switch (known.figure.bound) {
    case hardware::Bound::at_most: return "<= ";
    case hardware::Bound::more_than: return "> ";
    case hardware::Bound::exact: break;
  }
  return "";
}

template <class Show>
std::string cell(const std::optional<Known>& known, Show show) {
  return known ? fmt::format("{}{}", bound_mark(*known), show(known->figure.value)) : "unknown";
}
std::string seconds(double v) {
  return text(Seconds(v));
}
std::string joules(double v) {
  return text(Joules(v));
}
std::string percent_hundredths(double v) {
  return fmt::format("{:.2f} %", 100 * v);
}

/// "met", "fails by 82.9 s", "unknown".
std::string verdict_cell(const Finding& finding) {
  if (finding.verdict == Verdict::met) return "met";
  if (finding.verdict == Verdict::unknown) return "unknown";
  if (!finding.figure) return "fails";
  if (finding.figure->figure.bound == hardware::Bound::more_than)
    return fmt::format("fails: {}", aspect_text(finding.aspect, *finding.figure));
  return fmt::format("fails by {}", aspect_text(finding.aspect, finding.excess.value_or(0)));
}

const Finding* finding_of(const Candidate& candidate, Aspect aspect) {
  const auto found = std::ranges::find(candidate.findings, aspect, &Finding::aspect);
  return found == candidate.findings.end() ? nullptr : &*found;
}

Table choice_table(const ChoiceReport& report, const std::vector<std::size_t>& rows) {
  Table table{{{"Device"},
               {"Network"},
               {"Precision"},
               {"Image", Align::right},
               {"Time is"},
               {"Energy", Align::right},
               {"Accuracy", Align::right},
               {"Front"}},
              {}};
  std::vector<Aspect> aspects;
  if (!report.choice.candidates.empty())
    for (const Finding& finding : report.choice.candidates.front().findings)
      aspects.push_back(finding.aspect);
  for (const Aspect aspect : aspects) {
    std::string title(name(aspect));
    title[0] = static_cast<char>(title[0] - 'a' + 'A');
    table.columns.push_back({std::move(title)});
  }
  for (const std::size_t i : rows) {
    const Candidate& c = report.choice.candidates[i];
    std::vector<std::string> row = {printable(c.device->id),
                                    printable(report.question.variants[c.variant].name),
                                    std::string(name(c.arithmetic)),
                                    cell(c.image, seconds),
                                    c.image ? std::string(name(c.image->figure.provenance)) : "",
                                    cell(c.energy, joules),
                                    cell(c.accuracy, percent_hundredths),
                                    c.on_front ? "*" : ""};
    for (const Aspect aspect : aspects) row.push_back(verdict_cell(*finding_of(c, aspect)));
    table.rows.push_back(std::move(row));
  }
  return table;
}

/// "87.4 s against 4.42 s, by 83.0 s".
std::string figures_of(const Finding& finding) {
  std::string out;
  if (finding.figure) out += aspect_text(finding.aspect, *finding.figure);
  if (finding.figure && finding.limit) out += " against " + aspect_text(finding.aspect, *finding.limit);
  if (finding.excess && finding.figure && finding.figure->figure.bound == hardware::Bound::exact)
    out += ", by " + aspect_text(finding.aspect, *finding.excess);
  return out;
}

std::string source_of(const Finding& finding) {
  if (!finding.figure) return finding.note;
  const hardware::Figure& figure = finding.figure->figure;
  std::string out = fmt::format("{}: {}", name(figure.provenance), figure.source);
  if (!figure.date.empty()) out += ", " + figure.date;
  if (figure.bound == hardware::Bound::exact && finding.figure->low < finding.figure->high)
    out += fmt::format("; 95 % interval {} to {}", aspect_text(finding.aspect, finding.figure->low),
                       aspect_text(finding.aspect, finding.figure->high));
  if (!finding.note.empty()) out += "; " + finding.note;
  return out;
}

std::string reasons(const ChoiceReport& report, const Candidate& c, const TextStyle& style) {
  std::string out = fmt::format(
      "\n{}\n", bold(fmt::format("{}, {} in {}", printable(c.device->id),
                                 printable(report.question.variants[c.variant].name), name(c.arithmetic)),
                     style));
  for (const Finding& finding : c.findings) {
    if (finding.aspect == Aspect::precision && finding.verdict == Verdict::met) continue;
    const std::string figures = figures_of(finding);
    const std::string_view verdict = finding.verdict == Verdict::failed ? "fails" : name(finding.verdict);
    const std::string source = printable(source_of(finding));
    const std::string& first = figures.empty() ? source : figures;
    out +=
        fmt::format("  {:<9} {:<7}{}{}\n", name(finding.aspect), verdict, first.empty() ? "" : "  ", first);
    if (!figures.empty() && !source.empty()) out += wrap(source, text_width(style), "                     ");
  }
  return out;
}

std::string heading(const ChoiceReport& report, const TextStyle& style) {
  const plan::Imaging& imaging = report.imaging;
  const auto patches = static_cast<double>(imaging.patches());
  std::string out = bold(printable(report.model), style);
  if (imaging.patches() > 1)
    out += fmt::format(", images of {}x{} cut into {} patches of {}x{}", imaging.width, imaging.height,
                       imaging.patches(), imaging.patch_width, imaging.patch_height);
  out += "\n";
  const plan::Limits& limits = report.question.limits;
  if (limits.latency) {
    out += fmt::format("  time     {} an image", text(*limits.latency));
    if (patches > 1) out += fmt::format(", {} a patch", text(*limits.latency / patches));
    if (const auto budget = plan::budget_per_image(imaging); budget && *budget == *limits.latency)
      out += fmt::format(" ({} over {:g} images)", text(*imaging.period), *imaging.images);
    out += "\n";
  }
  if (limits.latency && limits.power)
    out += fmt::format("  energy   at most {} an image: {} for that time\n",
                       text(*limits.power * *limits.latency), text(*limits.power));
  return out;
}

std::string transfer_text(const plan::Transfer& transfer) {
  std::string out = text(transfer.size);
  if (transfer.needed)
    out += fmt::format(", {} to be gone before the next cycle", si_text(*transfer.needed, "bit/s"));
  if (transfer.time) out += fmt::format(", {} over this link", text(*transfer.time));
  if (transfer.keeps_up) out += *transfer.keeps_up ? ": it keeps up" : ": it falls behind";
  return out;
}

std::string waiting(const plan::Imaging& imaging) {
  const auto storage = plan::storage(imaging);
  if (!storage) return {};
  std::string out = fmt::format("  image    {}", text(storage->image));
  if (storage->cycle)
    out += fmt::format("; a cycle's {:g} images need {}", *imaging.images, text(*storage->cycle));
  out += "\n";
  if (storage->all && (storage->all->needed || storage->all->time))
    out += fmt::format("  sending  all: {}\n", transfer_text(*storage->all));
  if (storage->relevant)
    out += fmt::format("           the {:g} % of patches that matter: {}\n", 100 * *imaging.relevant,
                       transfer_text(*storage->relevant));
  return out;
}

}  // namespace

std::string aspect_text(Aspect aspect, double value) {
  switch (aspect) {
    case Aspect::memory: return text(Bytes::rounded(value));
    case Aspect::latency:
    case Aspect::boot: return text(Seconds(value));
    case Aspect::power: return text(Watts(value));
    case Aspect::mass: return si_text(value * 1000, "g");
    case Aspect::size: return fmt::format("{:.4g} mm", value * 1000);
    case Aspect::price: return text(Money(value)) + "/h";
    case Aspect::accuracy: return percent_hundredths(value);
    case Aspect::precision:
    case Aspect::updates: break;
  }
  return fmt::format("{:g}", value);
}

std::string aspect_text(Aspect aspect, const Known& known) {
  return fmt::format("{}{}", bound_mark(known), aspect_text(aspect, known.figure.value));
}

std::string choice_text(const ChoiceReport& report, const TextStyle& style) {
  const std::vector<std::size_t> rows =
      report.all ? report.choice.ranked : plan::best_of_each_device(report.choice);
  std::string out = heading(report, style) + waiting(report.imaging) + "\n";
  out += to_text(choice_table(report, rows), style);
  if (report.why) {
    for (const std::size_t i : rows) out += reasons(report, report.choice.candidates[i], style);
  } else if (report.choice.recommended) {
    out += reasons(report, report.choice.candidates[*report.choice.recommended], style);
  }
  const std::string_view answer = report.choice.certain()     ? "Recommended: "
                                  : report.choice.recommended ? "None is known to meet every limit. Nearest: "
                                                              : "None: ";
  return out + "\n" +
         wrap(printable(fmt::format("{}{}.", answer, report.choice.reason)), text_width(style), "");
}

}  // namespace plimsoll::report
