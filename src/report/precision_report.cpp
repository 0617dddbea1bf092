#include "report/precision_report.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "base/printable.hpp"
#include "base/text.hpp"
#include "report/paragraph.hpp"
#include "report/precision_words.hpp"

namespace plimsoll::report {

std::string percent_words(double share) {
  return fmt::format("{:.2f} %", 100 * share);
}

std::string form_words(const PrecisionForm& form) {
  return form.depth ? fmt::format("{} at {:g}", form.format, *form.depth) : form.format;
}

std::string lost_words(const learn::PairedLoss& lost) {
  const auto points = [](double loss) { return -100 * loss + 0.0; };  // nothing lost is no "-0.00"
  return fmt::format("{:+.2f} ({:+.2f} to {:+.2f})", points(lost.value), points(lost.high), points(lost.low));
}

namespace {

constexpr std::size_t kMostToldLayers = 12;  // of one width, in text
constexpr std::size_t kLongestLayerName = 48;
constexpr double kNotKnown = std::numeric_limits<double>::quiet_NaN();

std::string front_words(const PrecisionForm& form) {
  std::vector<std::string_view> out;
  if (form.front_time) out.emplace_back("time");
  if (form.front_size) out.emplace_back("size");
  if (form.front_energy) out.emplace_back("energy");
  return fmt::format("{}", fmt::join(out, ", "));
}

std::string pass_words(const std::optional<Quantile>& q) {
  return q ? text(Seconds(q->value)) : "-";
}

bool has_depths(const PrecisionStudy& study) {
  return std::ranges::any_of(study.forms, [](const PrecisionForm& f) { return f.depth.has_value(); });
}

std::string layer_note(const PrecisionForm& form) {
  if (form.layers == 0) return "";
  std::string out = fmt::format("{} of {} layers in 8 bits", form.eight_bit_layers, form.layers);
  if (!form.range.empty()) out += fmt::format(", ranges by {}", form.range);
  if (!form.library.empty()) out += fmt::format(", kernels of {}", form.library);
  return out;
}

std::string promise_text(const PrecisionStudy& study, const TextStyle& style) {
  if (!study.limit) return "";
  std::string out;
  for (const PrecisionForm& form : study.forms) {
    if (!form.kept_promise) continue;
    const std::string told = form.lost ? fmt::format("{:+.2f} points on the {} examples held out",
                                                     -100 * form.lost->value + 0.0, form.lost->examples)
                                       : std::string("it was not measured");
    const std::string what =
        *form.kept_promise
            ? fmt::format("{} keeps it: {}", form_words(form), told)
            : fmt::format("{} does not keep it: {}", form_words(form),
                          form.eight_bit_layers == 0 && form.layers > 0
                              ? std::string("no layer can be in 8 bits so that it certainly holds")
                              : told);
    out +=
        hanging("promise   ", fmt::format("at most {:g} points lost. {}", 100 * *study.limit, what), style);
  }
  return out;
}

std::string layer_costs_text(const PrecisionStudy& study, const TextStyle& style) {
  if (study.layers.empty()) return "";
  using enum Importance;
  const bool depths = has_depths(study);
  std::vector<PrecisionLayer> sorted = study.layers;
  std::ranges::stable_sort(sorted, std::greater<>(), [](const PrecisionLayer& l) { return l.loss_rise; });
  const std::size_t left_out = sorted.size() > kMostToldLayers ? sorted.size() - kMostToldLayers : 0;
  sorted.resize(sorted.size() - left_out);
  Table table{{{"Layer alone in 8 bits", Align::left, true, always},
               {"Kind", Align::left, false, detail},
               {"Parameters", Align::right, false, ordinary},
               {"Cross-entropy", Align::right, false, always},
               {"Points", Align::right, false, telling},
               {"Kept", Align::left, false, telling}},
              {}};
  for (const PrecisionLayer& layer : sorted)
    table.rows.push_back({printable(layer.name, kLongestLayerName) +
                              (depths && layer.depth ? fmt::format(" ({:g})", *layer.depth) : ""),
                          layer.kind, count_text(layer.parameters), fmt::format("{:+.4f}", layer.loss_rise),
                          lost_words(layer.lost), layer.kept ? "in fp32" : ""});
  std::string out = "\n" + to_text(table, style);
  if (left_out > 0) out += fmt::format("{} more cost less: --json and --html have them all.\n", left_out);
  return out;
}

}  // namespace

void mark_fronts(PrecisionStudy& study) {
  const auto mark = [&](auto cost, bool PrecisionForm::* front) {
    std::vector<learn::Point> points;
    for (const PrecisionForm& form : study.forms) {
      const std::optional<double> value = cost(form);
      points.push_back({form.missing ? kNotKnown : value.value_or(kNotKnown),
                        form.accuracy ? form.accuracy->value() : kNotKnown});
    }
    const std::vector<bool> marks = learn::front_of(points);
    for (std::size_t i = 0; i < marks.size(); ++i) study.forms[i].*front = marks[i];
  };
  using Cost = std::optional<double>;
  mark([](const PrecisionForm& f) { return f.seconds ? Cost(f.seconds->value) : Cost(); },
       &PrecisionForm::front_time);
  mark([](const PrecisionForm& f) { return f.bytes ? Cost(static_cast<double>(*f.bytes)) : Cost(); },
       &PrecisionForm::front_size);
  mark([](const PrecisionForm& f) { return f.joules; }, &PrecisionForm::front_energy);
}

Table precision_table(const PrecisionStudy& study) {
  using enum Importance;
  const bool depths = has_depths(study);
  Table table;
  if (depths) table.columns.push_back({"Width", Align::left, false, always});
  for (const Column& column :
       std::initializer_list<Column>{{"Format", Align::left, false, always},
                                     {"Size", Align::right, false, telling},
                                     {"Memory", Align::right, false, detail},
                                     {"Time", Align::right, false, telling},
                                     {"Speed", Align::right, false, ordinary},
                                     {"Energy", Align::right, false, ordinary},
                                     {"Accuracy", Align::right, false, always},
                                     {"Points against fp32", Align::right, false, telling},
                                     {"Unbeaten in", Align::left, false, detail}})
    table.columns.push_back(column);
  for (const PrecisionForm& form : study.forms) {
    std::vector<std::string> row;
    if (depths) row.push_back(form.depth ? fmt::format("{:g}", *form.depth) : "");
    row.push_back(form.format);
    row.push_back(form.bytes ? text(Bytes(*form.bytes)) : "-");
    row.push_back(form.peak_bytes ? text(Bytes(*form.peak_bytes)) : "-");
    row.push_back(pass_words(form.seconds));
    row.push_back(form.speed ? fmt::format("{:.2f}x", form.speed->value) : "-");
    row.push_back(form.joules ? text(Joules(*form.joules)) : "-");
    row.push_back(form.accuracy ? percent_words(form.accuracy->value()) : "-");
    row.push_back(form.lost && form.format != "fp32" ? lost_words(*form.lost) : "");
    row.push_back(front_words(form));
    table.rows.push_back(std::move(row));
  }
  return table;
}

std::string precision_text(const PrecisionStudy& study, const TextStyle& style) {
  std::string out = to_text(precision_table(study), style) + "\n";
  for (const PrecisionForm& form : study.forms)
    if (form.missing)
      out += hanging("missing   ", fmt::format("{}: {}", form_words(form), printable(*form.missing)), style);
  for (const PrecisionForm& form : study.forms)
    if (const std::string note = layer_note(form); !note.empty())
      out += hanging("8 bits    ", fmt::format("{}: {}", form_words(form), note), style);
  out += promise_text(study, style);
  out +=
      hanging("accuracy  ",
              fmt::format("on {} examples that nothing was chosen by; ranges from {} to learn from{}",
                          study.held_out, study.calibration,
                          study.selecting > 0 ? fmt::format(", choices by {} others", study.selecting) : ""),
              style);
  if (std::ranges::any_of(study.forms, [](const PrecisionForm& f) { return f.seconds.has_value(); }))
    out +=
        hanging("time      ",
                fmt::format("of a pass of {} example{} on {}{}, the formats in turn; speed is against fp32, "
                            "round by round",
                            study.batch, study.batch == 1 ? "" : "s", printable(study.device),
                            study.processor.empty() ? "" : fmt::format(" ({})", printable(study.processor))),
                style);
  for (const PrecisionTraining& t : study.trainings)
    out += hanging(
        "trained   ",
        fmt::format(
            "width {:g}: {} epochs of {} examples{}{}", t.depth, t.epochs, t.examples,
            t.accuracy ? fmt::format(", {} on all that there is to test on", percent_words(*t.accuracy)) : "",
            fmt::format(", {}{}", text(Seconds(t.seconds)), t.found ? ", earlier" : "")),
        style);
  for (const PrecisionForm& form : study.forms)
    if (!form.file.empty() && form.format == "int8")
      out += hanging("written   ", fmt::format("{}: {}", form_words(form), printable(form.file)), style);
  for (const std::string& note : study.notes) out += hanging("note      ", printable(note), style);
  return out + layer_costs_text(study, style);
}

}  // namespace plimsoll::report
