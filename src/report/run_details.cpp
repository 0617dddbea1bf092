#include <algorithm>

#include <fmt/format.h>

#include "base/text.hpp"
#include "report/paragraph.hpp"
#include "report/run_table.hpp"

namespace plimsoll::report {
namespace {

constexpr std::size_t kLongestValue = 2000;

std::string section(std::string_view title, const Table& table, const TextStyle& style) {
  if (table.rows.empty()) return {};
  return fmt::format("\n{}\n{}", bold(title, style), to_text(table, style));
}

Table text_table(std::string_view heading, const std::map<std::string, std::string>& texts) {
  Table table{
      {{std::string(heading), Align::left, true}, {"Value", Align::left, false, Importance::always, true}},
      {}};
  for (const auto& [name, value] : texts)
    table.rows.push_back({printable(name, kLongestValue), printable(value, kLongestValue)});
  return table;
}

Table metric_table(const store::Run& run) {
  Table table{{{"Metric", Align::left, true},
               {"Latest", Align::right, false, Importance::always},
               {"Step", Align::right},
               {"Points", Align::right},
               {"Source", Align::left, true, Importance::detail}},
              {}};
  for (const auto& [name, metric] : run.metrics)
    table.rows.push_back(
        {printable(name, kLongestValue), metric_text(metric.latest.value, metric.description.unit),
         fmt::format("{}", metric.latest.step), fmt::format("{}", metric.points),
         metric.description.source.empty() ? "-" : printable(metric.description.source, kLongestValue)});
  return table;
}

Table file_table(std::span<const store::File> files) {
  Table table{{{"File", Align::left, true}, {"Size", Align::right}}, {}};
  for (const store::File& file : files)
    table.rows.push_back({printable(file.path, kLongestValue), text(Bytes(file.bytes))});
  return table;
}

std::string facts(const store::Run& run, const TextStyle& style) {
  std::string out;
  const auto line = [&](std::string_view what, std::string_view value) {
    out += hanging(fmt::format("  {:<12}", what), value, style);
  };
  const std::string outcome = run_outcome(run), status = lower_case(store::name(run.status));
  line("experiment", printable(run.experiment, kLongestValue));
  line("outcome", outcome == status ? outcome : fmt::format("{} ({})", outcome, status));
  if (const auto reason = run.tags.find("plimsoll.reason"); reason != run.tags.end()) {
    // Lines of the program's own output, each shown as one.
    std::string_view rest = reason->second;
    for (bool first = true; !rest.empty(); first = false) {
      const std::size_t end = std::min(rest.find('\n'), rest.size());
      line(first ? "reason" : "", printable(rest.substr(0, end), kLongestValue));
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  }
  line("started", local_time_text(run.start));
  if (const std::optional<Seconds> duration = run_duration(run)) line("duration", text(*duration));
  if (const std::optional<Joules> energy = run_energy(run)) line("energy", text(*energy) + " of its GPUs");
  if (run.deleted)
    line("deleted", "yes; `plimsoll runs restore` brings it back, `plimsoll runs purge` removes it");
  return out;
}

}  // namespace

std::string run_details(const store::Run& run, std::span<const store::File> files, const TextStyle& style) {
  std::string out = paragraph(fmt::format("{}{}", bold(printable(run.id), style),
                                          run.name.empty() ? "" : ": " + printable(run.name, kLongestValue)),
                              style) +
                    facts(run, style);
  std::map<std::string, std::string> tags = run.tags;
  tags.erase("plimsoll.outcome");
  tags.erase("plimsoll.reason");
  out += section("Parameters", text_table("Name", run.params), style);
  out += section("Metrics", metric_table(run), style);
  out += section("Tags", text_table("Name", tags), style);
  out += section("Files", file_table(files), style);
  return out;
}

}  // namespace plimsoll::report
