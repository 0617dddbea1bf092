#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/printable.hpp"
#include "base/text.hpp"
#include "report/choice.hpp"
#include "report/paragraph.hpp"

namespace plimsoll::report {
namespace {

using plan::Aspect;
using plan::Candidate;
using plan::Check;
using plan::Known;
using plan::Standing;

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

/// "33.8–95.4 ms".
std::string range_text(Aspect aspect, double low, double high) {
  const std::string from = aspect_text(aspect, low), to = aspect_text(aspect, high);
  const auto unit = [](const std::string& text) {
    return text.substr(std::min(text.rfind(' '), text.size()));
  };
  const bool same = unit(from) == unit(to);
  return fmt::format("{}–{}", same ? from.substr(0, from.size() - unit(from).size()) : from, to);
}

/// Whether the figure is an estimate with an interval: what decides is its end, not its middle.
bool has_range(const Known& known) {
  return known.figure.bound == hardware::Bound::exact && known.low < known.high;
}

/// "fails latency by at least 13.8 ms (33.8–95.4 ms)".
std::string failure_words(const Check& check) {
  const std::string_view aspect = name(check.aspect);
  if (!check.figure) return fmt::format("fails {}", aspect);
  const Known& figure = *check.figure;
  if (figure.figure.bound == hardware::Bound::more_than)
    return fmt::format("fails {}: {}", aspect, aspect_text(check.aspect, figure));
  const std::string excess = aspect_text(check.aspect, check.excess.value_or(0));
  if (!has_range(figure)) return fmt::format("fails {} by {}", aspect, excess);
  return fmt::format("fails {} by at least {} ({})", aspect, excess,
                     range_text(check.aspect, figure.low, figure.high));
}

/// All standings of a candidate in one cell; what is met needs no words where something is not.
std::string standing_cell(const Candidate& c) {
  std::vector<std::string> parts, undecided;
  std::vector<std::string_view> unknown;
  for (const Check& check : c.checks) {
    if (check.standing == Standing::failed) parts.push_back(failure_words(check));
    if (check.standing != Standing::unknown) continue;
    if (check.figure && has_range(*check.figure))
      undecided.push_back(fmt::format("{} ({})", name(check.aspect),
                                      range_text(check.aspect, check.figure->low, check.figure->high)));
    else if (check.figure)
      undecided.emplace_back(name(check.aspect));
    else
      unknown.push_back(name(check.aspect));
  }
  if (!undecided.empty()) parts.push_back(fmt::format("undecided: {}", fmt::join(undecided, ", ")));
  if (!unknown.empty()) parts.push_back(fmt::format("unknown: {}", fmt::join(unknown, ", ")));
  return parts.empty() ? "meets all" : fmt::format("{}", fmt::join(parts, "; "));
}

constexpr std::string_view kUnbeaten = "Unbeaten";

Table choice_table(const ChoiceReport& report, const std::vector<std::size_t>& rows) {
  using enum Importance;
  const auto any = [&](auto has) {
    return std::ranges::any_of(rows, [&](std::size_t i) { return has(report.choice.candidates[i]); });
  };
  const bool several = report.question.variants.size() > 1;
  const bool accurate = any([](const Candidate& c) { return c.accuracy.has_value(); });
  const bool beaten = any([](const Candidate& c) { return c.on_front; }) &&
                      any([](const Candidate& c) { return c.count(Standing::failed) == 0 && !c.on_front; });
  Table table{{{"Device", Align::left, true}}, {}};
  if (several) table.columns.push_back({"Network", Align::left, true, always});
  table.columns.push_back({"Precision", Align::left});
  table.columns.push_back(
      {report.imaging.patches() > 1 ? "Time an image" : "Time", Align::right, false, telling});
  table.columns.push_back({"Time is", Align::left, false, detail});
  table.columns.push_back({"Energy", Align::right, false, detail});
  if (accurate) table.columns.push_back({"Accuracy", Align::right, false, detail});
  if (beaten) table.columns.push_back({std::string(kUnbeaten), Align::left, false, detail});
  table.columns.push_back({"Limits", Align::left, false, always, true});
  for (const std::size_t i : rows) {
    const Candidate& c = report.choice.candidates[i];
    std::vector<std::string> row = {printable(c.device->id)};
    if (several) row.push_back(printable(report.question.variants[c.variant].name));
    row.emplace_back(name(c.arithmetic));
    row.push_back(cell(c.image, seconds));
    row.emplace_back(c.image ? name(c.image->figure.provenance) : "");
    row.push_back(cell(c.energy, joules));
    if (accurate) row.push_back(cell(c.accuracy, percent_hundredths));
    if (beaten) row.emplace_back(c.on_front ? "yes" : "");
    row.push_back(standing_cell(c));
    table.rows.push_back(std::move(row));
  }
  return table;
}

/// "24 devices draw more than 5 W".
std::string ruled_out_words(Aspect aspect, std::size_t count, const plan::Limits& limits) {
  const bool one = count == 1;
  std::string devices = fmt::format("{} device{}", count, one ? "" : "s");
  switch (aspect) {
    case Aspect::power:
      return fmt::format("{} draw{} more than {}", devices, one ? "s" : "", text(*limits.power));
    case Aspect::mass:
      return fmt::format("{} weigh{} more than {}", devices, one ? "s" : "",
                         aspect_text(aspect, *limits.mass));
    case Aspect::size: return fmt::format("{} {} too large", devices, one ? "is" : "are");
    case Aspect::price:
      return fmt::format("{} cost{} more than {}", devices, one ? "s" : "",
                         aspect_text(aspect, limits.price_per_hour->value()));
    case Aspect::boot:
      return fmt::format("{} take{} longer than {} to boot", devices, one ? "s" : "", text(*limits.boot));
    case Aspect::updates: return fmt::format("{} cannot be updated in place", devices);
    case Aspect::precision:
    case Aspect::memory:
    case Aspect::latency:
    case Aspect::accuracy: break;
  }
  return devices;
}

/// What the question rules out by itself, counted instead of listed.
struct RuledOut {
  std::vector<std::size_t> rows;  ///< those that are left
  std::string words;
};

RuledOut without_ruled_out(const ChoiceReport& report, const std::vector<std::size_t>& rows) {
  RuledOut out;
  std::map<Aspect, std::size_t> counts;
  for (const std::size_t i : rows) {
    if (const auto aspect = plan::ruled_out_by(report.choice.candidates[i]))
      ++counts[*aspect];
    else
      out.rows.push_back(i);
  }
  std::vector<std::string> parts;
  for (const auto& [aspect, count] : counts)
    parts.push_back(ruled_out_words(aspect, count, report.question.limits));
  if (!parts.empty()) out.words = fmt::format("{}: --all lists them.", fmt::join(parts, ", "));
  return out;
}

/// "87.4 s against 4.42 s, by 83.0 s"; of an estimate "56.8 ms (95 %: 33.8–95.4 ms) against 20 ms, by at
/// least 13.8 ms".
std::string figures_of(const Check& check) {
  if (!check.figure) return {};
  const Known& figure = *check.figure;
  const bool range = has_range(figure);
  std::string out = aspect_text(check.aspect, figure);
  if (range) out += fmt::format(" (95 %: {})", range_text(check.aspect, figure.low, figure.high));
  if (check.limit) out += " against " + aspect_text(check.aspect, *check.limit);
  if (check.excess && figure.figure.bound == hardware::Bound::exact)
    out += fmt::format(", by {}{}", range ? "at least " : "", aspect_text(check.aspect, *check.excess));
  return out;
}

std::string source_of(const Check& check) {
  if (!check.figure) return check.note;
  const hardware::DeviceFigure& figure = check.figure->figure;
  std::string out = fmt::format("{}: {}", name(figure.provenance), figure.source);
  if (!figure.date.empty()) out += ", " + figure.date;
  if (!check.note.empty()) out += "; " + check.note;
  return out;
}

std::string reasons(const ChoiceReport& report, const Candidate& c, const TextStyle& style) {
  std::string out = fmt::format(
      "\n{}",
      bold(paragraph(fmt::format("{}, {} in {}", printable(c.device->id),
                                 printable(report.question.variants[c.variant].name), name(c.arithmetic)),
                     style),
           style));
  for (const Check& check : c.checks) {
    if (check.aspect == Aspect::precision && check.standing == Standing::met) continue;
    const std::string figures = figures_of(check);
    const std::string_view standing = check.standing == Standing::failed ? "fails" : name(check.standing);
    const std::string source = printable(source_of(check));
    const std::string label = fmt::format("  {:<9} {:<7}  ", name(check.aspect), standing);
    out += hanging(label, figures.empty() ? source : figures, style);
    if (!figures.empty() && !source.empty()) out += hanging(std::string(label.size(), ' '), source, style);
  }
  return out;
}

std::string heading(const ChoiceReport& report, const TextStyle& style) {
  const plan::Imaging& imaging = report.imaging;
  const auto patches = static_cast<double>(imaging.patches());
  std::string model = bold(printable(report.model), style);
  if (imaging.patches() > 1)
    model += fmt::format(", images of {}x{} cut into {} patches of {}x{}", imaging.width, imaging.height,
                         imaging.patches(), imaging.patch_width, imaging.patch_height);
  std::string out = paragraph(model, style);
  const plan::Limits& limits = report.question.limits;
  if (limits.latency) {
    std::string time = fmt::format("{} an image", text(*limits.latency));
    if (patches > 1) time += fmt::format(", {} a patch", text(*limits.latency / patches));
    if (const auto budget = plan::budget_per_image(imaging); budget && *budget == *limits.latency)
      time += fmt::format(" ({} over {:g} images)", text(*imaging.period), *imaging.images);
    out += hanging("  time     ", time, style);
  }
  if (limits.latency && limits.power)
    out += hanging("  energy   ",
                   fmt::format("at most {} an image: {} for that time", text(*limits.power * *limits.latency),
                               text(*limits.power)),
                   style);
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

std::string waiting(const plan::Imaging& imaging, const TextStyle& style) {
  const auto storage = plan::storage(imaging);
  if (!storage) return {};
  std::string image = text(storage->image);
  if (storage->cycle)
    image += fmt::format("; a cycle's {:g} images need {}", *imaging.images, text(*storage->cycle));
  std::string out = hanging("  image    ", image, style);
  if (storage->all && (storage->all->needed || storage->all->time))
    out += hanging("  sending  ", fmt::format("all: {}", transfer_text(*storage->all)), style);
  if (storage->relevant)
    out += hanging("           ",
                   fmt::format("the {:g} % of patches that matter: {}", 100 * *imaging.relevant,
                               transfer_text(*storage->relevant)),
                   style);
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
  const plan::Choice& choice = report.choice;
  RuledOut shown{report.all ? choice.ranked : plan::best_of_each_device(choice), {}};
  if (!report.all && !report.named) shown = without_ruled_out(report, shown.rows);
  const std::string_view answer = choice.certain()     ? "Recommended: "
                                  : choice.recommended ? "No device is known to meet every limit. Nearest: "
                                                       : "No device meets the limits: ";
  std::string out = paragraph(printable(fmt::format("{}{}.", answer, choice.reason)), style) + '\n';
  out += heading(report, style) + waiting(report.imaging, style);
  if (!shown.rows.empty()) {
    const std::string table = to_text(choice_table(report, shown.rows), style);
    out += '\n' + table;
    const std::string_view titles = std::string_view(table).substr(0, table.find('\n', table.find("Device")));
    if (titles.find(kUnbeaten) != std::string_view::npos)
      out += paragraph(fmt::format("{}: no other that fails no limit is better in time, energy or accuracy "
                                   "without being worse in another.",
                                   kUnbeaten),
                       style);
  }
  if (!shown.words.empty()) out += '\n' + paragraph(shown.words, style);
  if (report.why) {
    for (const std::size_t i : shown.rows) out += reasons(report, choice.candidates[i], style);
  } else if (choice.recommended) {
    out += reasons(report, choice.candidates[*choice.recommended], style);
  }
  return out;
}

}  // namespace plimsoll::report
