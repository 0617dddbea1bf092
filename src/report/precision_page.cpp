#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>

#include <fmt/format.h>

#include "base/printable.hpp"
#include "base/text.hpp"
#include "report/html.hpp"
#include "report/precision_report.hpp"
#include "report/precision_words.hpp"

namespace plimsoll::report {
namespace {

constexpr double kPictureWidth = 640, kPictureHeight = 320, kPictureLeft = 64, kPictureRight = 24,
                 kPictureTop = 24, kPictureBottom = 48;

/// One axis of costs: a logarithm, as forms differ by factors.
struct PictureCost {
  std::string title;
  std::optional<double> (*of)(const PrecisionForm&);
  std::string (*words)(double);
  bool PrecisionForm::* front;
};

const std::array<PictureCost, 3> kPictureCosts = {
    {{"Time of a pass",
      [](const PrecisionForm& f) { return f.seconds ? std::optional(f.seconds->value) : std::nullopt; },
      [](double x) { return text(Seconds(x)); }, &PrecisionForm::front_time},
     {"Size",
      [](const PrecisionForm& f) {
        return f.bytes ? std::optional(static_cast<double>(*f.bytes)) : std::nullopt;
      },
      [](double x) { return text(Bytes(std::llround(x))); }, &PrecisionForm::front_size},
     {"Energy of a pass", [](const PrecisionForm& f) { return f.joules; },
      [](double x) { return text(Joules(x)); }, &PrecisionForm::front_energy}}};

struct PictureDot {
  double x = 0, y = 0;
  const PrecisionForm* form = nullptr;
};

class PrecisionPicture {
 public:
  PrecisionPicture(const PrecisionStudy& study, const PictureCost& cost) : cost_(cost) {
    for (const PrecisionForm& form : study.forms) {
      const auto x = cost.of(form);
      if (!form.missing && x && *x > 0 && form.accuracy) dots_.push_back({*x, form.accuracy->value(), &form});
      if (std::ranges::find(formats_, form.format) == formats_.end()) formats_.push_back(form.format);
    }
    for (const PictureDot& dot : dots_) {
      low_x_ = std::min(low_x_, dot.x);
      high_x_ = std::max(high_x_, dot.x);
      low_y_ = std::min(low_y_, dot.form->accuracy->low);
      high_y_ = std::max(high_y_, dot.form->accuracy->high);
    }
    low_x_ /= 1.25;
    high_x_ *= 1.25;
    const double room = std::max(0.002, (high_y_ - low_y_) * 0.08);
    low_y_ = std::max(0.0, low_y_ - room);
    high_y_ = std::min(1.0, high_y_ + room);
  }

  [[nodiscard]] std::string html() const {
    if (dots_.empty()) return "";
    std::string out = fmt::format(
        "<figure><figcaption>{} against accuracy</figcaption>\n<svg viewBox=\"0 0 {:.0f} {:.0f}\" "
        "role=\"img\" "
        "aria-label=\"{}\">\n",
        escape_html(cost_.title), kPictureWidth, kPictureHeight, escape_html(spoken()));
    out += axes() + front();
    for (const PictureDot& dot : dots_) out += mark(dot);
    return out + labels() + "</svg></figure>\n";
  }

 private:
  [[nodiscard]] double px(double x) const {
    return kPictureLeft +
           (kPictureWidth - kPictureLeft - kPictureRight) * std::log(x / low_x_) / std::log(high_x_ / low_x_);
  }
  [[nodiscard]] double py(double y) const {
    return kPictureTop + (kPictureHeight - kPictureTop - kPictureBottom) * (high_y_ - y) / (high_y_ - low_y_);
  }
  [[nodiscard]] std::size_t colour(const PrecisionForm& form) const {
    return static_cast<std::size_t>(std::ranges::find(formats_, form.format) - formats_.begin()) % 8;
  }

  [[nodiscard]] std::string axes() const {
    std::string out;
    for (int i = 0; i <= 4; ++i) {
      const double share = i / 4.0, y = low_y_ + (high_y_ - low_y_) * share;
      out += fmt::format(
          "<line class=\"grid\" x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"{:.1f}\" y2=\"{:.1f}\"/><text "
          "class=\"tick\" "
          "x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"end\">{:.1f} %</text>\n",
          kPictureLeft, kPictureWidth - kPictureRight, py(y), py(y), kPictureLeft - 6, py(y) + 4, 100 * y);
      const double x = low_x_ * std::pow(high_x_ / low_x_, share);
      out += fmt::format("<text class=\"tick\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n",
                         px(x), kPictureHeight - kPictureBottom + 18,
                         i == 0   ? "start"
                         : i == 4 ? "end"
                                  : "middle",
                         escape_html(cost_.words(x)));
    }
    return out +
           fmt::format("<text class=\"title\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>\n",
                       (kPictureLeft + kPictureWidth - kPictureRight) / 2, kPictureHeight - 8,
                       escape_html(cost_.title));
  }

  /// Steps between the forms that nothing beats.
  [[nodiscard]] std::string front() const {
    std::vector<PictureDot> best;
    for (const PictureDot& dot : dots_)
      if (dot.form->*cost_.front) best.push_back(dot);
    std::ranges::sort(best, {}, &PictureDot::x);
    if (best.empty()) return "";
    std::string path = fmt::format("M{:.1f} {:.1f}", px(best[0].x), py(best[0].y));
    for (std::size_t i = 1; i < best.size(); ++i)
      path += fmt::format("H{:.1f}V{:.1f}", px(best[i].x), py(best[i].y));
    return fmt::format("<path class=\"front\" d=\"{}H{:.1f}\"/>\n", path, kPictureWidth - kPictureRight);
  }

