#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "base/printable.hpp"
#include "base/text.hpp"
#include "report/html.hpp"
#include "report/merge_report.hpp"
#include "report/paragraph.hpp"

namespace plimsoll::report {
namespace {

using plan::merge::Group;
using plan::merge::Layer;
using plan::merge::Model;
using plan::merge::Place;

constexpr double kModelWidth = 200, kModelGap = 70, kPictureTop = 46, kTallestBar = 14, kUsualPicture = 640,
                 kLeastBar = 3;
constexpr std::size_t kMostBars = 2'000;  // of a model that are drawn, the heaviest
constexpr std::size_t kMostGroupRows = 200;
constexpr int kGroupTones = 8;

/// Where each layer stands in the picture.
class MergePicture {
 public:
  explicit MergePicture(const MergeReport& report) : report_(report) {
    std::size_t most = 1;
    for (const Model& model : report.models) {
      rows_.push_back(drawn(model));
      most = std::max(most, rows_.back().size());
      for (const Layer& layer : model.layers) widest_ = std::max(widest_, layer.bytes);
    }
    pitch_ = std::clamp(kUsualPicture / static_cast<double>(most), kLeastBar, kTallestBar);
    height_ = kPictureTop + pitch_ * static_cast<double>(most) + 4;
    width_ = static_cast<double>(report.models.size()) * (kModelWidth + kModelGap) - kModelGap;
  }

  std::string svg() const {
    std::string out = fmt::format(
        "<svg width=\"{0:.0f}\" height=\"{1:.0f}\" viewBox=\"0 0 {0:.0f} {1:.0f}\" role=\"img\">\n", width_,
        height_);
    for (std::size_t m = 0; m < report_.models.size(); ++m) out += column(m);
    int tone = 0;
    for (const Group& group : report_.plan.chosen) out += joined(group, tone++ % kGroupTones);
    return out + "</svg>\n";
  }

 private:
  using Rows = std::map<std::size_t, std::size_t>;  // of a layer: which row
  static Rows drawn(const Model& model) {
    std::vector<std::size_t> layers(model.layers.size());
    for (std::size_t i = 0; i < layers.size(); ++i) layers[i] = i;
    if (layers.size() > kMostBars) {
      std::ranges::stable_sort(layers, std::ranges::greater{},
                               [&](std::size_t i) { return model.layers[i].bytes; });
      layers.resize(kMostBars);
      std::ranges::sort(layers);
    }
    Rows out;
    for (const std::size_t i : layers) out.emplace(i, out.size());
    return out;
  }
  [[nodiscard]] double left(std::size_t model) const {
    return static_cast<double>(model) * (kModelWidth + kModelGap);
  }
  [[nodiscard]] double top(std::size_t row) const { return kPictureTop + pitch_ * static_cast<double>(row); }
  [[nodiscard]] double width(const Layer& layer) const {
    return widest_.count() == 0 ? 1 : std::max(1.0, kModelWidth * (layer.bytes / widest_));
  }
  [[nodiscard]] const Layer& layer(const Place& place) const {
    return report_.models[place.model].layers[place.layer];
  }
  [[nodiscard]] bool is_drawn(const Place& place) const { return rows_[place.model].contains(place.layer); }

  [[nodiscard]] std::string bar(const Place& place) const {
    const Layer& what = layer(place);
    return fmt::format(
        "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\"><title>{}: {}, "
        "{}</title></rect>\n",
        left(place.model), top(rows_[place.model].at(place.layer)), width(what), std::max(pitch_ - 1, 1.0),
        escape_html(printable(what.name, 200)), escape_html(printable(what.definition, 200)),
        text(what.bytes));
  }

  [[nodiscard]] std::string column(std::size_t m) const {
    const Model& model = report_.models[m];
    std::string out = fmt::format(
        "<text x=\"{0:.0f}\" y=\"14\">{1}</text><text class=\"size\" x=\"{0:.0f}\" y=\"32\">{2}</text>\n",
        left(m), escape_html(shortened(printable(short_path(model.name)), 28)), text(model.bytes));
    for (const auto& [index, row] : rows_[m]) out += bar({m, index});
    return out;
  }

  /// The bars once more, in the group's colour, and a line from each to the next.
  [[nodiscard]] std::string joined(const Group& group, int tone) const {
    std::string bars, lines;
    const Place* before = nullptr;
    for (const Place& place : group.members) {
      if (!is_drawn(place)) continue;
      bars += bar(place);
      if (before != nullptr) lines += line(*before, place);
      before = &place;
    }
    return fmt::format("<g class=\"shared tone-{}\"><title>{}: {} copies, {} saved</title>\n{}{}</g>\n", tone,
                       escape_html(printable(group.definition, 200)), group.members.size(),
                       text(group.saves()), lines, bars);
  }
  [[nodiscard]] std::string line(const Place& from, const Place& to) const {
    const double x = left(from.model) + width(layer(from)),
                 y = top(rows_[from.model].at(from.layer)) + pitch_ / 2;
    const double end = left(to.model), end_y = top(rows_[to.model].at(to.layer)) + pitch_ / 2;
    const double middle = (x + end) / 2;
    return fmt::format("<path d=\"M{:.1f} {:.1f}C{:.1f} {:.1f} {:.1f} {:.1f} {:.1f} {:.1f}\"/>\n", x, y,
                       middle, y, middle, end_y, end, end_y);
  }

  const MergeReport& report_;
  std::vector<Rows> rows_;
  Bytes widest_;
  double pitch_ = kTallestBar, height_ = 0, width_ = 0;
};

}  // namespace

std::string merge_page(const MergeReport& report) {
  const std::string title = merge_title(report);
  std::string out = page_head(title + " – Plimsoll", "run.css");
  out +=
      fmt::format("<style>\n{}</style>\n<header><h1>{}</h1>\n", page_part("merge.css"), escape_html(title));
  out += fmt::format(
      "<p class=\"note\">Each bar is a layer, as wide as its bytes; layers of one colour that are joined "
      "have one set of "
      "weights. Ceiling {:.1f} %, common stem alone {:.1f} %.</p></header>\n",
      100 * report.plan.ceiling.share(), 100 * report.plan.stem.share());
  out += fmt::format("<main>\n<div class=\"merge\">\n{}</div>\n", MergePicture(report).svg());
  if (!report.plan.chosen.empty())
    out += fmt::format("<section>\n<h2>Shared layers</h2>\n{}</section>\n",
                       table_html(merge_table(report, kMostGroupRows)));
  out += "</main>\n<footer>\n";
  for (const std::string& note : report.notes)
    out += fmt::format("<p class=\"note\">{}</p>\n", escape_html(printable(note)));
  return out + "</footer>\n</body>\n</html>\n";
}

}  // namespace plimsoll::report
