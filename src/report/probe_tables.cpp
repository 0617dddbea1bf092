#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "base/text.hpp"
#include "cuda/study_sizes.hpp"
#include "probe/ceilings.hpp"
#include "report/paragraph.hpp"
#include "report/probe_report.hpp"
#include "report/probe_words.hpp"

namespace plimsoll::report {
namespace {

using probe::MatrixProduct;
using probe::Median;
using probe::Survey;
using probe::SurveyedDevice;
using probe::VectorAdd;

constexpr std::string_view kNone = "–";
constexpr std::string_view kMemory = "memory-", kCopy = "copy-";

std::vector<const SurveyedDevice*> devices_of(const Survey& survey) {
  std::vector<const SurveyedDevice*> out;
  if (survey.cpu) out.push_back(&*survey.cpu);
  if (survey.gpu) out.push_back(&*survey.gpu);
  return out;
}

std::string time_text(const VectorAdd& add, std::string_view part) {
  const probe::Part* const found = probe::part_of(add, part);
  return std::string(found ? text(Seconds(probe::time_of(found->samples).value)) : kNone);
}

std::string rate_text(const std::optional<Median>& value, std::string_view unit) {
  return value ? figure_text(value->value, unit) : std::string(kNone);
}

const probe::Rate* rate_at(const probe::Findings& findings, std::string_view name, double at) {
  const auto found = std::ranges::find_if(
      findings.rates, [&](const probe::Rate& rate) { return rate.name == name && rate.at == at; });
  return found == findings.rates.end() ? nullptr : &*found;
}

/// Measured beside a sum and told with it.
bool is_beside(std::string_view name) {
  return name.starts_with("stream-");
}

}  // namespace

Table vector_add_table(const Survey& survey) {
  using enum Importance;
  Table table{{{"Arrays"},
               {"Workers", Align::left, false, always},
               {"Elements", Align::right, false, telling},
               {"Allocation", Align::right, false, detail},
               {"Copy in", Align::right},
               {"Kernel", Align::right, false, telling},
               {"Copy out", Align::right},
               {"Total", Align::right, false, telling},
               {"Kernel's rate", Align::right},
               {"Result", Align::left, false, telling}},
              {}};
  for (const SurveyedDevice* device : devices_of(survey))
    for (const VectorAdd& add : device->findings.vector_adds)
      table.rows.push_back({std::string(words(add.place)), std::string(words(add.workers)),
                            count_text(add.elements), time_text(add, "allocate"), time_text(add, "copy in"),
                            time_text(add, "kernel"), time_text(add, "copy out"), time_text(add, "total"),
                            rate_text(probe::bandwidth_of(add), "B/s"), add.right ? "right" : "WRONG"});
  return table;
}

std::vector<std::string> vector_add_notes(const Survey& survey) {
  std::vector<std::string> out;
  for (const SurveyedDevice* device : devices_of(survey)) {
    const VectorAdd* largest = nullptr;
    for (const VectorAdd& add : device->findings.vector_adds) {
      const bool all = add.workers == probe::Workers::all_threads ||
                       (add.workers == probe::Workers::many_blocks && add.place == probe::Place::gpu_copies);
      if (all && (largest == nullptr || add.elements > largest->elements)) largest = &add;
    }
    const std::optional<Median> reached = largest ? probe::bandwidth_of(*largest) : std::nullopt;
    if (!reached) continue;
    const bool cpu = largest->place == probe::Place::cpu;
    const double each = sizeof(float) * static_cast<double>(largest->elements);
    const probe::Rate* const beside = cpu ? rate_at(device->findings, "stream-triad", 3 * each)
                                          : rate_at(device->findings, "memory-device-copy", 2 * each);
    std::optional<Median> limit = beside ? probe::value_of(*beside) : std::nullopt;
    if (!cpu && !limit)
      if (const hardware::Ceiling* copy = probe::ceiling_named(device->ceilings, "memory-device-copy"))
        limit = Median{copy->figure.value, copy->spread};
    if (limit && limit->value > 0)
      out.push_back(fmt::format("Of {} elements, {} of the {} add at {}, {} of {} in the same run ({}).",
                                count_text(largest->elements), words(largest->workers), cpu ? "CPU" : "GPU",
                                figure_text(reached->value, "B/s"),
                                percent_text(reached->value / limit->value),
                                cpu ? "a STREAM triad over the same arrays" : "a copy from device to device",
                                figure_text(limit->value, "B/s")));
  }
  return out;
}

Table product_table(const Survey& survey) {
  using enum Importance;
  Table table{{{"Device"},
               {"Method", Align::left, false, always},
               {"Size", Align::right, false, telling},
               {"Time", Align::right, false, telling},
               {"Rate", Align::right, false, telling},
               {"Of the best", Align::right},
               {"Moved", Align::right, false, detail},
               {"FLOP/B", Align::right, false, detail},
               {"Result", Align::left, false, telling}},
              {}};
  for (const SurveyedDevice* device : devices_of(survey)) {
    double best = 0;
    for (const MatrixProduct& p : device->findings.products)
      if (const auto rate = probe::flops_of(p)) best = std::max(best, rate->value);
    if (const hardware::Ceiling* c = probe::ceiling_named(device->ceilings, "product-fp32"))
      best = std::max(best, c->figure.value);
    for (const MatrixProduct& p : device->findings.products) {
      const std::optional<Median> rate = probe::flops_of(p);
      table.rows.push_back(
          {p.gpu ? "GPU" : "CPU", std::string(words(p.method, p.gpu)), fmt::format("{}", p.size),
           rate ? text(Seconds(probe::time_of(p.samples).value)) : std::string(kNone),
           rate_text(rate, "FLOP/s"),
           rate && best > 0 ? percent_text(rate->value / best) : std::string(kNone),
           p.moved_bytes > 0 ? text(Bytes::rounded(p.moved_bytes)) : std::string(kNone),
           p.moved_bytes > 0 ? fmt::format("{:.3g}", cuda::square_product_flops(p.size) / p.moved_bytes)
                             : std::string(kNone),
           p.right ? "right" : "WRONG"});
    }
  }
  return table;
}

Table ceiling_table(const SurveyedDevice& device) {
  Table table{{{"Ceiling"},
               {"Measured", Align::right, false, Importance::always},
               {"±", Align::right, false, Importance::detail},
               {"At", Align::right},
               {"Peak", Align::right},
               {"Of peak", Align::right}},
              {}};
  std::set<std::string_view> said;
  for (const hardware::Ceiling& one : device.ceilings) {
    if (!said.insert(one.name).second) continue;
    const hardware::Ceiling& c = *probe::ceiling_named(device.ceilings, one.name);
    const auto peak = probe::peak_of(device.device, c.name, c.at);
    table.rows.push_back({printable(c.name, 40), figure_text(c.figure.value, printable(c.unit, 20)),
                          c.spread > 0 ? percent_text(c.spread) : std::string(kNone),
                          c.at ? text(Bytes::rounded(*c.at)) : std::string(kNone),
                          peak ? figure_text(*peak, printable(c.unit, 20)) : std::string(kNone),
                          peak ? percent_text(c.figure.value / *peak) : std::string(kNone)});
  }
  return table;
}

Table curve_table(const SurveyedDevice& device, std::string_view prefix) {
  std::vector<std::string> names;
  std::map<double, std::map<std::string, double>> by_size;
  for (const hardware::Ceiling& c : device.ceilings) {
    if (!c.name.starts_with(prefix) || !probe::on_curve(c)) continue;
    if (std::ranges::find(names, c.name) == names.end()) names.push_back(c.name);
    by_size[*c.at].try_emplace(c.name, c.figure.value);
  }
  Table table{{{prefix == kCopy ? "Size" : "Working set", Align::right}}, {}};
  if (by_size.size() < 2) return {};
  for (const std::string& name : names) {
    std::string title = printable(std::string_view(name).substr(prefix.size()), 40);
    std::ranges::replace(title, '-', ' ');
    table.columns.push_back({title, Align::right});
  }
  for (const auto& [size, values] : by_size) {
    std::vector<std::string> row = {text(Bytes::rounded(size))};
    for (const std::string& name : names) {
      const auto found = values.find(name);
      row.push_back(found == values.end() ? std::string(kNone) : figure_text(found->second, "B/s"));
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

std::vector<std::string> survey_notes(const Survey& survey) {
  std::vector<std::string> out;
  for (const SurveyedDevice* device : devices_of(survey))
    for (const std::string& remark : device->findings.remarks) out.push_back(printable(remark, 400));
  if (survey.no_gpu)
    out.push_back(fmt::format("no GPU was studied: {}{}{}", printable(survey.no_gpu->text(), 400),
                              survey.no_gpu->hint.empty() ? "" : ". ", printable(survey.no_gpu->hint, 400)));
  return out;
}

std::vector<std::string> survey_doubts(const Survey& survey) {
  std::vector<std::string> out;
  for (const SurveyedDevice* device : devices_of(survey))
    for (const std::string& doubt : device->doubts) out.push_back(printable(doubt, 400));
  return out;
}

std::string survey_text(const Survey& survey, const TextStyle& style) {
  std::string out;
  const auto heading = [&](std::string_view text) {
    out += fmt::format("{}{}\n", out.empty() ? "" : "\n", bold(text, style));
  };
  const auto lines = [&](const std::vector<std::string>& all, std::string_view before) {
    for (const std::string& line : all) out += wrap(std::string(before) + line, text_width(style), "");
  };
  for (const SurveyedDevice* device : devices_of(survey)) {
    out += paragraph(
        fmt::format("{}: {}{}", device->device.kind == hardware::DeviceKind::gpu ? "GPU" : "CPU",
                    printable(device->device.name, 96),
                    device->setup.empty() ? "" : fmt::format(" ({})", printable(device->setup, 200))),
        style);
  }
  if (const Table table = vector_add_table(survey); !table.rows.empty()) {
    heading("Sum of two arrays of floats");
    out += to_text(table, style);
    lines(vector_add_notes(survey), "");
  }
  if (const Table table = product_table(survey); !table.rows.empty()) {
    heading("Product of two square matrices of floats");
    out += to_text(table, style);
  }
  for (const SurveyedDevice* device : devices_of(survey)) {
    const std::string_view kind = device->device.kind == hardware::DeviceKind::gpu ? "GPU" : "CPU";
    for (const auto& [prefix, title] :
         {std::pair{kMemory, "memory by working set"}, {kCopy, "copies by size"}})
      if (const Table table = curve_table(*device, prefix); !table.rows.empty()) {
        heading(fmt::format("{}: {}", kind, title));
        out += to_text(table, style);
      }
    // After a single study the few rates beside it have been told already.
    const bool ceilings =
        std::ranges::any_of(device->ceilings, [](const hardware::Ceiling& c) { return !is_beside(c.name); });
    if (ceilings) {
      heading(fmt::format("{}: ceilings", kind));
      out += to_text(ceiling_table(*device), style);
    }
  }
  if (const auto notes = survey_notes(survey), doubts = survey_doubts(survey);
      !notes.empty() || !doubts.empty()) {
    out += '\n';
    lines(doubts, "doubtful: ");
    lines(notes, "note: ");
  }
  return out;
}

}  // namespace plimsoll::report