  [[nodiscard]] std::string mark(const PictureDot& dot) const {
    const learn::Share& share = *dot.form->accuracy;
    return fmt::format(
        "<line class=\"whisker\" x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1:.1f}\" y2=\"{2:.1f}\"/><circle "
        "class=\"run-{3}{4}\" cx=\"{0:.1f}\" cy=\"{5:.1f}\" r=\"{6}\"><title>{7}: {8}, "
        "{9}</title></circle>\n",
        px(dot.x), py(share.low), py(share.high), colour(*dot.form), dot.form->*cost_.front ? " best" : "",
        py(dot.y), dot.form->*cost_.front ? 6 : 4, escape_html(form_words(*dot.form)), cost_.words(dot.x),
        percent_words(dot.y));
  }

  /// Beside their dots, one below the other where they would stand on each other.
  [[nodiscard]] std::string labels() const {
    std::vector<PictureDot> sorted = dots_;
    std::ranges::sort(sorted, {}, [&](const PictureDot& d) { return py(d.y); });
    struct Taken {
      double x, y;
    };
    std::vector<Taken> taken;
    std::string out;
    for (const PictureDot& dot : sorted) {
      const std::string words = form_words(*dot.form);
      const double wide = 6.2 * static_cast<double>(display_width(words));
      const bool left = px(dot.x) + 12 + wide > kPictureWidth;
      const double x = left ? px(dot.x) - 10 : px(dot.x) + 10;
      const double begin = left ? x - wide : x;
      double y = py(dot.y) - 8;  // above the line that joins the best
      for (bool moved = true; moved;) {
        moved = false;
        for (const Taken& t : taken)
          if (std::abs(t.x - begin) < wide + 6 && std::abs(t.y - y) < 12) {
            y = t.y + 12;
            moved = true;
          }
      }
      taken.push_back({begin, y});
      out += fmt::format("<text class=\"label\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", x,
                         y, left ? "end" : "start", escape_html(words));
    }
    return out;
  }

  [[nodiscard]] std::string spoken() const {
    std::string out = fmt::format("{} against accuracy", cost_.title);
    for (const PictureDot& dot : dots_)
      out += fmt::format("; {}: {}, {}", form_words(*dot.form), cost_.words(dot.x), percent_words(dot.y));
    return out;
  }

  const PictureCost& cost_;
  std::vector<PictureDot> dots_;
  std::vector<std::string> formats_;
  double low_x_ = std::numeric_limits<double>::infinity(), high_x_ = 0;
  double low_y_ = 1, high_y_ = 0;
};

Table precision_layers_table(const PrecisionStudy& study) {
  Table table{{{"Width", Align::left},
               {"Layer alone in 8 bits", Align::left},
               {"Kind", Align::left},
               {"Parameters", Align::right},
               {"Cross-entropy", Align::right},
               {"Points", Align::right},
               {"Kept", Align::left}},
              {}};
  std::vector<PrecisionLayer> sorted = study.layers;
  std::ranges::stable_sort(sorted, std::greater<>(), [](const PrecisionLayer& l) { return l.loss_rise; });
  for (const PrecisionLayer& layer : sorted)
    table.rows.push_back({layer.depth ? fmt::format("{:g}", *layer.depth) : "", printable(layer.name),
                          layer.kind, count_text(layer.parameters), fmt::format("{:+.4f}", layer.loss_rise),
                          lost_words(layer.lost), layer.kept ? "in fp32" : ""});
  return table;
}

}  // namespace

std::string precision_page(const PrecisionStudy& study) {
  std::string out =
      page_head(fmt::format("{}: what precision costs – Plimsoll", printable(study.model)), "run.css");
  out += fmt::format("<style>\n{}</style>\n", page_part("precision.css"));
  out += fmt::format(
      "<header><h1>{}</h1>\n<p>What number formats cost: {}</p>\n<p class=\"note\">Measured on {}{}, batch "
      "{}; "
      "accuracy on {} examples held out, with 95 % intervals. The line joins the forms that nothing "
      "beats.</p></header>\n<main class=\"precision\">\n",
      escape_html(printable(study.model)), escape_html(printable(study.data)), escape_html(study.device),
      study.processor.empty() ? "" : escape_html(fmt::format(" ({})", printable(study.processor))),
      study.batch, study.held_out);
  for (const PictureCost& cost : kPictureCosts) out += PrecisionPicture(study, cost).html();
  out += table_html(precision_table(study));
  for (const PrecisionForm& form : study.forms)
    if (form.missing)
      out += fmt::format("<p class=\"note\">{}: {}</p>\n", escape_html(form_words(form)),
                         escape_html(printable(*form.missing)));
  for (const std::string& note : study.notes)
    out += fmt::format("<p class=\"note\">{}</p>\n", escape_html(printable(note)));
  if (!study.layers.empty())
    out += "<h2>What each layer costs</h2>\n" + table_html(precision_layers_table(study));
  return out + "</main>\n</body>\n</html>\n";
}

}  // namespace plimsoll::report
