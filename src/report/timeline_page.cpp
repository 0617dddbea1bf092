#include "report/timeline_page.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <unordered_map>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/printable.hpp"
#include "base/text.hpp"
#include "report/html.hpp"

namespace plimsoll::report {
namespace {

using estimate::Timeline;
using estimate::TimelinePoint;
using program::Purpose;
using Json = nlohmann::ordered_json;

constexpr std::size_t kMostColumns = 1000;
constexpr int kUnits = 1000;  ///< the plot's height in its own units
/// Of the drawing: the plot within margins for the axis, the phases and the device's label.
constexpr double kWidth = 1000, kHeight = 430, kLeft = 70, kRight = 990, kTop = 26, kBottom = 395;

/// From the bottom: what stays, then what comes and goes.
constexpr std::array<Purpose, program::kPurposes> kOrder = {
    Purpose::weight,   Purpose::optimizer,  Purpose::library,   Purpose::input,
    Purpose::gradient, Purpose::bucket,     Purpose::saved,     Purpose::cache,
    Purpose::gathered, Purpose::activation, Purpose::workspace, Purpose::temporary};
/// Classes of the style sheet, by Purpose.
constexpr std::array<std::string_view, program::kPurposes> kClasses = {
    "weight",    "input",   "activation", "saved",     "gradient", "optimizer",
    "workspace", "library", "cache",      "temporary", "gathered", "bucket"};

std::size_t index(Purpose purpose) {
  return static_cast<std::size_t>(purpose);
}

std::int64_t total(const TimelinePoint& point) {
  return std::accumulate(point.bytes.begin(), point.bytes.end(), std::int64_t{0});
}

/// The highest point of each of at most kMostColumns equal parts, as indices.
std::vector<std::size_t> columns(const Timeline& timeline) {
  const std::size_t points = timeline.points.size(), count = std::min(points, kMostColumns);
  std::vector<std::size_t> out(count);
  for (std::size_t c = 0; c < count; ++c) {
    const auto begin = timeline.points.begin() + static_cast<std::ptrdiff_t>(c * points / count);
    const auto end = timeline.points.begin() + static_cast<std::ptrdiff_t>((c + 1) * points / count);
    out[c] =
        static_cast<std::size_t>(std::ranges::max_element(begin, end, {}, total) - timeline.points.begin());
  }
  return out;
}

struct Phases {
  program::Phase phase;
  std::size_t begin;  ///< point
};
std::vector<Phases> phases(const Timeline& timeline) {
  std::vector<Phases> out;
  for (std::size_t i = 0; i < timeline.points.size(); ++i)
    if (out.empty() || out.back().phase != timeline.points[i].phase)
      out.push_back({timeline.points[i].phase, i});
  return out;
}

/// Bytes to heights: the top is the peak, or the device's line where that is not far above.
struct Axis {
  double top = 1;
  bool shows_capacity = false;

