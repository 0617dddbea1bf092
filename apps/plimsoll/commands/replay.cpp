#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <zlib.h>

#include "base/printable.hpp"
#include "base/text.hpp"
#include "command.hpp"
#include "estimate/figures.hpp"
#include "estimate/memory/trace.hpp"
#include "json_output.hpp"
#include "report/figure_writing.hpp"
#include "report/paragraph.hpp"

namespace plimsoll {
namespace {

struct ReplayOptions {
  std::string trace;
  bool expandable = false;
  std::int64_t max_split_mib = 0;
  double capacity_gib = 0;
  bool json = false;
};

/// Of a run of the allocator, simulated or real.
std::vector<Figure> peaks(std::optional<std::int64_t> allocated, std::optional<std::int64_t> reserved) {
  const auto bytes = [](std::optional<std::int64_t> count) {
    return count ? std::optional(Bytes(*count)) : std::nullopt;
  };
  return {estimate::memory_figure("peak allocated", bytes(allocated)),
          estimate::memory_figure("peak reserved", bytes(reserved))};
}

constexpr std::size_t kLargestTrace = std::size_t{128} << 20;

/// A file as it is, or uncompressed where gzip made it.
Result<std::string> read_compressed(const std::string& path) {
  const std::unique_ptr<gzFile_s, int (*)(gzFile)> file(gzopen(path.c_str(), "rb"), gzclose);
  if (!file) return std::unexpected(Error{"there is no such file, or you may not read it", path});
  std::string out;
  std::string chunk(1 << 20, '\0');
  for (;;) {
    const int got = gzread(file.get(), chunk.data(), static_cast<unsigned>(chunk.size()));
    if (got < 0) return std::unexpected(Error{"the file is damaged", path});
    if (got == 0) break;
    out.append(chunk, 0, static_cast<std::size_t>(got));
    if (out.size() > kLargestTrace)
      return std::unexpected(Error{
          fmt::format("the trace is larger than {}", text(Bytes(static_cast<std::int64_t>(kLargestTrace)))),
          path, "Record fewer steps."});
  }
  return out;
}

Result<int> run(const ReplayOptions& options, const report::TextStyle& style) {
  const Result<std::string> contents = read_compressed(options.trace);
  if (!contents) return std::unexpected(contents.error());
  Result<estimate::AllocationTrace> trace = estimate::read_trace(*contents);
  if (!trace) {
    Error error = std::move(trace).error().within(options.trace);
    error.hint =
        "`with plimsoll_torch.record_memory(FILE):` around a run, or `python -m plimsoll_torch.memory "
        "SNAPSHOT -o FILE`, writes one.";
    return std::unexpected(std::move(error));
  }
  estimate::AllocatorSettings settings = settings_of(*trace);
  const estimate::TraceReplay as_recorded = replay(*trace, settings);
  const bool asked = options.expandable || options.max_split_mib > 0 || options.capacity_gib > 0;
  if (options.expandable) settings.options.expandable_segments = true;
  if (options.max_split_mib > 0) settings.options.max_split_size = options.max_split_mib << 20;
  if (options.capacity_gib > 0) settings.capacity = static_cast<std::int64_t>(options.capacity_gib * 0x1p30);
  const estimate::TraceReplay result = asked ? replay(*trace, settings) : as_recorded;

  if (options.json) {
    nlohmann::ordered_json out;
    out["trace"] = options.trace;
    out["events"] = trace->events.size();
    for (const Figure& figure : peaks(result.peak_allocated, result.peak_reserved))
      report::add_value(out, figure);
    out["fits"] = !result.failed;
    out["failed_at_event"] =
        result.failed ? nlohmann::ordered_json(*result.failed) : nlohmann::ordered_json();
    out["unmatched_frees"] = result.unmatched_frees;
    for (const Figure& figure : peaks(trace->peak_allocated, trace->peak_reserved))
      report::add_value(out["measured"], figure);
    print_json(out);
    return result.failed ? 1 : 0;
  }
  const auto say = [&](const std::string& sentence) {
    fmt::print("{}", report::wrap(sentence, report::text_width(style), "  "));
  };
  std::string head =
      fmt::format("{}: {} allocations and frees", printable(options.trace), trace->events.size());
  if (!trace->device.empty())
    head += fmt::format(" on {}, PyTorch {}", printable(trace->device), printable(trace->torch));
  fmt::print("{}", report::paragraph(head, style));
  for (const Figure& figure : peaks(result.peak_allocated, result.peak_reserved))
    fmt::print("  {:<20}{:>10}  {:.0f} B\n", figure.name, report::value_text(figure), *figure.value);
  if (trace->peak_allocated && !asked) {
    const bool same = *trace->peak_allocated == result.peak_allocated &&
                      trace->peak_reserved.value_or(-1) == result.peak_reserved;
    say(fmt::format("PyTorch measured {} B allocated, {} B reserved: {}", *trace->peak_allocated,
                    trace->peak_reserved.value_or(0), same ? "the same to the byte" : "not the same"));
  }
  if (asked)
    say(fmt::format("as recorded: {} allocated, {} reserved", text(Bytes(as_recorded.peak_allocated)),
                    text(Bytes(as_recorded.peak_reserved))));
  if (trace->reserved_before > 0)
    say(fmt::format("{} were reserved before the recording began; the replay starts from nothing",
                    text(Bytes(trace->reserved_before))));
  if (result.unmatched_frees > 0)
    say(fmt::format("{} frees are of memory that was allocated before the recording began",
                    result.unmatched_frees));
  if (options.capacity_gib > 0 || result.failed)
    say(result.failed
            ? fmt::format("does not fit: out of memory at event {} of {}; the peaks are those up to there",
                          *result.failed, trace->events.size())
            : std::string("fits, beside the CUDA context, which comes on top"));
  return result.failed ? 1 : 0;
}

}  // namespace

void add_replay(CommandLine& app, Invocation& invocation) {
  auto options = std::make_shared<ReplayOptions>();
  CommandLine* command = app.add_subcommand(
      "replay", "Replay real allocations of PyTorch under other settings of its allocator");
  command
      ->add_option("trace", options->trace,
                   "The JSON file that plimsoll_torch.record_memory wrote, or its .gz")
      ->required()
      ->option_text("TRACE");
  command->add_flag("--expandable-segments", options->expandable,
                    "As with PyTorch's expandable_segments:True");
  command->add_option("--max-split-size", options->max_split_mib, "As with PyTorch's max_split_size_mb:MIB")
      ->in_range(std::int64_t{21}, std::int64_t{1} << 30)
      ->option_text("MIB");
  command
      ->add_option("--capacity", options->capacity_gib,
                   "Would the run have succeeded with this much memory for the allocator?")
      ->in_range(1e-3, 1e6)
      ->option_text("GIB");
  command->add_flag("--json", options->json, "Print one JSON document");
  command->footer(
      "Examples:\n"
      "  plimsoll replay trace.json.gz\n"
      "  plimsoll replay trace.json --capacity 24 --expandable-segments\n"
      "Exit code 1: the run would have run out of memory.");
  command->callback([options, &invocation] {
    invocation.run = [options, &invocation] { return run(*options, output_style(invocation)); };
  });
}

}  // namespace plimsoll
