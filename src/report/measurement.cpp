#include "report/measurement.hpp"

#include <algorithm>

#include <fmt/ranges.h>

#include "base/printable.hpp"
#include "base/text.hpp"
#include "measure/figures.hpp"
#include "report/figure_writing.hpp"
#include "report/paragraph.hpp"
#include "report/throughput.hpp"

namespace plimsoll::report {
namespace {

using measure::Measurement;
using measure::Row;

std::string seconds_text(double seconds) {
  return text(Seconds(seconds));
}
std::string bytes_text(std::int64_t bytes) {
  return text(Bytes(bytes));
}
/// A column that nothing is known for is left out.
std::string if_known(const Figure& figure) {
  return figure.value ? value_text(figure) : "";
}

/// "182 MiB (3.41 ms)", or why there is none.
std::string cell(const Row& row) {
  if (row.does_not_fit) return "does not fit";
  if (row.failure || !row.measured) return "failed";
  const std::string memory = value_text(measured_figure(row, measure::MemoryFigure::peak_allocated));
  return row.seconds ? fmt::format("{} ({})", memory, value_text(seconds_figure(row))) : memory;
}

/// As shares of the value, which a narrow interval's own digits would not show: "-0.12 % +0.05 %".
std::string interval(const std::optional<Quantile>& quantile) {
  if (!quantile || !quantile->low || !quantile->high || quantile->value <= 0) return "unknown";
  return fmt::format("{:+.2f} % {:+.2f} %", 100 * (*quantile->low / quantile->value - 1),
                     100 * (*quantile->high / quantile->value - 1));
}

/// Every batch that some measurement has, in the order in which they were asked for.
std::vector<std::int64_t> batches_of(std::span<const Measurement> measurements) {
  std::vector<std::int64_t> batches;
  for (const Measurement& m : measurements)
    for (const Row& row : m.rows)
      if (std::ranges::find(batches, row.batch) == batches.end()) batches.push_back(row.batch);
  return batches;
}

/// Of the estimate: positive where it is too high.
std::string error_percent(const Row& row) {
  using enum measure::MemoryFigure;
  const auto error =
      estimation_error(estimated_figure(row, peak_allocated), measured_figure(row, peak_allocated));
  return error ? fmt::format("{:+.1f} %", 100 * *error) : "";
}

/// A column that no row has anything in is left out.
void drop_empty_columns(Table& table) {
  for (std::size_t column = table.columns.size(); column-- > 0;) {
    const bool empty =
        std::ranges::all_of(table.rows, [column](const auto& row) { return row[column].empty(); });
    if (!empty) continue;
    table.columns.erase(table.columns.begin() + static_cast<std::ptrdiff_t>(column));
    for (auto& row : table.rows) row.erase(row.begin() + static_cast<std::ptrdiff_t>(column));
  }
}

std::string who(const measure::OtherProcess& other) {
  return fmt::format("{} (pid {}) with {}", other.name.empty() ? "a process" : printable(other.name),
                     other.pid, other.bytes ? text(*other.bytes) : "an unknown amount");
}

const job::Hello* hello_of(const Measurement& measurement) {
  for (const Row& row : measurement.rows)
    if (row.hello) return &*row.hello;
  return nullptr;
}

}  // namespace

Table measurement_table(std::span<const Measurement> measurements) {
  Table table{{{"Model", Align::left, true},
               {"Device", Align::left},
               {"Load", Align::right, false, Importance::ordinary, true}},
              {}};
  const std::vector<std::int64_t> batches = batches_of(measurements);
  for (const std::int64_t batch : batches)
    table.columns.push_back({fmt::format("Batch {}", batch), Align::right, false, Importance::telling, true});
  for (const Measurement& m : measurements) {
    const auto load = measure::load_of(m);
    std::vector<std::string> cells = {
        short_path(printable(m.model)), printable(m.device),
        load ? fmt::format("{} ({})", text(load->bytes), seconds_text(load->seconds)) : "unknown"};
    for (const std::int64_t batch : batches) {
      const auto row = std::ranges::find(m.rows, batch, &Row::batch);
      cells.push_back(row == m.rows.end() ? "" : cell(*row));
    }
    table.rows.push_back(std::move(cells));
  }
  return table;
}

Table batches_table(const Measurement& measurement) {
  using enum Importance;
  Table table{{{"Batch", Align::right},
               {"Median", Align::right, false, always},
               {fmt::format("{:g} % interval", 100 * measurement.protocol.confidence), Align::right},
               {"Samples", Align::right, false, detail},
               {"Cold", Align::right, false, detail},
               {"Allocated", Align::right, false, telling},
               {"Reserved", Align::right},
               {"On device", Align::right},
               {"Resident", Align::right, false, detail},
               {"Energy", Align::right, false, telling},
               {"Estimated", Align::right, false, telling},
               {"Error", Align::right, false, telling}},
              {}};
  for (const Row& row : measurement.rows) {
    if (!row.measured) continue;
    using enum measure::MemoryFigure;
    table.rows.push_back(
        {std::to_string(row.batch), value_text(seconds_figure(row)), interval(row.seconds),
         std::to_string(row.measured->samples.size()), seconds_text(row.measured->cold_seconds),
         if_known(measured_figure(row, peak_allocated)), if_known(measured_figure(row, peak_reserved)),
         if_known(measured_figure(row, device_used)), if_known(measured_figure(row, peak_resident)),
         if_known(joules_figure(row)), if_known(estimated_figure(row, peak_allocated)), error_percent(row)});
  }
  drop_empty_columns(table);
  return table;
}

Table latencies_table(const Measurement& measurement) {
  Table table{{{"", Align::left}}, {}};
  table.rows = {{"queries"}, {"samples/s"}};
  for (const measure::Percentile& percentile : measure::percentiles({}, measurement.protocol.confidence))
    table.rows.push_back({fmt::format("{:g} %", percentile.percent)});
  for (const Row& row : measurement.rows) {
    if (!row.latencies) continue;
    const job::Latencies& l = *row.latencies;
    table.columns.push_back(
        {fmt::format("Batch {}", row.batch), Align::right, false, Importance::ordinary, true});
    table.rows[0].push_back(std::to_string(l.seconds.size()));
    table.rows[1].push_back(l.elapsed > 0 ? throughput_text(static_cast<double>(l.samples) / l.elapsed)
                                          : "unknown");
    auto line = table.rows.begin() + 2;
    for (const measure::Percentile& percentile :
         measure::percentiles(l.seconds, measurement.protocol.confidence))
      (line++)->push_back(percentile.seconds ? fmt::format("{} ({})", seconds_text(percentile.seconds->value),
                                                           interval(percentile.seconds))
                                             : "unknown");
  }
  return table;
}

Table layers_table(const job::Layers& layers) {
  Table table{{{"Layer", Align::left, true},
               {"Operator", Align::left},
               {"Time", Align::right, false, Importance::always},
               {"Share", Align::right, false, Importance::telling}},
              {}};
  double sum = 0;
  for (const job::LayerTime& layer : layers.layers) sum += layer.seconds;
  for (const job::LayerTime& layer : layers.layers)
    table.rows.push_back({printable(layer.name), printable(layer.op), seconds_text(layer.seconds),
                          sum > 0 ? fmt::format("{:.1f} %", 100 * layer.seconds / sum) : "unknown"});
  return table;
}

std::string does_not_fit_text(const Row& row) {
  const job::DoesNotFit& d = *row.does_not_fit;
  std::string out = fmt::format("batch {} does not fit", row.batch);
  if (!d.phase.empty())
    out += fmt::format(" (while {})", d.phase == "context" ? "the context was made" : printable(d.phase, 40));
  std::vector<std::string> parts;
  if (d.asked_bytes)
    parts.push_back(fmt::format("asked for {}", bytes_text(*d.asked_bytes)));
  else if (!d.message.empty())
    parts.push_back(printable(d.message, 200));
  if (d.free_bytes && d.total_bytes)
    parts.push_back(fmt::format("{} of {} were free", bytes_text(*d.free_bytes), bytes_text(*d.total_bytes)));
  else if (d.free_bytes)
    parts.push_back(fmt::format("{} were free", bytes_text(*d.free_bytes)));
  if (d.allocated_bytes) parts.push_back(fmt::format("{} were allocated", bytes_text(*d.allocated_bytes)));
  if (row.conditions.gpu && !row.conditions.gpu->others.empty()) {
    std::vector<std::string> others;
    for (const measure::OtherProcess& other : row.conditions.gpu->others) others.push_back(who(other));
    parts.push_back(fmt::format("on the GPU beside it: {}", fmt::join(others, ", ")));
  }
  return fmt::format("{}: {}", out, fmt::join(parts, "; "));
}

namespace {

std::string setting_line(const Measurement& m) {
  const network::Setting& s = m.setting;
  const bool training = s.mode == network::Mode::train;
  std::vector<std::string> parts = {fmt::format(
      "{} in {}", training ? fmt::format("training with {}", network::name(s.optimizer)) : "inference",
      network::name(s.precision))};
  if (s.captured) parts.emplace_back("as a CUDA graph");
  if (s.layout == network::Layout::channels_last) parts.emplace_back("channels last");
  if (s.literal) parts.emplace_back("every operator by itself");
  if (s.fold) parts.emplace_back("BatchNorm folded");
  if (!s.frozen.empty()) parts.emplace_back("partly frozen");
  if (!s.checkpoints.empty()) parts.emplace_back("checkpointed");
  return fmt::format("{}", fmt::join(parts, ", "));
}

/// "Plimsoll's engine, LibTorch 2.11.0, CUDA 12.8 on NVIDIA H200 (cuda:0)".
std::string engine_line(const Measurement& m) {
  const job::Hello* hello = hello_of(m);
  if (hello == nullptr) return "Plimsoll's engine";
  std::string out = fmt::format("Plimsoll's engine, LibTorch {}", printable(hello->torch, 40));
  if (hello->cuda) out += fmt::format(", CUDA {}", printable(*hello->cuda, 40));
  out += fmt::format(", on {} ({}", printable(hello->device_name, 80), printable(hello->device, 20));
  if (hello->device == "cpu") out += fmt::format(", {} threads", hello->threads);
  return out + ")";
}

std::string scene_lines(const Measurement& m, const TextStyle& style) {
  std::string out;
  for (const Row& row : m.rows) {
    const auto seconds = measure::scene_seconds(row, m.protocol.confidence);
    if (!seconds || !m.scene) continue;
    std::string line = fmt::format("{}x{} in {} patches of {}x{}, batch {}: {} a scene", m.scene->width,
                                   m.scene->height, m.scene->patches(), m.scene->patch_width,
                                   m.scene->patch_height, row.batch, seconds_text(seconds->value));
    if (seconds->low && seconds->high) line += fmt::format(" ({})", interval(seconds));
    out += paragraph(line, style);
  }
  return out;
}

std::string layers_text(const Row& row, const TextStyle& style) {
  const job::Layers& l = *row.layers;
  double sum = 0;
  for (const job::LayerTime& layer : l.layers) sum += layer.seconds;
  std::string out =
      '\n' + paragraph(fmt::format("Layers at batch {}, medians of {} passes", row.batch, l.passes), style);
  out += to_text(layers_table(l), style);
  const auto share = [&l](double seconds) {
    return l.pass_seconds > 0 ? fmt::format("{:.1f} % of it", 100 * seconds / l.pass_seconds) : "unknown";
  };
  out += wrap(
      fmt::format("The whole pass takes {}; the layers' sum is {}, {}. Timing them costs {} a marker and "
                  "makes the pass {}: {}.",
                  seconds_text(l.pass_seconds), seconds_text(sum), share(sum), seconds_text(l.marker_seconds),
                  seconds_text(l.instrumented_seconds), share(l.instrumented_seconds)),
      text_width(style), "");
  return out;
}

/// Once each, with the batches that they are true of.
std::string doubts_text(const Measurement& m, bool several, const TextStyle& style) {
  std::vector<std::pair<std::string, std::vector<std::string>>> doubts;
  for (const Row& row : m.rows)
    for (const std::string& doubt : row.doubts) {
      auto found = std::ranges::find(doubts, doubt, &std::pair<std::string, std::vector<std::string>>::first);
      if (found == doubts.end()) found = doubts.insert(doubts.end(), {doubt, {}});
      found->second.push_back(std::to_string(row.batch));
    }
  std::string out;
  for (const auto& [doubt, batches] : doubts)
    out += wrap(fmt::format("{} {}batch {}: {}", red("doubtful:", style),
                            several ? fmt::format("{} on {}, ", printable(m.model), printable(m.device)) : "",
                            fmt::join(batches, ", "), printable(doubt)),
                text_width(style), "");
  return out;
}

std::string detail(const Measurement& m, const TextStyle& style) {
  std::string out;
  if (const Table batches = batches_table(m); !batches.rows.empty()) out += '\n' + to_text(batches, style);
  if (m.scene) {
    out += '\n' + scene_lines(m, style);
  } else if (const Table latencies = latencies_table(m); latencies.columns.size() > 1) {
    out += '\n' + paragraph(fmt::format("{}, latency from the scheduled time",
                                        job::name(m.protocol.scenario.arrival)),
                            style);
    out += to_text(latencies, style);
  }
  return out;
}

/// What is true of all of them is said once.
std::vector<std::string> notes_of(std::span<const Measurement> measurements) {
  std::vector<std::string> out;
  const auto of_all = [&](const std::string& note) {
    return std::ranges::all_of(measurements, [&](const Measurement& m) {
      return std::ranges::find(m.notes, note) != m.notes.end();
    });
  };
  for (const Measurement& m : measurements)
    for (const std::string& note : m.notes) {
      const std::string line = of_all(note) ? printable(note)
                                            : fmt::format("{} on {}: {}", printable(m.model),
                                                          printable(m.device), printable(note));
      if (std::ranges::find(out, line) == out.end()) out.push_back(line);
    }
  return out;
}

}  // namespace

std::string measurement_text(std::span<const Measurement> measurements, const TextStyle& style) {
  const bool several = measurements.size() > 1;
  std::string out;
  if (!measurements.empty())
    out += paragraph(
               fmt::format("{}: {}", engine_line(measurements.front()), setting_line(measurements.front())),
               style) +
           '\n';
  out += to_text(measurement_table(measurements), style);
  for (const Measurement& m : measurements) {
    if (several &&
        (m.scene || std::ranges::any_of(m.rows, [](const Row& row) { return row.latencies.has_value(); })))
      out += '\n' + paragraph(fmt::format("{} on {}", printable(m.model), printable(m.device)), style);
    if (!several || m.scene || m.protocol.scenario.arrival != job::Arrival::none) out += detail(m, style);
    for (const Row& row : m.rows)
      if (row.layers) out += layers_text(row, style);
  }
  out += '\n';
  for (const Measurement& m : measurements) {
    const std::string of = several ? fmt::format("{} on {}: ", printable(m.model), printable(m.device)) : "";
    for (const Row& row : m.rows)
      if (row.does_not_fit) out += wrap(of + does_not_fit_text(row), text_width(style), "");
    out += doubts_text(m, several, style);
  }
  for (const std::string& note : notes_of(measurements)) out += wrap("note: " + note, text_width(style), "");
  const bool estimated = std::ranges::any_of(measurements, [](const Measurement& m) {
    return std::ranges::any_of(m.rows, [](const Row& row) { return row.measured && row.estimate; });
  });
  out += wrap(
      fmt::format("Memory is the peak of what the engine allocated, in a fresh process for each batch; times "
                  "are medians of hot passes.{}",
                  estimated ? " Error: estimated over measured, less one." : ""),
      text_width(style), "");
  return out;
}

}  // namespace plimsoll::report