  Axis(std::int64_t peak, std::optional<Bytes> capacity) {
    const double highest = std::max(1.0, static_cast<double>(peak));
    top = 1.05 * highest;
    if (!capacity || capacity->count() <= 0) return;
    const auto line = static_cast<double>(capacity->count());
    shows_capacity = line < 3 * highest;
    if (shows_capacity) top = std::max(top, 1.05 * line);
  }
  [[nodiscard]] double y(double bytes) const { return kBottom - bytes / top * (kBottom - kTop); }
  /// 1, 2 or 5 of a power of 1024 times 1, 10 or 100, so that four to eight lines are drawn.
  [[nodiscard]] double step() const {
    double unit = 1;
    while (unit * 1024 <= top) unit *= 1024;
    double step = unit;
    if (top / step < 4)
      for (const double part : {2.0, 4.0, 8.0, 16.0})
        if (top / step < 4) step = unit / part;
    for (const double factor : {2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0})
      if (top / step > 8) step = unit * factor;
    return step;
  }
};

/// The outline of all purposes up to one, as steps of one column each, closed along the bottom.
std::string outline(const Timeline& timeline, const std::vector<std::size_t>& shown, std::size_t layers,
                    const Axis& axis) {
  std::string path;
  int at = kUnits;
  std::size_t run = 0;
  const auto flush = [&] {
    if (run > 0) path += fmt::format("h{}", run);
    run = 0;
  };
  for (const std::size_t point : shown) {
    double sum = 0;
    for (std::size_t layer = 0; layer <= layers; ++layer)
      sum += static_cast<double>(timeline.points[point].bytes[index(kOrder[layer])]);
    const int y = kUnits - static_cast<int>(std::lround(std::clamp(sum / axis.top, 0.0, 1.0) * kUnits));
    if (y != at) {
      flush();
      path += fmt::format("v{}", y - at);
      at = y;
    }
    ++run;
  }
  flush();
  return fmt::format("M0 {}{}V{}z", kUnits, path, kUnits);
}

/// Nothing is ever kept for it.
bool never(const Timeline& timeline, const std::vector<std::size_t>& shown, std::size_t purpose) {
  return std::ranges::all_of(shown, [&](std::size_t p) { return timeline.points[p].bytes[purpose] == 0; });
}

/// Painted from the top one down, each over those behind it.
std::string areas(const Timeline& timeline, const std::vector<std::size_t>& shown, const Axis& axis) {
  std::string out;
  for (std::size_t layer = kOrder.size(); layer-- > 0;) {
    const std::size_t purpose = index(kOrder[layer]);
    if (never(timeline, shown, purpose)) continue;
    out += fmt::format("<path class=\"{}\" d=\"{}\"/>\n", kClasses[purpose],
                       outline(timeline, shown, layer, axis));
  }
  return out;
}

std::string rules(const Axis& axis) {
  std::string out;
  const double step = axis.step();
  for (double bytes = 0; bytes <= axis.top; bytes += step)
    out += fmt::format("<line class=\"rule\" x1=\"{}\" x2=\"{}\" y1=\"{:.1f}\" y2=\"{:.1f}\"/>\n", kLeft,
                       kRight, axis.y(bytes), axis.y(bytes));
  return out;
}

/// Over the areas: where the page is narrow they stand within the plot.
std::string marks(const Axis& axis) {
  std::string out;
  const double step = axis.step();
  for (double bytes = 0; bytes <= axis.top; bytes += step)
    out += fmt::format("<text class=\"mark\" x=\"{}\" y=\"{:.1f}\">{}</text>\n", kLeft - 8, axis.y(bytes) + 4,
                       text(Bytes::rounded(bytes)));
  return out;
}

std::string phase_marks(const Timeline& timeline) {
  constexpr double kRoomForLabel = 60;
  std::string out;
  const std::vector<Phases> all = phases(timeline);
  const auto points = static_cast<double>(timeline.points.size());
  const auto x = [&](std::size_t point) {
    return kLeft + static_cast<double>(point) / points * (kRight - kLeft);
  };
  for (std::size_t i = 0; i < all.size(); ++i) {
    const double begin = x(all[i].begin), end = i + 1 < all.size() ? x(all[i + 1].begin) : kRight;
    if (i > 0)
      out += fmt::format("<line class=\"phase\" x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1}\" y2=\"{2}\"/>", begin,
                         kTop, kBottom + 18);
    if (end - begin >= kRoomForLabel || all.size() < 5)
      out += fmt::format("<text class=\"phase\" x=\"{:.1f}\" y=\"{}\">{}</text>\n", (begin + end) / 2,
                         kBottom + 16, name(all[i].phase));
  }
  return out;
}

std::string device_line(const Axis& axis, Bytes capacity, std::int64_t peak) {
  if (axis.shows_capacity) {
    const double y = axis.y(static_cast<double>(capacity.count()));
    return fmt::format(
        "<line class=\"device\" x1=\"{}\" x2=\"{}\" y1=\"{:.1f}\" y2=\"{:.1f}\"/><text class=\"device\" "
        "x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\">the device has {}</text>\n",
        kLeft, kRight, y, y, kRight, y - 6, text(capacity));
  }
  const double times =
      static_cast<double>(capacity.count()) / static_cast<double>(std::max<std::int64_t>(peak, 1));
  return fmt::format(
      "<text class=\"device\" x=\"{}\" y=\"{}\" text-anchor=\"end\">↑ the device has {}, {:.{}f} times the "
      "peak</text>\n",
      kRight, kTop - 10, text(capacity), times, times < 10 ? 1 : 0);
}

std::string chart(const Timeline& timeline, const std::vector<std::size_t>& shown, std::int64_t peak,
                  std::optional<Bytes> capacity) {
  const Axis axis(peak, capacity);
  std::string out = fmt::format(
      "<svg id=\"chart\" viewBox=\"0 0 {} {}\" tabindex=\"0\" role=\"img\" aria-label=\"Memory over the "
      "events of one "
      "iteration; the arrow keys move the cursor\">\n{}",
      kWidth, kHeight, rules(axis));
  out += fmt::format(
      "<svg id=\"areas\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" viewBox=\"0 0 {} {}\" "
      "preserveAspectRatio=\"none\">\n<rect id=\"plot\" width=\"{}\" height=\"{}\" fill=\"none\" "
      "pointer-events=\"all\"/>\n{}<line id=\"cursor\" y1=\"0\" y2=\"{}\"/></svg>\n",
      kLeft, kTop, kRight - kLeft, kBottom - kTop, std::max<std::size_t>(shown.size(), 1), kUnits,
      std::max<std::size_t>(shown.size(), 1), kUnits, areas(timeline, shown, axis), kUnits);
  out += marks(axis) + phase_marks(timeline);
  if (capacity) out += device_line(axis, *capacity, peak);
  return out + "</svg>\n";
}

/// Every text once, and its number.
class Texts {
 public:
  std::size_t number(const std::string& text) {
    const auto [it, added] = numbers_.try_emplace(text, list_.size());
    if (added) list_.push_back(printable(text));
    return it->second;
  }
  [[nodiscard]] Json take() { return std::move(list_); }

