#include "report/weighing_page.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/printable.hpp"
#include "base/text.hpp"
#include "report/html.hpp"
#include "report/several.hpp"
#include "report/throughput.hpp"
#include "report/time_report.hpp"
#include "report/weighing_charts.hpp"
#include "report/weighing_words.hpp"

namespace plimsoll::report {
namespace {

constexpr std::size_t kLayers = 15;
constexpr std::size_t kTensors = 15;

std::string joined_html(const std::vector<std::string>& pieces) {
  return escape_html(fmt::format("{}", fmt::join(pieces, " · ")));
}

std::string header(const Weighing& w) {
  return fmt::format("<header><h1>{}</h1>\n<p>{}</p>\n<p class=\"note\">{}</p></header>\n<main>\n",
                     escape_html(w.inspection.model), joined_html(setting_words(w)),
                     joined_html(size_words(w)));
}

/// The device's memory: what others use, what this needs, and the rest.
std::string gauge_html(const WeighedDevice& d) {
  const auto whole = d.use && d.use->total ? d.use->total : d.memory ? d.memory->capacity : std::nullopt;
  if (!d.memory || !whole || *whole <= Bytes()) return "";
  constexpr double kGaugeWidth = 1000;
  const Bytes used = d.use && !d.use->users.empty() ? d.use->used.value_or(Bytes()) : Bytes();
  const double others = std::clamp(used / *whole, 0.0, 1.0) * kGaugeWidth;
  const double need =
      std::clamp(d.memory->minimum_device() / *whole * kGaugeWidth, 2.0, kGaugeWidth - others);
  return fmt::format(
      "<svg class=\"gauge\" viewBox=\"0 0 1000 16\" preserveAspectRatio=\"none\" role=\"img\" "
      "aria-label=\"{}\"><rect class=\"trough\" width=\"1000\" height=\"16\"/><rect class=\"others\" "
      "width=\"{:.1f}\" height=\"16\"/><rect class=\"{}\" x=\"{:.1f}\" width=\"{:.1f}\" "
      "height=\"16\"/></svg>\n",
      escape_html(memory_words(d) + ", " + fit_words(d)), others, d.fits().value_or(true) ? "need" : "over",
      others, need);
}

std::string fit_class(const WeighedDevice& d) {
  return !d.fits() ? "open" : *d.fits() ? "good" : "bad";
}

std::string block(const WeighedDevice& d, const Weighing& w) {
  std::string out = fmt::format("<article>\n<h2>{}<small>{}</small></h2>\n", escape_html(device_label(d)),
                                escape_html(device_words(d)));
  for (const std::string& line : {use_words(d), activity_words(d)})
    if (!line.empty()) out += fmt::format("<p class=\"note\">{}</p>\n", escape_html(line));
  out += gauge_html(d) + memory_chart_html(d) + "<dl>";
  const auto row = [&out](std::string_view label, const std::string& html) {
    if (!html.empty()) out += fmt::format("<dt>{}</dt><dd>{}</dd>\n", label, html);
  };
  const std::string room = room_words(d, w);
  row("Memory", fmt::format("{}, <span class=\"{}\">{}</span>{}", escape_html(memory_words(d)), fit_class(d),
                            escape_html(fit_words(d)), room.empty() ? "" : "; " + escape_html(room)));
  row("At the peak", joined_html(peak_words(d)));
  const std::string basis = basis_words(d);
  row("Time",
      joined_html(time_words(d, w)) +
          (basis.empty() ? "" : fmt::format(" <span class=\"basis\">[{}]</span>", escape_html(basis))));
  row("Measured", joined_html(measured_words(d, w)));
  for (const std::string& doubt : measured_doubts(d)) row("Doubtful", escape_html(doubt));
  return out + "</dl>\n</article>\n";
}

std::string section(std::string_view title, const Table& table, std::string_view note = {}) {
  if (table.rows.empty()) return "";
  return fmt::format("<section>\n<h2>{}</h2>\n{}{}</section>\n", escape_html(title), table_html(table),
                     note.empty() ? "" : fmt::format("<p class=\"note\">{}</p>\n", escape_html(note)));
}

/// The same with a bar in each row.
std::string barred_section(std::string_view title, const Table& table, std::span<const RowBar> bars,
                           BarPlace place, std::string_view note = {}) {
  if (table.rows.empty()) return "";
  return fmt::format("<section>\n<h2>{}</h2>\n{}{}</section>\n", escape_html(title),
                     barred_table_html(table, bars, place),
                     note.empty() ? "" : fmt::format("<p class=\"note\">{}</p>\n", escape_html(note)));
}

std::string seconds_cell(const std::optional<estimate::TimeEstimate>& time) {
  return time ? text(time->seconds) : "unknown";
}

std::string device_title(const WeighedDevice& d) {
  return printable(d.here ? device_label(d) + ", this machine" : d.device.id, 60);
}

/// Time by device, as bars with the interval of each.
std::string time_chart(const Weighing& w) {
  double longest = 0;
  for (const WeighedDevice& d : w.devices)
    if (d.time) longest = std::max(longest, d.time->high.value());
  if (longest <= 0) return "";
  Table t{{{"Device"}, {w.setting.mode == network::Mode::train ? "Step" : "Pass", Align::right}, {"Fits"}},
          {}};
  std::vector<RowBar> bars;
  for (const WeighedDevice& d : w.devices) {
    if (!d.time) continue;
    t.rows.push_back({device_title(d), text(d.time->seconds), fit_words(d)});
    bars.push_back({d.time->seconds.value() / longest, d.time->low.value() / longest,
                    d.time->high.value() / longest, d.fits().value_or(true) ? "need" : "over"});
  }
  return barred_section(
      "Time by device", t, bars, BarPlace::beside,
      "Those that it fits on come first, each group by time. The thin line is the 95 % interval.");
}

/// How many of a device would do, where one does not.
std::string several_section(const WeighedDevice& d, const Weighing& w) {
  std::string below = several_words(*d.several) + ".";
  for (const std::string& note : several_notes(*d.several)) below += fmt::format(" {}.", note);
  return section(fmt::format("Several {}", d.here ? device_label(d) : printable(d.device.id, 40)),
                 several_table(*d.several, w.setting.mode == network::Mode::train), below);
}

Table time_table(const Weighing& w) {
  Table t{{{"Device"},
           {"Fits"},
           {"Time", Align::right},
           {fmt::format("{}s/s", sample_word(w.inspection)), Align::right},
           {"Energy", Align::right},
           {"Bound by"},
           {"Time is"},
           {"Cost", Align::right},
           {"Rented as"}},
          {}};
  if (!w.country.empty())
    t.columns.push_back({fmt::format("CO2e in {}", printable(w.country, 40)), Align::right});
  for (const WeighedDevice& d : w.devices) {
    const bool known = d.time.has_value();
    t.rows.push_back(
        {device_title(d), fit_words(d), seconds_cell(d.time),
         known ? throughput_text(static_cast<double>(w.batch) / d.time->seconds.value()) : "unknown",
         known && d.time->joules ? text(*d.time->joules) : "unknown",
         known ? std::string(name(d.time->bottleneck)) : "", basis_words(d),
         d.cost ? text(d.cost->money) : "",
         d.cost ? fmt::format("{}{}", d.cost->offer,
                              d.cost->devices > 1 ? fmt::format(" / {}", d.cost->devices) : "")
                : ""});
    const bool emits = d.cost && d.cost->footprint && d.cost->footprint->carbon;
    if (!w.country.empty())
      t.rows.back().push_back(emits ? si_text(d.cost->footprint->carbon->value() * 1000, "g") : "");
  }
  return t;
}

/// The device whose layers are told: the first on the page that has a time.
const WeighedDevice* told(const Weighing& w) {
  for (const bool in_full : {true, false})
    for (const WeighedDevice& d : w.devices)
      if (d.time && d.in_full == in_full) return &d;
  return nullptr;
}

std::string slowest_layers(const WeighedDevice& d, const Weighing& w, std::string_view title) {
  Table t{{{"Layer", Align::left}, {"Time", Align::right}, {"Share", Align::right}, {"Bound by"}}, {}};
  std::vector<const estimate::LayerTime*> layers;
  for (const estimate::LayerTime& layer : d.time->layers) layers.push_back(&layer);
  const auto time_of = [](const estimate::LayerTime* layer) {
    return (layer->forward + layer->backward).value();
  };
  std::ranges::stable_sort(layers, std::ranges::greater{}, time_of);
  const TimeReport report{&w.inspection.network, &*d.time, w.batch, w.setting.mode == network::Mode::train};
  std::vector<RowBar> bars;
  for (std::size_t i = 0; i < layers.size() && i < kLayers; ++i) {
    t.rows.push_back({layer_name(report, *layers[i]), text(Seconds(time_of(layers[i]))),
                      fmt::format("{:.1f} %", 100 * time_of(layers[i]) / d.time->seconds.value()),
                      std::string(name(layers[i]->bottleneck))});
    bars.push_back({.length = time_of(layers[i]) / std::max(time_of(layers[0]), 1e-30)});
  }
  return barred_section(title, t, bars, BarPlace::below);
}

std::string largest_tensors(const WeighedDevice& d, std::string_view title) {
  Table t{{{"Tensor"}, {"Bytes", Align::right}, {"For"}}, {}};
  std::vector<RowBar> bars;
  if (!d.memory) return "";
  for (std::size_t i = 0; i < d.memory->at_peak.size() && i < kTensors; ++i) {
    const estimate::Resident& r = d.memory->at_peak[i];
    t.rows.push_back({printable(r.tensor), text(r.bytes), std::string(name(r.purpose))});
    bars.push_back({.length = r.bytes / std::max(d.memory->at_peak[0].bytes, Bytes(1))});
  }
  return barred_section(title, t, bars, BarPlace::below);
}

}  // namespace

std::string weighing_page(const Weighing& weighing) {
  Weighing w = weighing;
  w.devices = sorted_devices(std::move(w.devices));
  std::string out = page_head(fmt::format("{} – Plimsoll", w.inspection.model), "run.css");
  out += fmt::format("<style>\n{}</style>\n", page_part("weighing.css")) + header(w) +
         "<div class=\"devices\">\n";
  for (const WeighedDevice& d : w.devices)
    if (d.in_full) out += block(d, w);
  out += "</div>\n";
  for (const WeighedDevice& d : w.devices)
    if (d.several) out += several_section(d, w);
  out += time_chart(w);
  out += section("Devices", time_table(w), fmt::format("Cost: of {}. {}", w.work.words, cost_basis(w)));
  if (const WeighedDevice* device = told(w)) {
    const std::string label = device->here ? device_label(*device) : device->device.id;
    out += "<div class=\"findings\">\n";
    out += slowest_layers(*device, w, fmt::format("Layers that take most time on {}", label));
    out += largest_tensors(*device, fmt::format("Largest in memory at the peak on {}", label));
    out += "</div>\n";
  }
  out += section("Floors", floor_table(w),
                 "No program is faster than FLOPs over peak rate, or than weights, input and output moved "
                 "once over bandwidth. Needs: what PyTorch needs at least, with the CUDA context on a GPU.");
  out += "</main>\n<footer>\n";
  for (const std::string& note : weighing_notes(w))
    out += fmt::format("<p class=\"note\">{}</p>\n", escape_html(note));
  if (!w.next.empty()) out += fmt::format("<p>Next: <code>{}</code></p>\n", escape_html(w.next));
  return out + "</footer>\n</body>\n</html>\n";
}

}  // namespace plimsoll::report
