#include "report/inspection.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <unordered_map>

#include <fmt/format.h>

#include "base/printable.hpp"
#include "base/text.hpp"
#include "base/units.hpp"
#include "network/saturating.hpp"
#include "report/paragraph.hpp"
#include "report/stored_weights.hpp"

namespace plimsoll::report {

using network::Network;
using network::Operator;
using program::Coverage;
using program::OperatorCount;

namespace {

const Operator& operator_of(const Network& network, const OperatorCount& row) {
  return network.graph(row.graph).operators[row.index];
}

std::string percent(std::int64_t part, std::int64_t whole) {
  if (whole <= 0 || whole == network::kUnbounded || part == network::kUnbounded) return "";
  return fmt::format("{:.1f} %", 100.0 * static_cast<double>(part) / static_cast<double>(whole));
}

std::string output_shape(const Inspection& i, const Operator& op) {
  for (const network::TensorId id : i.network.outputs(op))
    if (id != network::kNoTensor) return printable(i.shapes.text(id));
  return "";
}

std::string tensor_line(const Inspection& i, network::TensorId id) {
  return fmt::format("{} {} {}", printable(i.network.name_of(id)), printable(i.shapes.text(id)),
                     network::name(i.shapes.type(id)));
}

/// "batch 1 (assumed), sequence 128"
std::string bindings_text(const Inspection& i) {
  std::string out;
  for (const network::BoundSymbol& s : i.shapes.bound()) {
    if (!out.empty()) out += ", ";
    out += fmt::format("{} = {}{}", printable(s.name), s.value, s.assumed ? " (assumed)" : "");
  }
  return out;
}

std::string coverage_text(const Inspection& i) {
  std::string out = fmt::format("{} of {} operators", i.counts.counted, i.counts.nodes);
  std::vector<KindTotals> missing;
  for (KindTotals& k : totals_by_kind(i))
    if (k.uncounted > 0) missing.push_back(std::move(k));
  if (missing.empty()) return out;
  out += fmt::format(
      "; not counted ({:.1f} % of them):",
      100.0 * static_cast<double>(i.counts.nodes - i.counts.counted) / static_cast<double>(i.counts.nodes));
  for (std::size_t n = 0; n < missing.size() && n < 8; ++n)
    out += fmt::format("{} {} {}", n == 0 ? "" : ",", missing[n].uncounted, printable(missing[n].name));
  if (missing.size() > 8) out += fmt::format(" and {} more kinds (--json lists them)", missing.size() - 8);
  return out;
}

void unknowns_text(const Inspection& i, std::string& out, const TextStyle& style) {
  const network::Symbols& symbols = i.shapes.symbols();
  std::size_t shown = 0, total = 0;
  for (std::size_t n = 0; n < symbols.size(); ++n) {
    const network::Symbol& s = symbols.at(static_cast<network::SymbolId>(n));
    if (s.origin != network::Symbol::Origin::data) continue;
    if (++total > 6) continue;
    ++shown;
    out += hanging(fmt::format("  {:<13}", shown == 1 ? "data decides" : ""),
                   s.bounds.high == network::kUnbounded
                       ? fmt::format("{}: no bound known", printable(s.name))
                       : fmt::format("{} <= {}", printable(s.name), s.bounds.high),
                   style);
  }
  if (total > shown) out += fmt::format("  {:<13}and {} more (--json lists them)\n", "", total - shown);
}

}  // namespace

std::string grouped(std::int64_t n) {
  std::string digits = fmt::format("{}", n);
  for (auto at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at > (n < 0 ? 1 : 0); at -= 3)
    digits.insert(static_cast<std::size_t>(at), ",");
  return digits;
}

std::string interval_text(program::Interval n) {
  if (n.high == network::kUnbounded) return "unknown";
  return (n.low == n.high ? "" : "<= ") + count_text(n.high);
}

std::string interval_bytes_text(program::Interval n) {
  if (n.high == network::kUnbounded) return "unknown";
  return (n.low == n.high ? "" : "<= ") + text(Bytes(n.high));
}

std::string kind_name(const Network& network, const Operator& op) {
  const std::string_view domain = network.domain_of(op);
  return domain.empty() ? std::string(network.type_of(op))
                        : fmt::format("{}.{}", domain, network.type_of(op));
}

std::string layer_name(const Network& network, const Operator& op) {
  if (op.name.count > 0) return printable(network.name_of(op));
  for (const network::TensorId id : network.outputs(op))
    if (id != network::kNoTensor) return printable(network.name_of(id));
  return "";
}

std::vector<KindTotals> totals_by_kind(const Inspection& i) {
  std::vector<KindTotals> kinds;
  std::unordered_map<std::string, std::size_t> index;
  for (const OperatorCount& row : i.counts.operators) {
    const Operator& op = operator_of(i.network, row);
    const auto [at, fresh] = index.try_emplace(kind_name(i.network, op), kinds.size());
    if (fresh) kinds.emplace_back().name = at->first;
    KindTotals& k = kinds[at->second];
    ++k.nodes;
    if (row.coverage == Coverage::no_rule || row.coverage == Coverage::unbounded) ++k.uncounted;
    if (row.alternative == 0) k.work += i.counts.work_of(row);
    k.parameters += row.parameters;
  }
  std::ranges::sort(kinds, [](const KindTotals& a, const KindTotals& b) {
    return std::tuple(b.work.flops.high, b.nodes, a.name) < std::tuple(a.work.flops.high, a.nodes, b.name);
  });
  return kinds;
}

WeightConcentration concentration(const program::Counts& counts) {
  std::vector<std::int64_t> bytes;
  for (const OperatorCount& row : counts.operators)
    if (row.parameters > 0) bytes.push_back(row.weight_bytes);
  if (bytes.empty()) return {};
  std::ranges::sort(bytes, std::greater<>());
  WeightConcentration c;
  c.layers = bytes.size();
  c.heaviest = (bytes.size() * 15 + 99) / 100;
  double top = 0, all = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    all += static_cast<double>(bytes[i]);
    if (i < c.heaviest) top += static_cast<double>(bytes[i]);
  }
  c.share = top / all;
  return c;
}

