#include "report/swap_report.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/printable.hpp"
#include "base/text.hpp"
#include "report/paragraph.hpp"

namespace plimsoll::report {
namespace {

using enum Importance;

std::string share_cell(double share) {
  return fmt::format("{:.1f} %", 100 * share);
}

std::string seconds_cell(const std::optional<Seconds>& seconds) {
  return seconds ? text(*seconds) : "–";
}

std::string heading(const SwapReport& report, const TextStyle& style) {
  std::string out = bold(fmt::format("{} models in {} on {}", report.models.size(), text(report.memory),
                                     printable(report.device)),
                         style) +
                    "\n\n";
  out += hanging("Memory   ",
                 fmt::format("{} for weights in blocks of {}, {} for activations", text(report.for_weights),
                             text(report.block), text(report.activations)),
                 style);
  out += hanging("Weights  ",
                 report.together ? fmt::format("{}; {} where what is shared is held once",
                                               text(report.separate), text(*report.together))
                                 : text(report.separate),
                 style);
  if (report.estimated)
    out += hanging("Copies   ",
                   fmt::format("{} and {} each ({}: {})", text(report.link.bandwidth),
                               text(report.link.latency), name(report.link.provenance), report.link.source),
                   style);
  out += hanging(
      "Frames   ",
      fmt::format("{}, {}{}; {}", report.frames, printable(report.pattern),
                  report.seed ? fmt::format(", seed {}", *report.seed) : "",
                  report.drops_late ? "what would be late is dropped" : "what is late runs all the same"),
      style);
  std::string order;
  for (const std::size_t model : report.order.order)
    order += (order.empty() ? "" : ", ") + printable(report.models[model].name, 40);
  if (report.order.blocks < report.given.blocks)
    order += fmt::format(": adds {} a round where as given it adds {}",
                         text(report.block * report.order.blocks), text(report.block * report.given.blocks));
  return out + hanging("Order    ", order, style) + "\n";
}

/// Of its weights, what was there already when it ran, in the mean under the best policy.
std::string stays_cell(const SwapReport& report, std::size_t model) {
  if (!report.best) return "–";
  const swapping::FramesMet& of = report.rows[*report.best].of.models[model];
  const Bytes needed = report.models[model].weights * static_cast<std::int64_t>(of.ran);
  if (needed <= Bytes()) return "–";
  return fmt::format("{:.0f} %", 100 * std::max(0.0, 1 - report.block * of.blocks / needed));
}

std::string models_table(const SwapReport& report, const TextStyle& style) {
  Table table{{{"Model", Align::left, true, always},
               {"Weights", Align::right, false, always},
               {"Shared", Align::right, false, telling},
               {"Stays", Align::right, false, telling},
               {"Layers", Align::right, false, detail},
               {"Computes", Align::right, false, telling},
               {"Copied in", Align::right, false, telling},
               {"Frames/s", Align::right},
               {"Limit", Align::right}},
              {}};
  for (std::size_t i = 0; i < report.models.size(); ++i) {
    const SwapReport::ModelRow& model = report.models[i];
    table.rows.push_back({printable(model.name, 60), text(model.weights), text(model.shared),
                          stays_cell(report, i), fmt::format("{}", model.layers),
                          report.estimated ? text(model.seconds) : "–",
                          report.estimated ? text(model.weights / report.link.bandwidth) : "–",
                          model.rate > 0 ? fmt::format("{:.4g}", model.rate) : "–", text(model.limit)});
  }
  return to_text(table, style);
}

std::string rows_table(const SwapReport& report, const TextStyle& style) {
  if (!report.estimated) return "";
  Table table{{{"Policy", Align::left, false, always},
               {"Weights", Align::left, false, telling},
               {"Frames met", Align::right, false, always},
               {"Of all", Align::right, false, telling},
               {"Moved", Align::right, false, always},
               {"p50", Align::right, false, telling},
               {"p99", Align::right, false, telling},
               {"Link busy", Align::right},
               {"Computing", Align::right},
               {"Accuracy lost", Align::right}},
              {}};
  for (const SwapReport::Row& row : report.rows) {
    const char* const held = !report.together ? "" : row.merged ? "merged" : "their own";
    if (row.needs) {
      table.rows.push_back(
          {row.policy, held, fmt::format("needs {}", text(*row.needs)), "–", "–", "–", "–", "–", "–", "–"});
      continue;
    }
    const swapping::FramesMet& all = row.of.all;
    table.rows.push_back(
        {row.policy, held, fmt::format("{}", all.met),
         share_cell(static_cast<double>(all.met) / static_cast<double>(std::max<std::size_t>(1, all.frames))),
         text(row.of.moved), seconds_cell(row.of.median), seconds_cell(row.of.late),
         share_cell(row.of.copying), share_cell(row.of.computing),
         row.of.accuracy_lost ? fmt::format("{:.1f} points", 100 * *row.of.accuracy_lost) : "–"});
  }
  return to_text(table, style);
}

std::string after(Seconds moment, Seconds begin) {
  const Seconds since = moment - begin;
  return since < Seconds() ? "-" + text(Seconds() - since) : text(since);
}

std::string round_table(const SwapReport& report, const TextStyle& style) {
  if (report.round.empty()) return "";
  const SwapReport::Row& best = report.rows[*report.best];
  Table table{{{"Model", Align::left, true, always},
               {"Frame", Align::right, false, telling},
               {"Moved", Align::right, false, always},
               {"Copied from", Align::right, false, telling},
               {"to", Align::right, false, telling},
               {"Computes from", Align::right, false, telling},
               {"to", Align::right, false, telling},
               {"Gives way", Align::left, false, ordinary, true}},
              {}};
  const Seconds begin = report.round.front().arrival;
  for (const SwapReport::RoundRun& run : report.round) {
    std::string gone;
    for (const SwapReport::RoundRun::Gone& of : run.gone)
      gone += fmt::format("{}{} {}", gone.empty() ? "" : ", ", printable(of.model, 40), text(of.bytes));
    table.rows.push_back({printable(run.model, 60), after(run.arrival, begin), text(run.moved),
                          run.copies ? after(run.copies->begin, begin) : "–",
                          run.copies ? after(run.copies->end, begin) : "–", after(run.begin, begin),
                          after(run.finish, begin), gone.empty() ? "–" : gone});
  }
  return fmt::format(
      "\n{}\n{}",
      bold(fmt::format("From the middle, {}{}", best.policy, best.merged ? ", merged" : ""), style),
      to_text(table, style));
}

}  // namespace

std::string swap_text(const SwapReport& report, const TextStyle& style) {
  std::string out =
      heading(report, style) + models_table(report, style) + "\n" + rows_table(report, style) + "\n";
  if (!report.estimated)
    out += paragraph(
        "Too little is known of this device to simulate before it runs: `plimsoll probe --calibrate` "
        "measures it.",
        style);
  for (const std::string& finding : swap_findings(report)) out += paragraph(finding, style);
  if (report.best)
    out += paragraph(fmt::format("Stays: of a model's weights, what is there already when it runs, under {}.",
                                 report.rows[*report.best].policy),
                     style);
  if (std::ranges::any_of(report.rows, [](const SwapReport::Row& row) { return row.told_ahead; }))
    out += paragraph("Belady's rules are told the requests in advance.", style);
  return out + round_table(report, style) + swap_runs_text(report, style);
}

}  // namespace plimsoll::report
