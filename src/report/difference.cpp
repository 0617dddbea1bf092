#include "report/difference.hpp"

#include <map>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/printable.hpp"
#include "base/text.hpp"
#include "base/units.hpp"
#include "report/paragraph.hpp"

namespace plimsoll::report {
namespace {

using network::kUnbounded;
using program::OperatorCount;

struct Total {
  std::string_view name;
  std::string_view key;
  std::int64_t (*of)(const program::Counts&);
  bool bytes = false;
};

constexpr Total kTotals[] = {
    {"parameters", "parameters", [](const program::Counts& c) { return c.parameters; }},
    {"weights", "weight_bytes", [](const program::Counts& c) { return c.weight_bytes; }, true},
    {"MACs", "macs", [](const program::Counts& c) { return c.forward.macs.high; }},
    {"FLOPs", "flops", [](const program::Counts& c) { return c.forward.flops.high; }},
    {"FLOPs backward", "backward_flops", [](const program::Counts& c) { return c.backward.flops.high; }},
    {"bytes read", "bytes_read", [](const program::Counts& c) { return c.forward.bytes_read.high; }, true},
    {"bytes written", "bytes_written", [](const program::Counts& c) { return c.forward.bytes_written.high; },
     true},
    {"activations", "activation_bytes", [](const program::Counts& c) { return c.activation_bytes; }, true},
    {"operators", "nodes", [](const program::Counts& c) { return static_cast<std::int64_t>(c.nodes); }},
};

std::string figure(std::int64_t n, bool bytes) {
  if (n == kUnbounded) return "unknown";
  return bytes ? text(Bytes(n)) : count_text(n);
}

std::string change(std::int64_t a, std::int64_t b) {
  if (a == kUnbounded || b == kUnbounded) return "unknown";
  if (a == b) return "same";
  if (a == 0) return "new";
  const double ratio = static_cast<double>(b) / static_cast<double>(a);
  return ratio >= 10 ? fmt::format("{:.3g} x", ratio) : fmt::format("{:+.3g} %", 100 * (ratio - 1));
}

std::vector<Column> compared_columns(const Inspection& a, const Inspection& b, std::string first) {
  const std::string short_a = short_path(printable(a.model)), short_b = short_path(printable(b.model));
  const bool told_apart = short_a != short_b;
  return {{std::move(first), Align::left, true},
          {told_apart ? short_a : printable(a.model), Align::right, false, Importance::always, true},
          {told_apart ? short_b : printable(b.model), Align::right, false, Importance::always, true},
          {"Difference", Align::right, false, Importance::telling}};
}

struct LayerFacts {
  std::string shape;
  std::int64_t parameters = 0, macs = 0;
  friend bool operator==(const LayerFacts&, const LayerFacts&) = default;
};

/// Layers by name and kind, in order. Where names repeat, the later ones get a number.
std::map<std::string, LayerFacts> layers_of(const Inspection& i) {
  std::map<std::string, LayerFacts> out;
  std::map<std::string, int> seen;
  for (const OperatorCount& row : i.counts.operators) {
    const network::Operator& op = i.network.graph(row.graph).operators[row.index];
    std::string key = fmt::format("{} ({})", layer_name(i.network, op), printable(kind_name(i.network, op)));
    if (const int again = seen[key]++; again > 0) key += fmt::format(" #{}", again + 1);
    const auto outputs = i.network.outputs(op);
    out[key] = {
        outputs.empty() || outputs[0] == network::kNoTensor ? "" : printable(i.shapes.text(outputs[0])),
        row.parameters, i.counts.work_of(row).macs.high};
  }
  return out;
}

std::string facts_text(const std::optional<LayerFacts>& f) {
  if (!f) return "-";
  std::string out = f->shape;
  if (f->parameters > 0) out += fmt::format(", {} parameters", count_text(f->parameters));
  if (f->macs > 0) out += fmt::format(", {} MACs", figure(f->macs, false));
  return out;
}

/// Every name that either has, with both sides.
template <class T>
std::map<std::string, std::pair<std::optional<T>, std::optional<T>>> paired(
    const std::map<std::string, T>& a, const std::map<std::string, T>& b) {
  std::map<std::string, std::pair<std::optional<T>, std::optional<T>>> out;
  for (const auto& [name, value] : a) out[name].first = value;
  for (const auto& [name, value] : b) out[name].second = value;
  return out;
}

std::map<std::string, KindTotals> kinds_of(const Inspection& i) {
  std::map<std::string, KindTotals> out;
  for (KindTotals& k : totals_by_kind(i)) out.emplace(k.name, k);
  return out;
}

}  // namespace

Table difference_table(const Inspection& a, const Inspection& b) {
  Table t{compared_columns(a, b, ""), {}};
  for (const Total& total : kTotals) {
    const std::int64_t x = total.of(a.counts), y = total.of(b.counts);
    t.rows.push_back({std::string(total.name), figure(x, total.bytes), figure(y, total.bytes), change(x, y)});
  }
  return t;
}

Table kind_difference(const Inspection& a, const Inspection& b) {
  Table t{compared_columns(a, b, "Operator"), {}};
  const auto show = [](const std::optional<KindTotals>& k) {
    if (!k) return std::string("-");
    std::string out = fmt::format("{} nodes", k->nodes);
    if (k->work.flops.high > 0) out += fmt::format(", {} FLOPs", interval_text(k->work.flops));
    return out;
  };
  for (const auto& [name, sides] : paired(kinds_of(a), kinds_of(b))) {
    const auto& [x, y] = sides;
    const bool same = x && y && x->nodes == y->nodes && x->work == y->work && x->parameters == y->parameters;
    if (same) continue;
    t.rows.push_back(
        {printable(name), show(x), show(y), change(x ? x->work.flops.high : 0, y ? y->work.flops.high : 0)});
  }
  return t;
}

Table layer_difference(const Inspection& a, const Inspection& b) {
  Table t{compared_columns(a, b, "Layer"), {}};
  for (const auto& [name, sides] : paired(layers_of(a), layers_of(b))) {
    const auto& [x, y] = sides;
    if (x == y) continue;
    t.rows.push_back({name, facts_text(x), facts_text(y), !x ? "added" : !y ? "removed" : "changed"});
  }
  return t;
}

nlohmann::ordered_json difference_json(const Inspection& a, const Inspection& b) {
  using Json = nlohmann::ordered_json;
  const auto number = [](std::int64_t n) { return n == kUnbounded ? Json(nullptr) : Json(n); };
  Json out = {{"models", {printable(a.model), printable(b.model)}}};
  for (const Total& total : kTotals)
    out["totals"][std::string(total.key)] = {number(total.of(a.counts)), number(total.of(b.counts))};
  out["by_op"] = Json::object();
  for (const auto& [name, sides] : paired(kinds_of(a), kinds_of(b))) {
    const auto side = [&](const std::optional<KindTotals>& k) -> Json {
      if (!k) return nullptr;
      return {{"nodes", k->nodes},
              {"macs", number(k->work.macs.high)},
              {"flops", number(k->work.flops.high)},
              {"parameters", k->parameters}};
    };
    const Json x = side(sides.first), y = side(sides.second);
    if (x != y) out["by_op"][printable(name)] = {x, y};
  }
  out["layers"] = Json::array();
  for (const auto& [name, sides] : paired(layers_of(a), layers_of(b))) {
    const auto side = [&](const std::optional<LayerFacts>& f) -> Json {
      if (!f) return nullptr;
      return {{"output", f->shape}, {"parameters", f->parameters}, {"macs", number(f->macs)}};
    };
    if (sides.first != sides.second)
      out["layers"].push_back({{"name", name}, {"a", side(sides.first)}, {"b", side(sides.second)}});
  }
  return out;
}

}  // namespace plimsoll::report