std::string summary_text(const Inspection& i, const TextStyle& style) {
  const program::Counts& c = i.counts;
  std::string out = bold(paragraph(printable(i.model), style), style);
  const auto line = [&](std::string_view what, const std::string& value) {
    out += hanging(fmt::format("  {:<13}", what), value, style);
  };
  for (const network::TensorId id : i.network.main().inputs) line("input", tensor_line(i, id));
  std::size_t shown = 0;
  for (const network::TensorId id : i.network.main().outputs)
    if (++shown <= 4) line("output", tensor_line(i, id));
  if (shown > 4) line("", fmt::format("and {} more outputs", shown - 4));
  if (!i.shapes.bound().empty()) line("dimensions", bindings_text(i));
  line("parameters",
       fmt::format("{}  ({} of weights, with buffers)", grouped(c.parameters), text(Bytes(c.weight_bytes))));
  if (!i.network.stored.empty()) line("stored as", stored_text(stored_formats(i)));
  line("MACs", interval_text(c.forward.macs));
  line("FLOPs", fmt::format("{} forward, {} backward", interval_text(c.forward.flops),
                            interval_text(c.backward.flops)));
  line("moved",
       fmt::format("{} read, {} written, {:.1f} FLOPs per byte", interval_bytes_text(c.forward.bytes_read),
                   interval_bytes_text(c.forward.bytes_written), arithmetic_intensity(c.forward)));
  line("activations",
       fmt::format("{} in all", interval_bytes_text({c.activation_bytes, c.activation_bytes})));
  if (const WeightConcentration w = concentration(c); w.layers > 0)
    line("heavy layers", fmt::format("the heaviest 15 % ({} of {}) hold {:.0f} % of the weights", w.heaviest,
                                     w.layers, 100 * w.share));
  line("counted", coverage_text(i));
  unknowns_text(i, out, style);
  for (const std::string& note : i.notes) line("note", printable(note));
  return out;
}

