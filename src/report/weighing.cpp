#include "report/weighing.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "base/printable.hpp"
#include "base/text.hpp"
#include "base/units.hpp"
#include "report/paragraph.hpp"

namespace plimsoll::report {
namespace {

using estimate::Floors;
using Json = nlohmann::ordered_json;

std::string_view name(Floors::Binding binding) {
  switch (binding) {
    case Floors::Binding::compute: return "compute";
    case Floors::Binding::memory: return "memory";
    case Floors::Binding::unknown: return "unknown";
  }
  return "unknown";
}

std::string time_text(const std::optional<Seconds>& t) {
  return t ? text(*t) : "unknown";
}

Table device_table(const Weighing& w) {
  Table t{{{"Device", Align::left, true},
           {"Memory", Align::right},
           {"Needs", Align::right},
           {"Fits", Align::right},
           {"Largest batch", Align::right},
           {"Compute floor", Align::right},
           {"Memory floor", Align::right},
           {"Binds", Align::left}},
          {}};
  for (const WeighedDevice& d : w.devices) {
    const std::string title = d.here ? fmt::format("{} (this machine)", d.device.name)
                                     : fmt::format("{} ({})", d.device.name, d.device.id);
    const std::optional<bool> fits = d.fits();
    t.rows.push_back({printable(title), d.floors.capacity ? text(*d.floors.capacity) : "unknown",
                      d.memory ? text(d.memory->minimum_device()) : "unknown",
                      !fits   ? "unknown"
                      : *fits ? "yes"
                              : "NO",
                      !d.largest              ? "unknown"
                      : d.largest->batch == 0 ? "none"
                      : d.largest->bounded    ? grouped(d.largest->batch)
                                              : fmt::format("> {}", grouped(d.largest->batch)),
                      time_text(d.floors.compute), time_text(d.floors.memory),
                      std::string(name(d.floors.binding()))});
  }
  return t;
}

/// Colours the verdicts after the table was laid out, so that widths are not disturbed.
std::string colour_verdicts(std::string table, const TextStyle& style) {
  if (!style.color) return table;
  std::string out;
  for (std::size_t at = 0; at < table.size();) {
    const std::size_t end = table.find('\n', at);
    std::string line = table.substr(at, end - at);
    if (const std::size_t no = line.find(" NO "); no != std::string::npos)
      line.replace(no + 1, 2, red("NO", style));
    if (const std::size_t yes = line.find(" yes "); yes != std::string::npos)
      line.replace(yes + 1, 3, green("yes", style));
    out += line + '\n';
    at = end + 1;
  }
  return out;
}

std::string setting_text(const Weighing& w) {
  std::string out = w.mode == network::Mode::train
                        ? fmt::format("one training step with {}", network::name(w.optimizer))
                        : "one inference";
  out += fmt::format(" in {}", network::name(w.precision));
  for (const network::BoundSymbol& s : w.inspection.shapes.bound())
    out += fmt::format(", {} {}{}", printable(s.name), s.value, s.assumed ? " (assumed)" : "");
  return out;
}

}  // namespace

std::string weighing_text(const Weighing& w, const TextStyle& style) {
  const estimate::Counts& c = w.inspection.counts;
  const bool training = w.mode == network::Mode::train;
  std::string out = fmt::format("{}: {}\n\n", bold(printable(w.inspection.model), style), setting_text(w));
  const auto line = [&](std::string_view what, const std::string& value) {
    out += fmt::format("  {:<13}{}\n", what, value);
  };
  const WeightConcentration heavy = concentration(c);
  line("is", fmt::format("{} parameters in {} layers, {} operators in all", grouped(c.parameters),
                         heavy.layers, c.nodes));
  const auto& inputs = w.inspection.network.main().inputs;
  for (std::size_t n = 0; n < inputs.size() && n < 4; ++n)
    line(n == 0 ? "takes" : "", fmt::format("{} {} {}", printable(w.inspection.network.name_of(inputs[n])),
                                            printable(w.inspection.shapes.text(inputs[n])),
                                            network::name(w.inspection.shapes.type(inputs[n]))));
  line("needs", fmt::format("{} of weights{}", text(w.needs.weights),
                            training ? fmt::format(", {} of gradients, {} of optimizer state: {} in all",
                                                   text(w.needs.gradients), text(w.needs.optimizer_state),
                                                   text(w.needs.memory()))
                                     : ""));
  line("computes",
       fmt::format("{} MACs, {} FLOPs{}", count_text(c.forward.macs), count_text(c.forward.flops),
                   training ? fmt::format(" forward, {} backward", count_text(c.backward.flops)) : ""));
  line("writes", fmt::format("{} of activations", bytes_text({c.activation_bytes, c.activation_bytes})));
  if (heavy.layers > 0)
    line("heavy layers", fmt::format("{} of {} hold {:.0f} % of the weights", heavy.heaviest, heavy.layers,
                                     100 * heavy.share));
  if (c.counted < c.nodes)
    line("not counted",
         fmt::format(
             "{} of {} operators: `plimsoll inspect` lists them; the floors are lower bounds without them",
             c.nodes - c.counted, c.nodes));
  for (const std::string& note : w.inspection.notes) line("note", printable(note));
  out += '\n' + colour_verdicts(to_text(device_table(w), style), style) + '\n';
  const auto& with_memory =
      std::ranges::find_if(w.devices, [](const auto& d) { return d.memory.has_value(); });
  if (with_memory != w.devices.end() && !with_memory->memory->unruled.empty())
    out += wrap(fmt::format("Memory without a rule for: {}.", fmt::join(with_memory->memory->unruled, ", ")),
                text_width(style), "");
  out += wrap(
      "Memory is an estimate of what PyTorch needs at least, with the CUDA context on a GPU; `plimsoll "
      "estimate` says "
      "of what and why. Times are floors, not estimates: no program is faster than FLOPs over peak rate, or "
      "than "
      "weights, input and output moved once over bandwidth, and real ones are slower.",
      text_width(style), "");
  return out;
}

Json to_json(const Weighing& w) {
  const estimate::Counts& c = w.inspection.counts;
  const auto number = [](std::int64_t n) { return n == network::kUnbounded ? Json(nullptr) : Json(n); };
  const auto seconds = [](const std::optional<Seconds>& s) { return s ? Json(s->value()) : Json(nullptr); };
  Json dimensions = Json::array();
  for (const network::BoundSymbol& s : w.inspection.shapes.bound())
    dimensions.push_back({{"name", printable(s.name)}, {"value", s.value}, {"assumed", s.assumed}});
  Json out = {{"model", printable(w.inspection.model)},  {"mode", network::name(w.mode)},
              {"precision", network::name(w.precision)}, {"dimensions", dimensions},
              {"parameters", number(c.parameters)},      {"weights_bytes", w.needs.weights.count()}};
  if (w.mode == network::Mode::train) {
    out["optimizer"] = network::name(w.optimizer);
    out["gradient_bytes"] = w.needs.gradients.count();
    out["optimizer_state_bytes"] = w.needs.optimizer_state.count();
  }
  out["memory_floor_bytes"] = w.needs.memory().count();
  out["macs"] = number(c.forward.macs.high);
  out["flops"] = number(c.forward.flops.high);
  out["backward_flops"] = number(c.backward.flops.high);
  out["traffic_floor_bytes"] = w.needs.traffic.count();
  out["complete"] = w.needs.complete;
  out["devices"] = Json::array();
  for (const WeighedDevice& d : w.devices) {
    Json row = {{"id", d.device.id},
                {"name", printable(d.device.name)},
                {"this_machine", d.here},
                {"memory_bytes", d.floors.capacity ? Json(d.floors.capacity->count()) : Json(nullptr)},
                {"needs_bytes", d.memory ? Json(d.memory->minimum_device().count()) : Json(nullptr)},
                {"fits", d.fits() ? Json(*d.fits()) : Json(nullptr)},
                {"largest_batch", d.largest ? Json(d.largest->batch) : Json(nullptr)},
                {"compute_floor_seconds", seconds(d.floors.compute)},
                {"memory_floor_seconds", seconds(d.floors.memory)},
                {"binds", name(d.floors.binding())}};
    if (!d.floors.missing.empty()) row["missing"] = d.floors.missing;
    out["devices"].push_back(std::move(row));
  }
  return out;
}

}  // namespace plimsoll::report
