#include "report/advice_report.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/printable.hpp"
#include "hardware/catalogue.hpp"
#include "report/html.hpp"
#include "report/paragraph.hpp"

namespace plimsoll::report {
namespace {

using diagnose::Improvement;
using Json = nlohmann::ordered_json;

std::string gain_words(const Improvement& one) {
  if (!one.gain) return "gain not known";
  std::string out = fmt::format("{:.2f} times as {}", *one.gain, one.of_gpu ? "much of the GPU" : "fast");
  if (one.low && one.high) out += fmt::format(" ({:.2f} to {:.2f})", *one.low, *one.high);
  return out;
}

Json or_null(const std::optional<double>& value) {
  return value ? Json(*value) : Json();
}

}  // namespace

diagnose::GpuRatios gpu_ratios(const diagnose::RunFigures& figures) {
  const auto& catalogue = hardware::built_in_catalogue();
  if (!catalogue || figures.gpus.empty()) return {};
  const hardware::Device* device = catalogue->reported_as(figures.gpus.front().name);
  if (device == nullptr) return {};
  const auto single = hardware::peak_rate(*device, hardware::Arithmetic::fp32);
  const auto half = hardware::peak_rate(*device, hardware::Arithmetic::bf16);
  if (!single || !half || !(single->value() > 0)) return {};
  return {.half_over_single = *half / *single};
}

std::string advice_text(std::span<const Improvement> improvements, const TextStyle& style) {
  if (improvements.empty())
    return paragraph("Nothing that was sampled says how it could be made faster by its setting.", style);
  std::string out;
  for (const Improvement& one : improvements)
    out += fmt::format("{} ({}): {}\n", bold(one.title, style), one.id, gain_words(one)) +
           wrap(fmt::format("{}; {}.", one.why, one.rule), text_width(style), "  ");
  return out +
         paragraph(
             "Gains are reckoned from what was sampled, not measured: `plimsoll advise --try` measures.",
             style);
}

std::string advice_html(std::span<const Improvement> improvements) {
  if (improvements.empty()) return "";
  std::string out = "<ul>\n";
  for (const Improvement& one : improvements)
    out += fmt::format("<li><strong>{}</strong>: {}. {}; {}.</li>\n", escape_html(one.title),
                       escape_html(gain_words(one)), escape_html(one.why), escape_html(one.rule));
  return out + "</ul>\n";
}

Json advice_json(std::span<const Improvement> improvements) {
  Json out = Json::array();
  for (const Improvement& one : improvements)
    out.push_back({{"id", one.id},
                   {"title", one.title},
                   {"gain", or_null(one.gain)},
                   {"low", or_null(one.low)},
                   {"high", or_null(one.high)},
                   {"of", one.of_gpu ? "gpu" : "run"},
                   {"why", one.why},
                   {"rule", one.rule}});
  return out;
}

std::string trials_text(std::span<const Trial> trials, const TextStyle& style) {
  std::string out;
  for (const Trial& trial : trials) {
    std::string line =
        fmt::format("{} ({}), run {}: ", trial.id, printable(trial.made, 80), printable(trial.run, 8));
    line += trial.measured ? fmt::format("measured {:.2f} times as fast", *trial.measured) : trial.problem;
    line += trial.predicted ? fmt::format("; reckoned {:.2f}", *trial.predicted) : "; nothing was reckoned";
    out += paragraph(line, style);
  }
  return out;
}

Json trials_json(std::span<const Trial> trials) {
  Json out = Json::array();
  for (const Trial& trial : trials)
    out.push_back({{"id", trial.id},
                   {"run", trial.run},
                   {"change", printable(trial.made)},
                   {"predicted", or_null(trial.predicted)},
                   {"measured", or_null(trial.measured)},
                   {"problem", trial.problem.empty() ? Json() : Json(printable(trial.problem))}});
  return out;
}

}  // namespace plimsoll::report