Table kind_table(const Inspection& i) {
  using enum Importance;
  Table t{{{"Operator", Align::left, true},
           {"Nodes", Align::right},
           {"MACs", Align::right, false, telling},
           {"", Align::right, false, detail},
           {"FLOPs", Align::right},
           {"", Align::right, false, detail},
           {"Parameters", Align::right, false, telling},
           {"Moved", Align::right}},
          {}};
  for (const KindTotals& k : totals_by_kind(i)) {
    const bool counted = k.uncounted < k.nodes;
    const auto moved = program::Interval{network::sum(k.work.bytes_read.low, k.work.bytes_written.low),
                                         network::sum(k.work.bytes_read.high, k.work.bytes_written.high)};
    t.rows.push_back({printable(k.name), grouped(static_cast<std::int64_t>(k.nodes)),
                      !counted                ? "not counted"
                      : k.work.macs.high == 0 ? "-"
                                              : interval_text(k.work.macs),
                      k.work.macs.high == 0 ? "" : percent(k.work.macs.high, i.counts.forward.macs.high),
                      !counted                 ? ""
                      : k.work.flops.high == 0 ? "-"
                                               : interval_text(k.work.flops),
                      k.work.flops.high == 0 ? "" : percent(k.work.flops.high, i.counts.forward.flops.high),
                      k.parameters == 0 ? "-" : count_text(k.parameters),
                      !counted ? "" : interval_bytes_text(moved)});
  }
  return t;
}

Table layer_table(const Inspection& i) {
  using enum Importance;
  Table t{{{"Layer", Align::left, true},
           {"Operator", Align::left, true},
           {"Output", Align::left, true},
           {"Parameters", Align::right, false, telling},
           {"MACs", Align::right, false, telling},
           {"FLOPs", Align::right},
           {"Read", Align::right, false, detail},
           {"Written", Align::right, false, detail},
           {"FLOPs/B", Align::right, false, detail}},
          {}};
  for (const OperatorCount& row : i.counts.operators) {
    const Operator& op = operator_of(i.network, row);
    const bool counted = row.coverage == Coverage::counted || row.coverage == Coverage::folded;
    const program::Work& work = i.counts.work_of(row);
    const auto figure = [counted](std::string text) {
      return counted ? std::move(text) : std::string("not counted");
    };
    t.rows.push_back({layer_name(i.network, op), printable(kind_name(i.network, op)), output_shape(i, op),
                      count_text(row.parameters), figure(interval_text(work.macs)),
                      figure(interval_text(work.flops)), figure(interval_bytes_text(work.bytes_read)),
                      figure(interval_bytes_text(work.bytes_written)),
                      counted ? fmt::format("{:.1f}", arithmetic_intensity(work)) : ""});
  }
  return t;
}

Table layer_numbers(const Inspection& i) {
  Table t{{{"layer"},
           {"op"},
           {"output_shape"},
           {"parameters", Align::right},
           {"macs", Align::right},
           {"flops", Align::right},
           {"bytes_read", Align::right},
           {"bytes_written", Align::right}},
          {}};
  for (const OperatorCount& row : i.counts.operators) {
    const Operator& op = operator_of(i.network, row);
    const bool counted = row.coverage == Coverage::counted || row.coverage == Coverage::folded;
    const program::Work& work = i.counts.work_of(row);
    const auto number = [counted](std::int64_t n) { return counted ? fmt::format("{}", n) : std::string(); };
    t.rows.push_back({layer_name(i.network, op), printable(kind_name(i.network, op)), output_shape(i, op),
                      fmt::format("{}", row.parameters), number(work.macs.high), number(work.flops.high),
                      number(work.bytes_read.high), number(work.bytes_written.high)});
  }
  return t;
}

}  // namespace plimsoll::report