 private:
  std::unordered_map<std::string, std::size_t> numbers_;
  Json list_ = Json::array();
};

/// Who made it; nobody in the network, where it is there before any operator runs.
std::string maker(const Timeline::Span& span) {
  switch (span.purpose) {
    case Purpose::weight:
    case Purpose::input: return {};
    case Purpose::optimizer:
    case Purpose::temporary: return "the optimizer";
    default: return span.op;
  }
}

Json spans_json(const Timeline& timeline, Texts& texts) {
  std::vector<const Timeline::Span*> order;
  for (const Timeline::Span& span : timeline.spans) order.push_back(&span);
  std::ranges::stable_sort(order, {}, &Timeline::Span::begin);
  std::vector<std::size_t> tensor, op, purpose, begin, length;
  std::vector<std::int64_t> bytes;
  std::size_t last = 0;
  for (const Timeline::Span* span : order) {
    tensor.push_back(texts.number(span->tensor));
    op.push_back(texts.number(maker(*span)));
    purpose.push_back(index(span->purpose));
    bytes.push_back(span->bytes);
    begin.push_back(span->begin - last);
    length.push_back(span->end - span->begin);
    last = span->begin;
  }
  return {{"tensor", tensor}, {"op", op},       {"purpose", purpose},
          {"bytes", bytes},   {"begin", begin}, {"length", length}};
}

std::string data(const Timeline& timeline, const std::vector<std::size_t>& shown, std::size_t peak_column) {
  Texts texts;
  Json out = {{"spans", spans_json(timeline, texts)}, {"texts", texts.take()}, {"keys", kClasses}};
  for (std::size_t i = 0; i < program::kPurposes; ++i)
    out["purposes"].push_back(name(static_cast<Purpose>(i)));
  out["phases"] = Json::array();
  for (const Phases& p : phases(timeline))
    out["phases"].push_back({name(p.phase), timeline.points[p.begin].event});
  out["columns"] = Json::array();
  for (const std::size_t point : shown) out["columns"].push_back(timeline.points[point].event);
  out["peak"] = peak_column;
  return script_json(out);
}

std::string legend(const Timeline& timeline, const std::vector<std::size_t>& shown, std::size_t peak_column) {
  std::string out =
      "<table><caption>By purpose</caption><thead><tr><th>For</th><th class=\"number\">At the peak</th><th "
      "class=\"number\">At the cursor</th></tr></thead><tbody>\n";
  for (std::size_t layer = kOrder.size(); layer-- > 0;) {
    const std::size_t purpose = index(kOrder[layer]);
    if (never(timeline, shown, purpose)) continue;
    const std::int64_t bytes = shown.empty() ? 0 : timeline.points[shown[peak_column]].bytes[purpose];
    out += fmt::format(
        "<tr><td class=\"purpose\"><span class=\"key {}\"></span>{}</td><td class=\"number\">{}</td><td "
        "class=\"number\" "
        "data-purpose=\"{}\"></td></tr>\n",
        kClasses[purpose], name(kOrder[layer]), text(Bytes(bytes)), purpose);
  }
  return out + "</tbody></table>\n";
}

}  // namespace

std::string timeline_page(const Timeline& timeline, std::string_view title, std::optional<Bytes> capacity) {
  const std::vector<std::size_t> shown = columns(timeline);
  const auto height = [&](std::size_t point) { return total(timeline.points[point]); };
  const std::size_t peak_column =
      static_cast<std::size_t>(std::ranges::max_element(shown, {}, height) - shown.begin()) %
      std::max<std::size_t>(shown.size(), 1);
  const std::int64_t peak = shown.empty() ? 0 : height(shown[peak_column]);
  std::string out = page_head(fmt::format("{}: memory", title), "timeline.css");
  out += fmt::format(
      "<h1>{}</h1>\n<p>Memory allocated over the {} allocations and frees of one iteration; at most "
      "{}.</p>\n",
      escape_html(title), timeline.points.size(), text(Bytes(peak)));
  out += chart(timeline, shown, peak, capacity);
  out += "<main>\n" + legend(timeline, shown, peak_column);
  out +=
      "<table class=\"tensors\"><caption id=\"where\" aria-live=\"polite\">Scripts are off: the tensors "
      "cannot be "
      "shown.</caption>"
      "<thead><tr><th>Largest tensors</th><th class=\"purpose\">For</th><th>Made by</th><th "
      "class=\"number\">Bytes</th></tr></thead>"
      "<tbody id=\"tensors\"></tbody></table>\n</main>\n";
  out += fmt::format("<script type=\"application/json\" id=\"data\">{}</script>\n",
                     data(timeline, shown, peak_column));
  out += fmt::format("<script>\n{}</script>\n</body>\n</html>\n", page_part("timeline.js"));
  return out;
}

}  // namespace plimsoll::report
