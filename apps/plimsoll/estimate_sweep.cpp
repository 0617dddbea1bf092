#include "estimate_sweep.hpp"

#include <algorithm>
#include <thread>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/files.hpp"
#include "base/printable.hpp"
#include "estimate/batch_list.hpp"
#include "estimate/sweep.hpp"
#include "json_output.hpp"
#include "report/sweep_report.hpp"

namespace plimsoll {
namespace {

Result<std::vector<std::int64_t>> batches_of(const std::string& what) {
  constexpr std::string_view kBatch = "batch=";
  if (!what.starts_with(kBatch))
    return std::unexpected(
        Error{.message = fmt::format("\"{}\" cannot be swept", printable(what, 80)),
              .where = "--sweep",
              .hint = "Only the batch can be swept, as in --sweep batch=1..256 or batch=1..256x2."});
  Result<std::vector<std::int64_t>> batches =
      estimate::parse_batches(std::string_view(what).substr(kBatch.size()));
  if (!batches) return std::unexpected(std::move(batches).error().within("--sweep"));
  return batches;
}

std::vector<std::string> assumed(const network::Shapes& shapes) {
  std::vector<std::string> notes;
  for (const network::BoundSymbol& s : shapes.bound())
    if (s.assumed) notes.push_back(fmt::format("{} was not given; {} is assumed", s.name, s.value));
  return notes;
}

Status add_largest(const Batches& batches, const network::Setting& setting,
                   std::span<const EstimateTarget> targets, report::SweepReport& report) {
  for (std::size_t i = 0; i < targets.size(); ++i) {
    if (!hardware::capacity(targets[i].device())) continue;
    Result<estimate::LargestBatch> largest = estimate::largest_batch(
        batches.network(), [&](std::int64_t n) { return batches.shapes(n); }, setting, targets[i].place());
    PLIMSOLL_TRY(largest);
    report.rows[i].largest = *largest;
  }
  return {};
}

Result<report::SweepReport> make_report(const SweepOptions& options, const Batches& batches,
                                        const network::Setting& setting,
                                        std::span<const EstimateTarget> targets, const std::string& model) {
  Result<std::vector<std::int64_t>> asked = batches_of(options.what);
  PLIMSOLL_TRY(asked);
  std::vector<estimate::Target> places;
  for (const EstimateTarget& target : targets) places.push_back(target.place());
  const auto shapes = [&](std::int64_t batch) { return batches.shapes(batch); };
  Result<std::vector<estimate::SweptDevice>> swept = estimate::sweep(
      batches.network(), shapes, *asked, setting, places, std::max(std::thread::hardware_concurrency(), 1U));
  if (!swept) return std::unexpected(std::move(swept).error().within(model));
  const Result<network::Shapes> first = batches.shapes(asked->front());
  PLIMSOLL_TRY(first);
  report::SweepReport report{.model = batches.label(),
                             .setting = setting,
                             .batches = *std::move(asked),
                             .rows = {},
                             .notes = assumed(*first)};
  for (std::size_t i = 0; i < targets.size(); ++i)
    report.rows.push_back({&targets[i].device(), targets[i].is_calibrated(), std::move((*swept)[i])});
  return report;
}

}  // namespace

void SweepOptions::add_to(CommandLine& command) {
  CommandLineOption* sweep =
      command
          .add_option("--sweep", what,
                      "Estimate many batches at once: batch=1..256, or batch=1..256x2 for 1, 2, 4 … 256")
          ->option_text("batch=RANGE");
  for (const char* of_one : {"--batch", "--advice", "--timeline", "--layers", "--kernels", "--kernel-page"})
    sweep->excludes(command.get_option(of_one));
  command.add_option("--html", html, "Write a page with latency and throughput against batch; with --sweep")
      ->option_text("FILE")
      ->needs(sweep);
  command.add_option("--svg", svg, "Write the charts alone; with --sweep")->option_text("FILE")->needs(sweep);
}

Result<int> run_sweep(const SweepOptions& options, const Batches& batches, const network::Setting& setting,
                      std::span<const EstimateTarget> targets, const std::string& model,
                      const SweepOutput& output) {
  Result<report::SweepReport> report = make_report(options, batches, setting, targets, model);
  PLIMSOLL_TRY(report);
  if (output.max_batch) PLIMSOLL_TRY(add_largest(batches, setting, targets, *report));
  if (!options.html.empty()) PLIMSOLL_TRY(write_file(options.html, report::sweep_page(*report)));
  if (!options.svg.empty())
    PLIMSOLL_TRY(write_file(options.svg, report::to_svg(report::sweep_charts(*report))));
  if (output.json)
    print_json(report::sweep_json(*report));
  else
    fmt::print("{}", report::sweep_text(*report, output.style));
  const bool nowhere = std::ranges::all_of(report->rows, [](const report::SweepRow& row) {
    return std::ranges::all_of(row.swept.points,
                               [](const auto& point) { return !point.fits.value_or(true); });
  });
  return nowhere ? 1 : 0;
}

}  // namespace plimsoll
